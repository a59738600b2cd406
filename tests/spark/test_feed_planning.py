"""Where a change feed begins, ends and is cut: options, offsets and spans; no Spark is started for these."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.log.entries import Change, ChangeColumns
from lsm.spark.feed.offset import Held, Offset
from lsm.spark.feed.options import feed_options, is_feed, without_feed
from lsm.spark.feed.planning import Span, Stretch, commit_of, cut, thinned, within_bytes
from lsm.spark.feed.reading import chunks
from lsm.spark.feed.rows import change_types, images, net_changes, of_commits
from sstable import Columns

stretches = st.lists(st.tuples(st.integers(1, 20), st.integers(0, 1000)), max_size=20).map(
    lambda parts: [
        Stretch(sum(count for count, _ in parts[: at + 1]), size) for at, (_, size) in enumerate(parts)
    ]
)


class TestOptions:
    def test_a_feed_is_asked_for_by_name(self):
        assert is_feed({"READCHANGEFEED": "true"})
        assert not is_feed({"readChangeFeed": "false"})
        assert not is_feed({"path": "db"})

    def test_all_of_them(self):
        found = feed_options(
            {
                "path": "db",
                "readChangeFeed": "true",
                "startingVersion": "7",
                "maxRecordsPerTrigger": "10",
                "maxBytesPerTrigger": "1MiB",
                "failOnDataLoss": "false",
                "consumerId": "me",
                "withPreimage": "true",
                "keyspace": "orders",
            },
            is_stream=True,
        )

        assert (found.start, found.rows_max, found.bytes_max) == (7, 10, 1024 * 1024)
        assert (found.fails_on_loss, found.consumer, found.preimages) == (False, "me", True)
        assert (found.path, found.read.keyspace) == ("db", "orders")

    @pytest.mark.parametrize(
        ("options", "start"),
        [
            ({"startingVersion": "Earliest"}, "earliest"),
            ({"startingVersion": "latest"}, "latest"),
            ({"startingTimestamp": "2026-01-31"}, datetime(2026, 1, 31, tzinfo=UTC)),
            ({"startingTimestamp": "2026-01-31 12:30:00"}, datetime(2026, 1, 31, 12, 30, tzinfo=UTC)),
            ({"startingTimestamp": "2026-01-31T12:30:00+01:00"}, datetime(2026, 1, 31, 11, 30, tzinfo=UTC)),
            ({}, None),
        ],
    )
    def test_starts(self, options, start):
        assert feed_options({"path": "db", **options}).start == start

    @pytest.mark.parametrize(
        ("options", "is_stream", "message"),
        [
            (
                {"startingVersion": "soon"},
                None,
                "startingVersion is a number, earliest or latest; not 'soon'",
            ),
            ({"startingVersion": "-1"}, None, "startingVersion is a number"),
            ({"startingTimestamp": "soon"}, None, "startingTimestamp is a moment such as"),
            ({"startingVersion": "1", "startingTimestamp": "2026-01-01"}, None, "two starts"),
            (
                {"startingVersion": "1", "endingVersion": "2", "endingTimestamp": "2026-01-01"},
                None,
                "two ends",
            ),
            ({"startVersion": "1"}, None, "did you mean startingVersion"),
            ({"maxRecordsPerTrigger": "0"}, None, "maxRecordsPerTrigger must be a whole number from 1"),
            ({"withPreimage": "yes"}, None, "withPreimage must be true or false"),
            ({"readChangeFeed": "false"}, True, "a stream of a store is its changes"),
            ({"endingVersion": "9"}, True, "endingVersion is for a batch of changes, and this is a stream"),
            ({"startingVersion": "1", "consumerId": "x"}, False, "consumerId is for a stream of changes"),
            ({}, False, "needs startingVersion"),
            ({"paths": '["a", "b"]'}, None, "a change feed is of one store, not of 2"),
            ({"keyspace": "lsm:consumers"}, None, "lsm:"),
        ],
    )
    def test_what_is_wrong_is_said(self, options, is_stream, message):
        with pytest.raises(lsm.Error, match=message):
            feed_options({"path": "db", "readChangeFeed": "true", **options}, is_stream=is_stream)

    def test_other_reads_take_none_of_them(self):
        assert without_feed({"path": "db", "readchangefeed": "false"}) == {"path": "db"}
        with pytest.raises(lsm.InvalidArgument, match="startingVersion is of the change feed"):
            without_feed({"path": "db", "startingversion": "1"})


class TestOffsets:
    @pytest.mark.parametrize(
        "offset",
        [
            Offset(log="a-1", seq=5),
            Offset(log="a-1", seq=5, held=Held(pin="p", time_us=3)),
            Offset(log="a-1", seq=5, held=Held(pin="p", time_us=3, reached=b"\0\xff")),
            Offset(log="a-1", seq=5, held=Held(pin="p", time_us=3, is_done=True)),
        ],
    )
    def test_what_is_written_is_read(self, offset):
        assert Offset.of(offset.to_json()) == offset

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"log": 1, "seq": 2},
            {"log": "a", "seq": "2"},
            {"log": "a", "seq": -1},
            {"log": "a", "seq": True},
        ]
        + [{"log": "a", "seq": 1, "snapshot": held} for held in ([], {}, {"pin": 1, "time": 1, "done": 1})],
    )
    def test_what_is_no_offset_is_refused(self, fields):
        with pytest.raises(lsm.InvalidArgument, match="no offset of a change feed"):
            Offset.of(fields)

    def test_the_end_of_the_content_names_what_to_let_go(self):
        begin = Offset(log="a-1", seq=5, held=Held(pin="p", time_us=3))

        assert begin.is_in_snapshot
        assert begin.reaching(b"k").is_in_snapshot
        assert not begin.reaching(None).is_in_snapshot
        assert begin.reaching(b"k").reaching(None).held == Held(pin="p", time_us=3, is_done=True)


class TestCutting:
    @given(stretches, st.integers(1, 30), st.integers(0, 50))
    def test_spans_are_disjoint_in_order_and_together_the_whole(self, parts, count, since):
        end = parts[-1].last_seq if parts else 0
        spans = cut(Span(since, end), parts, count)

        assert len(spans) <= count
        assert all(span.until > span.since for span in spans)
        assert [span.since for span in spans[1:]] == [span.until for span in spans[:-1]]
        if end > since:
            assert (spans[0].since, spans[-1].until) == (since, end)
            assert {span.until for span in spans} <= {stretch.last_seq for stretch in parts}
        else:
            assert spans == []

    def test_spans_have_about_as_many_bytes(self):
        parts = [Stretch(10 * number, 100) for number in range(1, 9)]

        assert cut(Span(0, 80), parts, 4) == [Span(0, 20), Span(20, 40), Span(40, 60), Span(60, 80)]
        assert cut(Span(0, 80), parts, 1) == [Span(0, 80)]
        assert cut(Span(0, 80), [], 4) == [Span(0, 80)]

    def test_bytes_take_whole_stretches(self):
        parts = [Stretch(5, 100), Stretch(9, 100), Stretch(12, 300)]

        assert within_bytes(parts, 99) is None
        assert [within_bytes(parts, size) for size in (100, 199, 200, 499, 500)] == [5, 5, 9, 9, 12]

    def test_commits_are_found_by_any_of_their_numbers(self):
        first_seqs, counts = np.array([4, 5, 9]), np.array([1, 4, 2])

        assert commit_of(first_seqs, counts, 4) == Span(3, 4)
        assert [commit_of(first_seqs, counts, seq) for seq in (5, 6, 8)] == [Span(4, 8)] * 3
        assert commit_of(first_seqs, counts, 10) == Span(8, 10)

    @given(st.lists(st.integers(1, 300), min_size=1, max_size=60), st.integers(1, 500))
    def test_commits_are_put_together(self, sizes, every):
        ends = np.cumsum(sizes)
        found = thinned(np.arange(1, len(sizes) + 1), ends, every)

        assert sum(part.size_bytes for part in found) == ends[-1]
        assert found[-1].last_seq == len(sizes)
        assert all(part.size_bytes >= every for part in found[:-1])


def change(seq, key, value, first, count, before=None):
    kind = "delete" if value is None else "put"
    return Change(seq, 1, kind, key, value, "default", first, count, before)


writes = st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=6), max_size=6)


def as_changes(commits):
    """Changes of commits, each with what it replaced."""
    held, found, seq = {}, [], 0
    for commit in commits:
        first = seq + 1
        for name, is_put in commit:
            seq += 1
            key, value = name.encode(), b"%d" % seq if is_put else None
            found.append(change(seq, key, value, first, len(commit), held.get(key)))
            held[key] = value
    return found


class TestRows:
    @given(writes)
    def test_a_commit_has_one_row_of_a_key(self, commits):
        changes = as_changes(commits)
        expected = {(one.batch_first_seq, one.key): one.value for one in changes}
        columns = Columns.from_lists(
            [one.key for one in changes],
            [one.seq for one in changes],
            [one.value is not None for one in changes],
            [one.value or b"" for one in changes],
        )
        firsts = np.array([one.batch_first_seq for one in changes], np.int64)
        counts = np.array([one.batch_count for one in changes], np.int64)
        zeros = np.zeros(len(changes), np.int64)

        net = of_commits(ChangeColumns(columns, zeros, zeros, firsts, counts, {0: "default"}))

        found = {(one.batch_first_seq, one.key): one.value for one in net.rows()}
        assert found == expected
        assert len(net) == len(expected)
        assert [one.seq for one in net.rows()] == sorted(one.seq for one in net.rows())

    @given(writes)
    def test_images_tell_what_every_commit_did(self, commits):
        state = {}
        for one in net_changes(as_changes(commits)):
            for kind, value in images(one):
                name = ("delete", "update_postimage", "insert", "update_preimage")[kind]
                if name == "insert":
                    assert one.key not in state
                else:
                    assert one.key in state
                if name in ("delete", "update_preimage"):
                    assert state.pop(one.key) == value
                    continue_with = name == "update_preimage"
                    if continue_with:
                        state[one.key] = value
                else:
                    state[one.key] = value
        last = {one.key: one.value for one in as_changes(commits)}
        assert state == {key: value for key, value in last.items() if value is not None}

    def test_names_of_changes(self):
        assert change_types(np.array([0, 1, 2, 3], np.uint8)).to_pylist() == [
            "delete",
            "update_postimage",
            "insert",
            "update_preimage",
        ]
        assert change_types(np.ones(5, np.uint8)).to_pylist() == ["update_postimage"] * 5
        assert change_types(np.empty(0, np.uint8)).to_pylist() == []

    @given(writes, st.integers(1, 5))
    def test_chunks_are_whole_commits(self, commits, count):
        changes = as_changes(commits)
        found = list(chunks(iter(changes), count))

        assert [one for part in found for one in part] == changes
        starts = [part[0].batch_first_seq for part in found]
        assert len(set(starts)) == len(starts)
        assert all(part[-1].batch_first_seq != start for part, start in zip(found, starts[1:], strict=False))
