"""Workloads by name."""

import pytest

from bench.workload import WORKLOADS, find_workload, parse_distribution
from bench.workload.catalogue import Action


def test_names_are_those_that_were_promised():
    assert {workload.name for workload in WORKLOADS} == {
        *("fillseq", "fillrandom", "overwrite", "readrandom", "readmissing", "readhot", "scan", "seekscan"),
        *("deleterandom", "queue", "readwhilewriting", "fillsync"),
        *(f"ycsb-{letter}" for letter in "abcdef"),
    }


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_workload_is_whole(workload):
    assert find_workload(workload.name) is workload
    assert workload.what
    assert sum(share for _, share in workload.mix) == pytest.approx(1)
    assert len({action for action, _ in workload.mix}) == len(workload.mix)
    assert workload.operations(1) >= 1 and workload.operations(10**6) >= 1
    parse_distribution(workload.distribution)
    if workload.beside:
        assert find_workload(workload.beside).needs_load
    if not workload.needs_load:  # there is nothing yet that could be taken
        assert [action for action, _ in workload.mix] == [Action.INSERT]


def test_only_those_that_draw_keys_have_a_distribution():
    without = {workload.name for workload in WORKLOADS if not workload.draws}

    assert without == {"fillseq", "fillrandom", "fillsync", "queue", "scan"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fillrandon", "did you mean fillrandom?"),
        ("ycsb_a", "did you mean ycsb-a?"),
        ("?", "known are fillseq"),
    ],
)
def test_an_unknown_name_is_refused_with_advice(name, said):
    with pytest.raises(ValueError, match="no workload") as caught:
        find_workload(name)

    assert said in str(caught.value)
