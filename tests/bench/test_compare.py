"""Every workload on every installed engine, at a scale where nothing is measured but everything happens."""

from collections import Counter
from dataclasses import replace

import pytest

from bench.compare.comparison import WrongAnswer
from bench.compare.empty import loop_costs
from bench.compare.shared import NAMES, Shared
from bench.compare.workloads import LOAD, MORE_WORKLOADS, WORKLOADS, find_workloads
from bench.peers.engines import UnknownName, ours
from bench.workload import KINDS, Action, find_workload
from bench.workload.stream import MODIFY, PUT
from tests.bench.stores import INSTALLED, tiny_comparison, tiny_data

_SHOWN = {Action.UPDATE: "put"}


@pytest.mark.parametrize("workload", [*WORKLOADS, *MORE_WORKLOADS], ids=lambda workload: workload.name)
def test_a_workload_runs_on_every_engine(workload, tmp_path, seed):
    comparison = tiny_comparison(tmp_path, seed, INSTALLED, [workload])

    figures = comparison.run()

    for engine in INSTALLED:
        (timing,) = figures.timings[workload.name, engine.name]
        assert timing.operations > 0 and timing.seconds > 0
        assert (timing.cpu_seconds is None) == (workload.threads > 1)
        traces = figures.traces[workload.name, engine.name]
        assert [len(trace) for trace in traces] == [timing.operations] * (workload.trace is not None)
    assert figures.is_complete
    assert list(tmp_path.iterdir()) == []  # nothing is left behind


def test_rounds_go_forwards_and_backwards_through_the_engines(tmp_path, seed):
    heard = []
    engines = [replace(ours(), name=name) for name in ("a", "b")]
    comparison = tiny_comparison(
        tmp_path, seed, engines, find_workloads(["scan"]), repeats=2, announce=heard.append
    )

    comparison.run()

    assert [line.split()[-1] for line in heard if "scan" in line] == ["a", "b", "b", "a"]
    assert len(heard) == comparison.steps


def test_all_steps_are_announced(tmp_path, seed):
    heard = []
    comparison = tiny_comparison(tmp_path, seed, [ours()], announce=heard.append)

    comparison.run()

    assert len(heard) == comparison.steps
    assert {LOAD.name} <= {line.split()[2] for line in heard}


def test_only_what_was_asked_for_is_kept_though_a_load_comes_first(tmp_path, seed):
    comparison = tiny_comparison(tmp_path, seed, [ours()], find_workloads(["readmissing"]))

    figures = comparison.run()

    assert not figures.compactions
    assert {name for name, _ in figures.traces} == {"readmissing"}


class Forgetful:
    """A store of ours that loses what it has: by key, or only when it scans."""

    def __init__(self, store, *, when_scanning):
        self._store = store
        self._when_scanning = when_scanning

    def getter(self):
        return self._store.getter() if self._when_scanning else lambda key: None

    def scan(self):
        return list(self._store.scan())[1:]

    def __getattr__(self, name):
        return getattr(self._store, name)


@pytest.mark.parametrize("when_scanning", [False, True])
def test_a_store_that_loses_entries_gets_no_figures(when_scanning, tmp_path, seed):
    def open_forgetful(path, settings, durable):
        return Forgetful(ours().open(path, settings, durable), when_scanning=when_scanning)

    engine = replace(ours(), name="forgetful", open=open_forgetful)
    comparison = tiny_comparison(tmp_path, seed, [engine], find_workloads(["scan"]))

    with pytest.raises(WrongAnswer, match="forgetful"):
        comparison.run()
    assert not comparison.figures.is_complete


def test_the_empty_loop_has_a_cost_for_every_workload(seed):
    workloads = [*WORKLOADS, *MORE_WORKLOADS]
    costs = loop_costs(workloads, tiny_data(seed))

    assert list(costs) == [workload.name for workload in workloads]
    assert all(cost >= 0 for cost in costs.values())


def test_workloads_are_found_by_name_and_keep_their_order():
    assert [workload.name for workload in find_workloads(["scan", "fillsync"])] == ["fillsync", "scan"]
    assert find_workloads([]) == list(WORKLOADS)
    assert [workload.name for workload in find_workloads(["ycsb-f", "ycsb-a"])] == ["ycsb-a", "ycsb-f"]


@pytest.mark.parametrize("name", NAMES)
def test_a_shared_workload_does_what_the_catalogue_says(name, seed):
    data = tiny_data(seed)
    shared = Shared(name, data, seed)
    there = {key: value for pairs in shared.loaded() for key, value in zip(*pairs, strict=True)}
    shares, workload = Counter[str](), find_workload(name)

    made = shared.operations()
    for kind, arguments in made:
        is_new = kind == PUT and arguments[0] not in there
        shares["insert" if is_new else KINDS[kind]] += 1
        assert kind in (PUT, MODIFY) or arguments[0] in there  # nobody asks for what is not there yet
        if kind in (PUT, MODIFY):
            there[arguments[0]] = arguments[1]

    assert len(made) == data.count
    expected = {_SHOWN.get(action, action.name.lower()): share for action, share in workload.mix}
    assert {kind: count / len(made) for kind, count in shares.items()} == pytest.approx(expected, abs=0.1)
    assert made == Shared(name, data, seed).operations()


def test_an_unknown_workload_gets_the_nearest_name():
    with pytest.raises(UnknownName, match="did you mean readrandom"):
        find_workloads(["readrandon"])
