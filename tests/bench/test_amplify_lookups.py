"""Read amplification from explained lookups: made-up ones, and those of a real store."""

from types import SimpleNamespace

import numpy as np
import pytest

import lsm
from bench.amplify.lookups import FilterTally, LookupTally, Reads
from bench.amplify.monkey_twin import monkey_gain, theoretical_gain
from bench.data import Data
from compaction.simulate import monkey


def probe(level, *, found=False, bits=10.0, passes=False):
    answer = None if bits is None else SimpleNamespace(bits_per_key=bits, is_asked=True, may_contain=passes)
    return SimpleNamespace(
        level=level,
        is_found=found,
        filter=answer,
        is_false_positive=passes and not found and bits is not None,
    )


def lookup(*probes, blocks):
    return SimpleNamespace(
        tables=len(probes),
        filter_probes=sum(each.filter is not None for each in probes),
        block_reads=blocks,
        table_probes=probes,
    )


def test_lookups_are_counted_by_blocks_and_by_level():
    tally = LookupTally()

    tally.add(lookup(probe(0), probe(5, passes=True), probe(6), blocks=1))
    tally.add(lookup(probe(0), probe(5), probe(6), blocks=0))

    assert (tally.lookups, tally.mean_blocks, tally.mean_tables) == (2, 0.5, 3)
    assert tally.to_json()["histogram"] == {"0": 1, "1": 1}
    assert tally.filters[5].measured == 0.5 and tally.filters[6].measured == 0
    rate = monkey.false_positive_rate(10)
    assert np.isclose(tally.predicted_blocks, 3 * rate)
    assert np.isclose(tally.all_filters.predicted, rate) and tally.all_filters.probes == 6


def test_a_table_without_a_filter_is_always_read():
    tally = LookupTally()

    tally.add(lookup(probe(6, bits=None), blocks=1))

    assert tally.predicted_blocks == 1.0 and not tally.filters


def test_the_filter_of_the_table_that_has_the_key_says_nothing_about_errors():
    tally = LookupTally()

    tally.add(lookup(probe(0), probe(6, found=True, passes=True), blocks=1))

    assert list(tally.filters) == [0]
    assert np.isclose(tally.predicted_blocks, 1 + monkey.false_positive_rate(10))


def test_nothing_was_looked_up():
    reads = Reads()

    assert reads.figures() == {}
    assert reads.to_json()["miss"]["blocks"] == 0
    assert FilterTally().measured == FilterTally().predicted == 0


def test_monkey_is_compared_by_blocks_or_by_what_filters_would_say():
    uniform, shared = LookupTally(), LookupTally()
    for _ in range(4):
        uniform.add(lookup(probe(5, passes=True), probe(6), blocks=1))
    shared.add(lookup(probe(5, bits=14.8), probe(6, bits=9.5, passes=True), blocks=1))
    shared.add(lookup(probe(5, bits=14.8), probe(6, bits=9.5), blocks=0))

    gain = monkey_gain(uniform, shared, runs=4, level_ratio=10, bits_per_key=10)

    assert gain.ratio == 2.0
    assert 2.7 < gain.predicted_ratio < 2.9  # 2.8 times at ratio 10, four levels, 10 bits
    uniform.filter_probes = 0  # as with a hash index
    assert monkey_gain(uniform, shared, runs=4, level_ratio=10, bits_per_key=10).uniform_miss_blocks == 1.0
    assert monkey_gain(uniform, LookupTally(), runs=4, level_ratio=10, bits_per_key=0.1).ratio is None


@pytest.mark.parametrize(
    ("ratio", "levels", "bits", "gain"),
    [(10, 3, 10, 2.1), (10, 4, 10, 2.8), (10, 5, 10, 3.5), (10, 4, 5, 2.8), (4, 5, 10, 2.4), (4, 2, 10, 1.2)],
)
def test_the_gain_in_theory_is_that_of_so_many_levels(ratio, levels, bits, gain):
    assert round(theoretical_gain(levels, ratio, bits), 1) == gain
    assert theoretical_gain(1, ratio, bits) == pytest.approx(1)


@pytest.mark.parametrize("hash_index", [False, True])
def test_reads_of_a_real_store(tmp_path, seed, hash_index):
    data = Data.make(5000, key_bytes=16, value_bytes=20, seed=seed)
    with lsm.open(
        tmp_path / "db", "n", sync="os", background="manual", hash_index=hash_index, block_bytes=1024
    ) as db:
        for version in range(2):
            # Half of the keys again: two filters over the same keys would make the same mistakes.
            numbers = np.arange(version, 5000, 1 + version)
            with db.batch() as batch:
                for key, value in zip(*data.pairs(numbers, version), strict=True):
                    batch.put(key, value)
            db.flush()
        reads = Reads()
        reads.look_up(db, data.keys(2 * np.arange(50) + 1), data.missing(np.arange(5000)))
        reads.scan(db, data.keys(data.drawn(10, 3) // 2), 20)

    assert reads.hits.mean_blocks == 1.0  # all of the newest table
    assert reads.misses.mean_tables == pytest.approx(2.0, abs=0.01)
    assert reads.scans.mean_runs == 2.0
    assert 0.4 < reads.scans.skipped_per_entry < 0.6
    filters = reads.misses.all_filters
    assert filters.probes == pytest.approx(10_000, abs=10)
    assert abs(filters.measured - filters.predicted) < 2.5 * filters.error  # five standard errors
    assert (reads.misses.filter_probes == 0) == hash_index
    if not hash_index:
        assert reads.misses.mean_blocks == pytest.approx(filters.false_positives / 5000, abs=0.001)
    assert ("predicted_miss_blocks" in reads.figures()) == (not hash_index)
