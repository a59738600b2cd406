"""Advice from the simulator: what single changes of settings would do."""

from dataclasses import replace

import numpy as np
import pytest

from compaction.costing import predicted_cost, simulated_cost
from compaction.resemble import flushes_of_a_round, resembling
from compaction.simulate import Costs, Filters, Settings, Shape, Synthetic, thinned
from compaction.whatif import Facts, single_changes, what_if

KIB, MIB = 1024, 1024 * 1024
FACTS = Facts(keys=60_000)
SEARCHING = Costs(hash_index=False)


def small(policy: str = "leveled", **changes: object) -> Settings:
    shape = {"memtable_bytes": 256 * KIB, "table_bytes_max": 512 * KIB, "policy": policy, **changes}
    return Settings(shape=Shape(**shape), costs=SEARCHING)


def test_changes_differ_from_the_present_in_one_option():
    settings = small(level_ratio=8)

    changes = list(single_changes(settings))

    assert {(change.option, change.value) for change in changes} == {
        ("memtable_bytes_max", MIB),
        ("level_ratio", 4),
        ("level_ratio", 16),
        ("policy", "tiered"),
        ("policy", "lazy"),
        ("bloom_sharing", "monkey"),
        ("bloom_bits_per_key", 14.0),
    }
    assert "memtable of 1 MiB instead of 256 KiB" in [change.text for change in changes]
    assert all(change.settings != settings for change in changes)


def test_filters_are_left_alone_where_a_hash_index_answers():
    options = {change.option for change in single_changes(Settings())}

    assert options == {"memtable_bytes_max", "level_ratio", "policy"}


def test_settings_at_their_limits_are_not_pushed_further():
    settings = Settings(
        shape=Shape(memtable_bytes=1024 * MIB, level_ratio=2),
        filters=Filters(bits_per_key=20.0, sharing="monkey"),
        costs=SEARCHING,
    )

    found = {(change.option, change.value) for change in single_changes(settings)}

    assert found == {
        ("level_ratio", 4),
        ("policy", "tiered"),
        ("policy", "lazy"),
        ("bloom_sharing", "uniform"),
    }


def test_the_best_change_comes_first_and_each_figure_has_its_own():
    advice = what_if(small(), FACTS)

    gains = [outcome.gain for outcome in advice.outcomes]
    assert gains == sorted(gains, reverse=True)
    assert advice.best is advice.outcomes[0] and advice.best.change.option == "memtable_bytes_max"
    assert advice.best_for("write_amp").change.value == "tiered"
    assert advice.best_for("miss_blocks").change.option in {"bloom_bits_per_key", "bloom_sharing"}
    assert advice.best_for("space_amp").cost.space_amp < advice.present.space_amp
    assert advice.present.how == "simulated"


def test_what_a_change_saves_is_a_share():
    advice = what_if(small(), FACTS)
    tiered = next(outcome for outcome in advice.outcomes if outcome.change.value == "tiered")

    assert 0.3 < tiered.saves("write_amp", advice.present) < 0.8
    assert tiered.saves("space_amp", advice.present) < 0


def test_advice_on_a_stream_of_ones_own():
    trace = thinned(Synthetic(keys=20_000, count=60_000, distribution="sequential"))

    advice = what_if(small(), trace)

    assert advice.present.how == "simulated"
    assert advice.best_for("write_amp") is not None


def test_no_change_helps_a_store_that_has_it_all():
    advice = what_if(small(), FACTS, changes=[])

    assert (advice.outcomes, advice.best, advice.best_for("write_amp")) == ((), None, None)


@pytest.mark.parametrize(
    "facts",
    [
        Facts(keys=0),
        Facts(keys=1),
        Facts(keys=10, key_bytes=0.0, value_bytes=1.0),
        Facts(keys=100, value_bytes=4.0 * MIB),
        Facts(keys=20_000, delete_share=1.0),
        Facts(keys=20_000, flushed_share=0.0),
        Facts(keys=20_000, is_rising=True),
        Facts(keys=10**11),
    ],
    ids=str,
)
@pytest.mark.parametrize("policy", ["leveled", "tiered", "lazy"])
def test_odd_stores_get_advice_too(facts, policy):
    advice = what_if(small(policy), facts, flushes_max=60)

    costs = [advice.present, *(outcome.cost for outcome in advice.outcomes)]
    assert all(np.isfinite(cost.figure(name)) for cost in costs for name in ("write_amp", "space_amp"))
    assert all(cost.write_amp >= 1 for cost in costs)
    assert len({cost.how for cost in costs}) == 1


def test_a_store_too_large_to_be_simulated_is_predicted():
    advice = what_if(Settings(), Facts(keys=10**9))

    assert {advice.present.how} == {"predicted"}
    assert advice.present.write_amp > 10


# Long enough for the cycles of tiers.
@pytest.mark.parametrize("policy", ["leveled", "tiered", "lazy"])
@pytest.mark.parametrize("ratio", [4, 8, 10])
def test_predicted_costs_are_those_of_the_simulator(policy, ratio):
    settings = small(policy, level_ratio=ratio)
    facts = Facts(keys=40_000)

    simulated = simulated_cost(resembling(facts, settings, flushes_max=400), settings)
    predicted = predicted_cost(facts, settings)

    print(simulated, predicted)
    assert predicted.write_amp == pytest.approx(simulated.write_amp, rel=0.2)
    assert predicted.tree_write_amp == pytest.approx(simulated.tree_write_amp, rel=0.2)
    assert predicted.space_amp == pytest.approx(simulated.space_amp, rel=0.5 if policy == "tiered" else 0.15)
    assert predicted.scan_runs == pytest.approx(simulated.scan_runs, rel=0.35)
    assert predicted.miss_blocks == pytest.approx(simulated.miss_blocks, rel=0.35)


def test_shared_bits_are_predicted_to_spare_misses():
    facts, uniform = Facts(keys=10**9), small()
    shared = replace(uniform, filters=Filters(sharing="monkey"))

    assert predicted_cost(facts, shared).miss_blocks < predicted_cost(facts, uniform).miss_blocks / 2


def test_a_large_store_is_simulated_by_a_sample():
    facts = Facts(keys=10_000_000)

    trace = resembling(facts, Settings(), flushes_max=240)

    assert trace.sample > 100 and len(trace.loaded) < 50_000
    assert len(trace.loaded) * trace.sample == pytest.approx(facts.keys, rel=0.01)
    assert trace.count / facts.keys == pytest.approx(240 / flushes_of_a_round(facts, Settings()), rel=0.05)
    assert trace.warm_bytes < trace.user_bytes / 2


def test_keys_are_as_uneven_as_what_vanished_in_memtables():
    settings = small()

    def flushed_share(asked: float) -> float:
        trace = resembling(Facts(keys=60_000, flushed_share=asked), settings, flushes_max=60)
        parts = list(trace.memtables(settings.shape.memtable_bytes, settings.log_bytes_per_write))[:-1]
        kept = sum(len(np.unique(writes.keys)) for _, _, writes in parts)
        return kept / sum(len(writes) for _, _, writes in parts)

    assert flushed_share(1.0) > 0.95
    assert flushed_share(0.6) == pytest.approx(0.6, abs=0.03)
    assert flushed_share(0.3) == pytest.approx(0.3, abs=0.03)


def test_the_same_facts_give_the_same_advice():
    assert what_if(small(), FACTS, flushes_max=60) == what_if(small(), FACTS, flushes_max=60)
