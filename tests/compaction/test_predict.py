"""Predictions of write amplification against the simulator, which is held against the store elsewhere."""

import pytest

from compaction.predict import level_sizes, predict
from compaction.simulate import Costs, Settings, Shape, Synthetic, timeline

KIB = 1024


@pytest.mark.parametrize("policy", ["leveled", "tiered", "lazy"])
@pytest.mark.parametrize("ratio", [4, 8, 10])
@pytest.mark.parametrize("keys", [25_000, 100_000, 250_000])
def test_a_steady_state_costs_what_is_predicted(policy, ratio, keys):
    shape = Shape(
        policy=policy, level_ratio=ratio, memtable_bytes=256 * KIB, table_bytes_max=256 * KIB, l0_tables_max=4
    )
    settings = Settings(shape=shape, costs=Costs(sample=max(1, keys // 50_000)))
    stream = Synthetic(keys=keys, count=7 * keys, seed=1)
    marks = list(timeline(stream, settings, every_bytes=116 * keys))
    early, late = marks[2], marks[-1]
    flushed = late.flushed_bytes - early.flushed_bytes
    merged = sum(late.merged_bytes.values()) - sum(early.merged_bytes.values())

    predicted = predict(shape, late.live_bytes * 1.1, late.flushed_bytes / late.flushes)

    assert predicted.tree_write_amp == pytest.approx(1 + merged / flushed, rel=0.2)


def test_levels_go_up_from_the_data_to_the_base():
    shape = Shape(level_ratio=10, memtable_bytes=1, l0_tables_max=4, table_bytes_max=1)

    assert level_sizes(shape, 10_000) == pytest.approx([10, 100, 1000, 10_000])
    assert level_sizes(shape, 10) == [10]
