"""Streams of operations: what they do to a model, and that nothing but the seed decides."""

from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from bench.workload import (
    KINDS,
    WORKLOADS,
    Size,
    as_writes,
    capacity,
    find_workload,
    load,
    operations,
    parse_distribution,
    writes,
)
from bench.workload.stream import CHUNK
from compaction import simulate

NAMES = [workload.name for workload in WORKLOADS]


def kinds_of(chunk):
    return [KINDS[kind] for kind in chunk.kinds.tolist()]


def all_of(name, size):
    """The operations of one thread: (kind, key number, count of a scan)."""
    chunks = operations(find_workload(name), size)
    return [
        step
        for chunk in chunks
        for step in zip(kinds_of(chunk), chunk.keys.tolist(), chunk.counts.tolist(), strict=True)
    ]


def loaded(name, size):
    return [number for chunk in load(find_workload(name), size) for number in chunk.keys.tolist()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_operation_finds_what_it_is_meant_to_find(name, threads, seed):
    workload = find_workload(name)
    size = Size(keys=200, count=1000, seed=seed, threads=threads)
    model = set(loaded(name, size))
    assert len(model) == (size.keys if workload.needs_load else 0)
    limit = capacity(workload, size)

    done = 0
    # One after the other: whatever order they come in, each meets only what was loaded or is its own.
    for thread in range(threads):
        for kind, key, count in all_of(name, replace(size, thread=thread)):
            assert 0 <= key < limit
            assert (count > 0) == (kind == "scan")
            if kind in ("get", "modify", "scan") or (kind == "delete" and name == "queue"):
                assert key in model or (kind == "scan" and workload.scan_pairs is None)
            if kind == "put":
                model.add(key)
            elif kind == "delete":
                model.discard(key)
            done += 1
    assert done == size.count


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides_and_nothing_else(name, seed):
    size = Size(keys=300, count=500, seed=seed)

    assert all_of(name, size) == all_of(name, size)
    if name not in ("fillseq", "queue", "scan"):
        assert all_of(name, size) != all_of(name, replace(size, seed=seed + 1))


@pytest.mark.parametrize("name", ["fillseq", "fillrandom", "fillsync", "queue", "overwrite", "readrandom"])
def test_a_longer_run_begins_as_a_shorter_one(name, seed):
    short, long = (Size(keys=300, count=count, seed=seed) for count in (CHUNK, CHUNK + 100))

    assert all_of(name, long)[:CHUNK] == all_of(name, short)
    assert len(all_of(name, long)) == long.count


@pytest.mark.parametrize("threads", [1, 2, 7, 16])
@pytest.mark.parametrize("count", [1, 5, 100])
def test_threads_share_the_operations(threads, count):
    shares = [Size(keys=10, count=count, thread=thread, threads=threads).share for thread in range(threads)]

    assert sum(shares) == count and max(shares) - min(shares) <= 1


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", ["fillseq", "fillrandom", "fillsync"])
def test_a_fill_puts_every_key_once_then_again(name, threads, seed):
    size = Size(keys=60, count=120, seed=seed, threads=threads)

    keys = [key for thread in range(threads) for _, key, _ in all_of(name, replace(size, thread=thread))]

    assert sorted(keys) == sorted(2 * list(range(60)))


def test_fillseq_is_in_key_order_and_fillrandom_is_not(seed):
    size = Size(keys=1000, count=1000, seed=seed)

    assert [key for _, key, _ in all_of("fillseq", size)] == list(range(1000))
    assert [key for _, key, _ in all_of("fillrandom", size)] != list(range(1000))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_queue_adds_behind_and_takes_in_front(threads):
    size = Size(keys=50, count=400, threads=threads)
    queue, added = loaded("queue", size), []
    assert queue == list(range(50))

    for thread in range(threads):
        own = [key for key in queue if key % threads == thread]
        for kind, key, _ in all_of("queue", replace(size, thread=thread)):
            if kind == "put":
                assert key > max(own)
                own.append(key)
                added.append(key)
            else:
                assert key == own.pop(0)
    assert sorted(added) == list(range(50, 250))


def test_mixes_are_the_published_ones(seed):
    published = {
        "ycsb-a": {"get": 0.5, "put": 0.5},
        "ycsb-b": {"get": 0.95, "put": 0.05},
        "ycsb-c": {"get": 1.0},
        "ycsb-d": {"get": 0.95, "put": 0.05},
        "ycsb-e": {"scan": 0.95, "put": 0.05},
        "ycsb-f": {"get": 0.5, "modify": 0.5},
    }
    for name, mix in published.items():
        kinds = [kind for kind, _, _ in all_of(name, Size(keys=100, count=20_000, seed=seed))]
        shares = {kind: kinds.count(kind) / len(kinds) for kind in set(kinds)}
        assert shares == pytest.approx(mix, abs=0.02), name


def test_inserts_of_ycsb_are_new_keys_among_the_others(seed):
    size = Size(keys=1000, count=5000, seed=seed)
    before = set(loaded("ycsb-d", size))

    added = [key for kind, key, _ in all_of("ycsb-d", size) if kind == "put"]

    assert len(set(added)) == len(added) and not before & set(added)
    assert min(added) < max(before) and max(added) > min(before)


def test_ycsb_d_reads_what_has_just_come(seed):
    newest = None
    hits = reads = 0
    for kind, key, _ in all_of("ycsb-d", Size(keys=1000, count=20_000, seed=seed)):
        if kind == "put":
            newest = key
        elif newest is not None:
            reads += 1
            hits += key == newest
    assert hits / reads > 0.08  # 1 in 1000 if all were alike; about 1 in 8 by this law


def test_scans_are_as_long_as_they_are_meant_to_be(seed):
    size = Size(keys=500, count=5000, seed=seed)

    short = [count for kind, _, count in all_of("ycsb-e", size) if kind == "scan"]
    sought = [count for _, _, count in all_of("seekscan", size)]
    whole = all_of("scan", replace(size, count=3))

    assert (min(short), max(short)) == (1, 100)
    assert (min(sought), max(sought)) == (10, 100)
    assert whole == [("scan", 0, 500)] * 3


def test_chunks_know_how_many_keys_were_added(seed):
    size = Size(keys=40, count=CHUNK + 100, seed=seed)

    def last(name, **more):
        *_, chunk = operations(find_workload(name), replace(size, **more))
        return chunk.added

    assert last("fillrandom") == 40
    assert last("fillrandom", count=30) == 30
    assert last("queue") == last("overwrite") == last("readrandom") == 0
    assert last("deleterandom") is None
    assert last("ycsb-d") == sum(kind == "put" for kind, _, _ in all_of("ycsb-d", size))


def test_another_distribution_takes_the_place_of_the_own(seed):
    size = Size(keys=1000, count=2000, seed=seed, distribution=parse_distribution("sequential"))

    assert [key for _, key, _ in all_of("overwrite", size)] == [*range(1000), *range(1000)]


def test_writes_are_those_of_the_operations(seed):
    size = Size(keys=100, count=500, seed=seed)
    for name in NAMES:
        if find_workload(name).beside:
            continue
        made = list(writes(find_workload(name), size, key_bytes=16, value_bytes=100))
        found = [
            write
            for each in made
            for write in zip(each.keys.tolist(), each.sizes.tolist(), each.deletes.tolist(), strict=True)
        ]
        expected = [
            (key, 16 if kind == "delete" else 116, kind == "delete")
            for kind, key, _ in all_of(name, size)
            if kind in ("put", "delete", "modify")
        ]
        assert found == expected, name


def test_writes_beside_reads_are_those_of_the_other_workload():
    size = Size(keys=100, count=50)
    beside, alone = (
        list(writes(find_workload(name), size, key_bytes=16, value_bytes=100))
        for name in ("readwhilewriting", "overwrite")
    )

    assert np.array_equal(beside[0].keys, alone[0].keys)


def test_the_simulator_takes_load_and_writes_as_they_are(seed):
    workload, size = find_workload("overwrite"), Size(keys=2000, count=4000, seed=seed)
    chunks = chain(load(workload, size), operations(workload, size))
    stream = as_writes(chunks, key_bytes=16, value_bytes=100)

    figures = simulate.run(
        stream, simulate.Settings(shape=simulate.Shape(memtable_bytes=32 * 1024, table_bytes_max=64 * 1024))
    )

    assert figures.user_bytes == 6000 * 116
    assert figures.live_bytes == pytest.approx(2000 * 116, rel=0.01)
