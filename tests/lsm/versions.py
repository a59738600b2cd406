"""Versions and edits for tests, by hand and by Hypothesis."""

from hypothesis import strategies as st

from lsm.version import KeyspaceMeta, SegmentMeta, TableChange, VersionEdit
from sstable import TableMeta

STORE_ID = bytes(range(16))
NUMBERS = st.integers(0, 2**63 - 1)
SMALL = st.integers(1, 50)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


def table(
    number: int = 1, smallest: bytes = b"a", largest: bytes = b"z", *, min_seq: int = 1, max_seq: int = 9
) -> TableMeta:
    return TableMeta(
        number=number,
        size_bytes=1000,
        entries=10,
        tombstones=1,
        distinct_keys=9,
        smallest=smallest,
        largest=largest,
        min_seq=min_seq,
        max_seq=max_seq,
        key_bytes=100,
        value_bytes=200,
        crc=7,
    )


def change(meta: TableMeta, level: int = 0, keyspace: int = 0) -> TableChange:
    return TableChange(keyspace=keyspace, level=level, table=meta)


def _ordered(pair: tuple[bytes, bytes]) -> tuple[bytes, bytes]:
    return min(pair), max(pair)


TABLES = st.builds(
    lambda number, keys, seq: table(number, *_ordered(keys), min_seq=seq, max_seq=seq + 3),
    SMALL,
    st.tuples(st.binary(max_size=4), st.binary(max_size=4)),
    SMALL,
)
CHANGES = st.builds(change, TABLES, st.integers(0, 6), st.integers(0, 3))
SEGMENTS = st.builds(
    SegmentMeta,
    number=NUMBERS,
    first_seq=NUMBERS,
    last_seq=st.none() | NUMBERS,
    size_bytes=st.none() | NUMBERS,
)
OPTION_VALUES = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=5))
OPTIONS = st.dictionaries(st.text(max_size=5), OPTION_VALUES)
EDITS = st.builds(
    VersionEdit,
    store_id=st.none() | st.binary(min_size=16, max_size=16),
    epoch=st.none() | NUMBERS,
    options=st.none() | OPTIONS,
    next_number=st.none() | NUMBERS,
    next_keyspace=st.none() | NUMBERS,
    flushed_seq=st.none() | NUMBERS,
    is_closed=st.booleans(),
    keyspaces_added=st.lists(st.builds(KeyspaceMeta, id=NUMBERS, name=NAMES), max_size=3).map(tuple),
    keyspaces_dropped=st.lists(NUMBERS, max_size=3).map(tuple),
    tables_added=st.lists(CHANGES, max_size=3).map(tuple),
    tables_removed=st.lists(CHANGES, max_size=3).map(tuple),
    segments_added=st.lists(SEGMENTS, max_size=3).map(tuple),
    segments_closed=st.lists(SEGMENTS, max_size=3).map(tuple),
    segments_removed=st.lists(NUMBERS, max_size=3).map(tuple),
)
