"""Rows and columns of the log are the same changes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sstable import Kind
from tests.lsm.stores import close_all, open_memory

KEYS = st.binary(max_size=5)
VALUES = st.none() | st.binary(max_size=8)
SPACES = st.sampled_from(["default", "orders", "gone", "lsm:books"])
BATCHES = st.lists(st.lists(st.tuples(SPACES, KEYS, VALUES), min_size=1, max_size=6), min_size=1, max_size=12)


def rows_of(parts):
    """Return the rows that columns stand for, put together by hand."""
    found = []
    for part in parts:
        keys, values = part.columns.keys(), part.columns.values()
        assert len(part) == len(keys) == len(values) == len(part.times) == len(part.keyspaces)
        for at in range(len(part)):
            is_put = part.columns.kinds[at] == Kind.PUT
            found.append(
                (
                    int(part.columns.seqs[at]),
                    int(part.times[at]),
                    "put" if is_put else "delete",
                    keys[at],
                    values[at] if is_put else None,
                    part.names[int(part.keyspaces[at])],
                    int(part.batch_first_seqs[at]),
                    int(part.batch_counts[at]),
                    None,
                )
            )
    return found


def write(db, batches, flush_after):
    """Write batches over four keyspaces, one of which is dropped in the end; return what is to be seen."""
    ids = {"default": 0, "orders": db.keyspace("orders")._space.id, "gone": db.keyspace("gone")._space.id}
    ids["lsm:books"] = db._system_keyspace("lsm:books")._space.id
    expected, seq = [], 1
    for number, writes in enumerate(batches):
        with db.batch() as batch:
            for keyspace, key, value in writes:
                if keyspace == "lsm:books":
                    batch._put_in(ids[keyspace], key, value or b"")
                elif value is None:
                    batch.delete(key, keyspace=keyspace)
                else:
                    batch.put(key, value, keyspace=keyspace)
        for at, (keyspace, key, value) in enumerate(writes):
            if keyspace in ("default", "orders"):
                expected.append((seq + at, key, value, keyspace, seq, len(writes)))
        seq += len(writes)
        if number == flush_after:
            db.flush()
    db.drop_keyspace("gone")
    return expected


@settings(deadline=None, max_examples=60)
@given(BATCHES, st.integers(0, 12), st.integers(0, 30), st.none() | st.integers(0, 40))
def test_columns_and_rows_are_the_same(batches, flush_after, since, until):
    db = open_memory()
    try:
        expected = write(db, batches, flush_after)
        since = min(since, db.seq)
        expected = [row for row in expected if row[0] > since and (until is None or row[0] <= until)]

        rows = list(db.changes(since, until))

        assert [(*row[:1], *row[3:8]) for row in rows] == expected
        assert [row.kind for row in rows] == ["delete" if row[2] is None else "put" for row in expected]
        assert rows_of(db.change_columns(since, until)) == [tuple(row) for row in rows]
        for name in ("default", "orders"):
            only = [tuple(row) for row in rows if row.keyspace == name]
            assert rows_of(db.change_columns(since, until, keyspace=name)) == only
            assert [tuple(row) for row in db.changes(since, until, keyspace=name)] == only
    finally:
        close_all()


def test_columns_of_many_are_few_and_parallel():
    db = open_memory()
    db.update({b"%05d" % number: b"v" * (number % 7) for number in range(20_000)})
    db.delete(b"00007")

    parts = list(db.change_columns())

    assert len(parts) <= 2
    seqs = np.concatenate([part.columns.seqs for part in parts])
    assert (seqs == np.arange(1, 20_002)).all()
    assert sum(int((part.columns.kinds == Kind.DELETE).sum()) for part in parts) == 1
