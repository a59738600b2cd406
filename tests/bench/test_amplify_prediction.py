"""What the simulator and the formulas say about a stream."""

import numpy as np
import pytest

from bench.amplify.prediction import Prediction
from compaction.simulate import Costs, Settings, Shape, Synthetic, total_bytes

KIB = 1024
ENTRY_BYTES = 116


def predict(policy="leveled", ratio=10, keys=20_000, count=80_000, seed=1):
    settings = Settings(
        shape=Shape(policy=policy, level_ratio=ratio, memtable_bytes=32 * KIB, table_bytes_max=64 * KIB),
        costs=Costs(hash_index=False),
    )
    stream = Synthetic(keys=keys, count=count, seed=seed)
    return Prediction.of(stream, settings, entry_bytes=ENTRY_BYTES, total_bytes=total_bytes(stream))


def test_spans_add_up():
    made = predict()
    end, half = made.points[-1].user_bytes, made.points[-1].user_bytes // 2
    whole, first, second = made.simulated(0, end), made.simulated(0, half), made.simulated(half, end)

    last = made.points[-1]
    assert np.isclose(whole.tree * end, last.flushed_bytes + sum(last.merged_bytes.values()))
    assert np.isclose(first.tree * half + second.tree * (end - half), whole.tree * end)
    assert np.isclose(whole.tree_write_amp, last.tree_write_amp)


@pytest.mark.parametrize("ratio", [4, 8, 10])
def test_formula_and_simulator_agree_in_a_steady_state(ratio, seed):
    made = predict(ratio=ratio, seed=seed)
    end = made.points[-1].user_bytes

    simulated, formula = made.simulated(end // 2, end), made.formula(end // 2, end)

    assert abs(formula.total / simulated.total - 1) < 0.2
    assert set(formula.levels) >= {level for level, cost in simulated.levels.items() if cost > 1}


@pytest.mark.parametrize("policy", ["tiered", "lazy"])
def test_tiers_have_a_formula_too(policy):
    made = predict(policy=policy, ratio=4)
    end = made.points[-1].user_bytes

    formula = made.formula(end // 2, end)

    assert formula.tree > formula.flush
    assert made.space_amp > 1


def test_the_line_goes_with_the_stream():
    line = predict().line()

    assert len(line["user_bytes"]) == len(line["write_amp"])
    assert line["user_bytes"] == sorted(line["user_bytes"])
    assert line["write_amp"][-1] > line["write_amp"][0] > 1


def test_a_stream_that_fills_no_memtable_has_a_flush_at_its_end():
    made = predict(keys=10, count=10)
    end = made.points[-1].user_bytes

    formula = made.formula(0, end)

    assert formula.flush > 0 and formula.total > 1
    assert made.simulated(0, end).levels == {}


def test_batches_need_less_log():
    alone, together = Settings(batch=1), Settings(batch=1000)

    assert Prediction(settings=alone, entry_bytes=116, points=()).log_write_amp > 1.4
    assert Prediction(settings=together, entry_bytes=116, points=()).log_write_amp < 1.1
