"""The folds that ship, against plain Python."""

import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.views import folds
from tests.lsm.stores import MANUAL, ManualClock, open_memory
from tests.lsm.view_models import folded

KEYS = [b"", b"a", b"b", b"c", b"long" * 300]
GROUPS = [b"", b"x", b"y", b"xy", b"\x00", b"\xff\xff"]


def change(seq: int, key: bytes, value: bytes | None, keyspace: str = "default", time: int = 0) -> lsm.Change:
    return lsm.Change(seq, time, "delete" if value is None else "put", key, value, keyspace, seq, 1)


CHANGES = st.lists(
    st.tuples(
        st.sampled_from(KEYS), st.sampled_from(GROUPS) | st.none(), st.sampled_from(["default", "side"])
    ),
    max_size=30,
).map(lambda rows: [change(seq, *row) for seq, row in enumerate(rows, start=1)])


def by_value(change: lsm.Change) -> bytes | None:
    """Group by the value; a value that is one zero byte has no group."""
    return None if change.value == b"\x00" else change.value


def holding(changes: list[lsm.Change]) -> dict[tuple[str, bytes], tuple[int, bytes]]:
    """Return what a store holds: by keyspace and key, when it was put and its group."""
    held: dict[tuple[str, bytes], tuple[int, bytes]] = {}
    for one in changes:
        held.pop((one.keyspace, one.key), None)
        if one.value is not None and by_value(one) is not None:
            held[one.keyspace, one.key] = one.seq, one.value
    return held


class TestCounter:
    @given(changes=CHANGES)
    def test_it_counts_the_keys_of_each_group(self, changes):
        counts = Counter(group for _, group in holding(changes).values())

        found = folded(folds.counter(by=by_value), changes)

        assert found == {group: b"%d" % count for group, count in counts.items()}

    @given(changes=CHANGES)
    def test_without_groups_it_counts_all_keys(self, changes):
        keys = {(one.keyspace, one.key): one.value for one in changes}
        count = sum(value is not None for value in keys.values())

        assert folded(folds.counter(), changes) == ({b"": b"%d" % count} if count else {})

    @given(changes=CHANGES)
    def test_events_count_for_good(self, changes):
        counts = Counter(one.value for one in changes if one.value is not None and by_value(one) is not None)

        found = folded(folds.counter(by=by_value, events=True), changes)

        assert found == {group: b"%d" % count for group, count in counts.items()}

    def test_by_the_field_of_a_json_object(self):
        values = [
            {"user": "ann"},
            {"user": "bob"},
            {"user": "ann"},
            {"user": 7},
            {"user": None},
            {},
            {"user": 1.50},
        ]
        changes = [change(at, b"%d" % at, json.dumps(value).encode()) for at, value in enumerate(values)]

        found = folded(folds.counter(by="user"), changes)

        assert found == {b"ann": b"2", b"bob": b"1", b"7": b"1", b"1.5": b"1"}

    @pytest.mark.parametrize("value", [b"", b"no json", b"[1]", b"7", b"\xff"])
    def test_what_is_no_object_stops_the_view(self, value):
        with pytest.raises(lsm.ViewFailed, match="sequence number 5"):
            folded(folds.counter(by="user"), [change(5, b"k", value)])

    @pytest.mark.parametrize("by", [7, b"field", ["a"]])
    def test_what_cannot_group_is_refused(self, by):
        with pytest.raises(lsm.InvalidType):
            folds.counter(by=by)

    def test_a_group_is_bytes(self):
        with pytest.raises(lsm.ViewFailed, match="a group must be bytes or None, not str"):
            folded(folds.counter(by=lambda change: "text"), [change(1, b"k", b"")])


class TestLatestBy:
    @given(changes=CHANGES)
    def test_it_is_the_key_that_was_put_last_of_those_that_have_the_field(self, changes):
        latest: dict[bytes, tuple[int, bytes]] = {}
        for (_, key), (seq, group) in holding(changes).items():
            latest[group] = max(latest.get(group, (0, b"")), (seq, key))

        found = folded(folds.latest_by(by_value), changes)

        assert found == {group: key for group, (_, key) in latest.items()}

    @given(changes=CHANGES)
    def test_something_else_than_the_key_can_be_kept(self, changes):
        latest = {group: b"%d" % seq for seq, group in sorted(holding(changes).values())}

        found = folded(folds.latest_by(by_value, value=lambda change: b"%d" % change.seq), changes)

        assert found == latest

    def test_as_an_index_over_a_store(self):
        db = open_memory(options=MANUAL)
        users = db.keyspace("users")
        index = db.view("by-mail", keyspace="users")(folds.latest_by("mail"))
        users.put(b"1", b'{"mail": "ann@x"}')
        users.put(b"2", b'{"mail": "bob@x"}')
        users.put(b"3", b'{"mail": "ann@x"}')
        db.put(b"4", b"of another keyspace")
        index.refresh()
        assert dict(index) == {b"ann@x": b"3", b"bob@x": b"2"}
        users.put(b"3", b'{"mail": "carl@x"}')
        users.delete(b"2")
        index.refresh()

        assert dict(index) == {b"ann@x": b"1", b"carl@x": b"3"}
        assert index.verify().is_sound


