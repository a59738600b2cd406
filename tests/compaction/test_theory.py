"""Formulas against the tables that were worked out from the literature."""

import pytest

from compaction import theory

# Fanout: write amplification by levels (2, 3, 4, 5), and the number of levels with the least.
PREDICTIONS = [
    (16, [8.0, 7.6, 8.0, 8.7], {3}),
    (64, [16.0, 12.0, 11.3, 11.5], {4}),
    (256, [32.0, 19.0, 16.0, 15.2], {5, 6}),
    (1024, [64.0, 30.2, 22.6, 20.0], {7}),
    (10_000, [200, 64.6, 40.0, 31.5], {9}),
]


@pytest.mark.parametrize(("fanout", "by_levels", "best"), PREDICTIONS)
def test_leveled_write_amplification(fanout, by_levels, best):
    assert [theory.leveled_write_amp(fanout, levels) for levels in (2, 3, 4, 5)] == pytest.approx(
        by_levels, abs=0.06
    )
    assert theory.leveled_levels(fanout) in best


def test_in_practice_four_fifths_of_it():
    assert theory.leveled_write_amp(256, 4, theory.PRACTICAL_SHARE) == pytest.approx(12.8)


def test_the_example_of_the_tuning_guide():
    assert theory.textbook_write_amp(512, 512, 10, 4) == 33


def test_tiered_and_lazy_write_less_than_leveled():
    assert theory.tiered_write_amp(4) == 4
    assert theory.lazy_write_amp(4, 10) == 13
    assert theory.leveled_write_amp(10_000, 4) == pytest.approx(40)


def test_values_apart_are_written_once():
    assert theory.separated_write_amp(16, 984, 20) == pytest.approx(1.32)


@pytest.mark.parametrize(("ratio", "amp"), [(2, 2.0), (4, 1.333), (8, 1.143), (10, 1.111)])
def test_space_of_levels(ratio, amp):
    assert theory.leveled_space_amp(ratio) == pytest.approx(amp, abs=0.001)


def test_space_of_other_shapes():
    assert theory.fixed_targets_space_amp(200, 1, 10) == pytest.approx(1.555)
    assert theory.tiered_space_amp(10) == 10
    assert theory.lazy_space_amp(10) == pytest.approx(1.1)


@pytest.mark.parametrize(("ratio", "bits"), [(2, 1.44), (4, 2.89), (8, 4.33), (10, 4.79)])
def test_bits_that_a_smaller_level_has_more(ratio, bits):
    assert theory.monkey_step_bits(ratio) == pytest.approx(bits, abs=0.005)


def test_reads():
    assert theory.miss_uniform(4, 10) == pytest.approx(0.0328, rel=0.01)
    assert theory.hit([]) == 1
    assert theory.hit([10, 10]) == pytest.approx(1.0164, abs=1e-4)
    assert theory.seek_runs(4, 3) == 7
    assert theory.scan_blocks(1000, 100, 1.11) == pytest.approx(11.1)
