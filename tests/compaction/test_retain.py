"""What survives: by text tables, and against what readers see."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from compaction import Retention, retain, sort_columns
from sstable import MAX_SEQ, Kind
from tests.compaction.datadriven import Case, run_file
from tests.compaction.memory import Entry, columns_of, delete, entries_of, in_order, put, visible
from tests.compaction.test_order import histories

KEYS = st.sampled_from([b"", b"\0", b"a", b"a\0", b"b", b"c", b"common prefix 1", b"common prefix 2"])
RANGES = st.lists(st.tuples(KEYS, KEYS).map(lambda ends: (min(ends), max(ends))), max_size=3)
SNAPSHOTS = st.lists(st.integers(0, 70), max_size=4)


def survivors(entries: list[Entry], snapshots=(), deeper=()) -> tuple[list[Entry], int, int]:
    ordered = sort_columns(columns_of(entries))
    result = Retention(snapshots, deeper).survivors(ordered)
    return entries_of(ordered.take(result.kept)), result.shadowed, result.tombstones


def parse_entry(line: str) -> Entry:
    version, kind, *value = line.split()
    key, _, seq = version.partition("@")
    if kind == "del":
        return delete(key.encode(), int(seq))
    return put(key.encode(), int(seq), value[0].encode())


def format_entry(entry: Entry) -> str:
    key, seq, kind, value = entry
    return f"{key.decode()}@{seq} " + ("del" if kind == Kind.DELETE else f"put {value.decode()}")


def parse_seqs(text: str) -> list[int]:
    return [int(seq) for seq in text.split(",") if seq]


def parse_ranges(text: str) -> list[tuple[bytes, bytes]]:
    ranges = [keys.encode().split(b"-") for keys in text.split(",") if keys]
    return [(smallest, largest) for smallest, largest in ranges]


def test_retain_by_tables():
    entries: list[Entry] = []

    def handle(case: Case) -> str:
        if case.command == "entries":
            entries[:] = map(parse_entry, case.lines)
            return ""
        arguments = case.arguments
        is_known = arguments.keys() & {"bottom", "deeper"}
        deeper = parse_ranges(arguments.get("deeper", "")) if is_known else None
        snapshots = parse_seqs(arguments.get("snapshots", ""))
        kept, shadowed, tombstones = survivors(entries, snapshots, deeper)
        dropped = f"dropped: {shadowed} shadowed, {tombstones} tombstones"
        return "\n".join([*map(format_entry, kept), dropped])

    run_file("retain.txt", handle)


@st.composite
def split_histories(draw: st.DrawFn) -> tuple[list[Entry], list[Entry]]:
    """Entries to be merged, and those that lie deeper: of each key the older ones."""
    entries = draw(histories(KEYS))
    newer_from = {key: draw(st.integers(0, 60)) for key, *_ in entries}
    merged = [entry for entry in entries if entry[1] >= newer_from[entry[0]]]
    return merged, [entry for entry in entries if entry[1] < newer_from[entry[0]]]


@given(split_histories(), SNAPSHOTS, RANGES)
def test_no_reader_sees_a_difference(history, snapshots, more_ranges):
    merged, below = history
    deeper = [(key, key) for key, *_ in below] + more_ranges

    kept, shadowed, tombstones = survivors(merged, snapshots, deeper)

    for snapshot in [*snapshots, MAX_SEQ]:
        assert visible(kept + below, snapshot) == visible(merged + below, snapshot)
    assert len(merged) == len(kept) + shadowed + tombstones
    assert kept == [entry for entry in in_order(merged) if entry in kept]


@given(histories(KEYS), SNAPSHOTS, RANGES)
def test_nothing_is_kept_without_need(entries, snapshots, deeper):
    kept, _, _ = survivors(entries, snapshots, deeper)

    values_seen = {item for snapshot in [*snapshots, MAX_SEQ] for item in visible(entries, snapshot).items()}
    for key, seq, kind, value in kept:
        hides = any(other[0] == key and other[1] < seq and other[2] == Kind.PUT for other in kept)
        may_hide = any(smallest <= key <= largest for smallest, largest in deeper)
        assert hides or may_hide if kind == Kind.DELETE else (key, value) in values_seen


@given(histories(KEYS))
def test_without_snapshots_and_deeper_tables_just_the_live_values_are_left(entries):
    kept, _, _ = survivors(entries, (), ())

    assert {key: value for key, _, _, value in kept} == visible(entries)
    assert len(kept) == len(visible(entries))


@given(histories(KEYS), SNAPSHOTS)
def test_where_deeper_tables_are_not_known_no_tombstone_goes_for_its_own_sake(entries, snapshots):
    _, _, tombstones = survivors(entries, snapshots, None)

    assert tombstones == 0


def test_retain_takes_one_answer_for_all_entries():
    starts, seqs = np.array([True, True]), np.array([2, 1], np.uint64)
    kinds, none = np.array([Kind.DELETE, Kind.PUT], np.uint8), np.empty(0, np.uint64)

    assert retain(starts, seqs, kinds, none, bottom=True).kept.tolist() == [False, True]
    assert retain(starts, seqs, kinds, none, bottom=False).kept.tolist() == [True, True]


def test_snapshots_may_come_in_any_order_and_twice():
    entries = [put(b"a", 9), put(b"a", 5), put(b"a", 1)]

    assert survivors(entries, [6, 2, 6]) == (entries, 0, 0)