class TestWindowedSum:
    TIMES = st.integers(0, 5_000_000_000)

    @given(
        rows=st.lists(
            st.tuples(TIMES, st.integers(-50, 50) | st.decimals(-9, 9, places=3), st.sampled_from(GROUPS))
        ),
        seconds=st.sampled_from([1, 7, 3600]),
    )
    def test_it_sums_exactly_by_window_and_group(self, rows, seconds):
        sums: dict[bytes, Decimal] = defaultdict(Decimal)
        for time, amount, group in rows:
            start = time // (seconds * 1_000_000) * seconds
            text = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=start)).isoformat()
            sums[text.removesuffix("+00:00").encode() + b"Z " + group] += amount
        amounts = dict(enumerate(amount for _, amount, _ in rows))
        fold = folds.windowed_sum(seconds, amount=lambda one: amounts[one.seq], by=lambda one: one.value)
        changes = [change(seq, b"k", group, time=time) for seq, (time, _, group) in enumerate(rows)]

        found = folded(fold, changes)

        assert {key: Decimal(value.decode()) for key, value in found.items()} == sums

    def test_tenths_of_a_json_field_are_tenths(self):
        changes = [change(seq, b"%d" % seq, b'{"price": 0.1}') for seq in range(10)]

        assert folded(folds.windowed_sum(60, amount="price"), changes) == {b"1970-01-01T00:00:00Z": b"1.0"}
        floats = folds.windowed_sum(60, amount=lambda change: 0.1)
        assert folded(floats, changes) == {b"1970-01-01T00:00:00Z": b"1.0"}

    def test_one_counts_puts_and_none_leaves_out(self):
        changes = [change(1, b"a", b"x"), change(2, b"a", None), change(3, b"a", b"y"), change(4, b"b", b"x")]

        assert folded(folds.windowed_sum(60), changes) == {b"1970-01-01T00:00:00Z": b"3"}
        some = folds.windowed_sum(60, amount=lambda change: None if change.key == b"b" else 2)
        assert folded(some, changes) == {b"1970-01-01T00:00:00Z": b"4"}

    @pytest.mark.parametrize(
        "amount", ["text", True, float("nan"), float("inf"), Decimal("sNaN"), Decimal("1e400")]
    )
    def test_what_is_no_number_stops_the_view(self, amount):
        with pytest.raises(lsm.ViewFailed):
            folded(folds.windowed_sum(60, amount=lambda change: amount), [change(1, b"k", b"v")])

    def test_a_sum_that_could_not_be_exact_stops_the_view(self):
        amounts = {1: Decimal("1e290"), 2: Decimal("1e-290")}
        changes = [change(seq, b"k", b"v") for seq in amounts]
        with pytest.raises(lsm.ViewFailed, match="sequence number 2"):
            folded(folds.windowed_sum(60, amount=lambda change: amounts[change.seq]), changes)

    @pytest.mark.parametrize("seconds", [0, -1, 1.5, True, "60"])
    def test_windows_have_whole_seconds(self, seconds):
        with pytest.raises(lsm.InvalidArgument):
            folds.windowed_sum(seconds)

    def test_keys_are_made_by_window_key(self):
        noon = datetime(2024, 5, 1, 12, 34, 56, tzinfo=UTC)

        assert folds.window_key(noon, 3600) == b"2024-05-01T12:00:00Z"
        assert folds.window_key(noon, 60, b"ann") == b"2024-05-01T12:34:00Z ann"
        with pytest.raises(lsm.InvalidArgument, match="time zone"):
            folds.window_key(datetime(2024, 5, 1), 60)

    def test_windows_follow_the_time_of_the_commit(self):
        clock = ManualClock(int(datetime(2024, 5, 1, 12, 0, tzinfo=UTC).timestamp()) * 1_000_000)
        db = open_memory(clock=clock)
        view = db.view("per-minute")(folds.windowed_sum(60))
        for number in range(5):
            db.put(b"%d" % number, b"")
            clock.us += 25_000_000
        view.refresh()

        assert dict(view) == {
            b"2024-05-01T12:00:00Z": b"3",
            b"2024-05-01T12:01:00Z": b"2",
        }
        assert view.needs_history
