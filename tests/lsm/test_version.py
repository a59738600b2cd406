"""Versions and the edits between them; edits as the manifest keeps them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsm.edit_json import decode_edit, encode_edit
from lsm.version import BadEdit, KeyspaceMeta, SegmentMeta, Version, VersionEdit
from tests.lsm.versions import EDITS, STORE_ID, TABLES, change, table

EMPTY = Version(
    store_id=STORE_ID, keyspaces={0: KeyspaceMeta(id=0, name="default")}, next_keyspace=1, next_number=5
)


def levels(version: Version, keyspace: int = 0) -> list[list[int]]:
    return [[meta.number for meta in level] for level in version.keyspaces[keyspace].levels]


class TestVersion:
    def test_l0_is_newest_first(self):
        tables = [table(1, max_seq=10), table(2, max_seq=30), table(3, max_seq=20)]

        version = EMPTY.after(VersionEdit(tables_added=tuple(map(change, tables))))

        assert levels(version) == [[2, 3, 1]]

    def test_deeper_levels_are_in_key_order(self):
        tables = [table(1, b"m", b"n"), table(2, b"a", b"b"), table(3, b"x", b"y")]

        version = EMPTY.after(VersionEdit(tables_added=tuple(change(meta, 1) for meta in tables)))

        assert levels(version) == [[], [2, 1, 3]]

    def test_a_table_moves_down_in_one_edit(self):
        meta = table(1)
        version = EMPTY.after(VersionEdit(tables_added=(change(meta),)))

        moved = version.after(VersionEdit(tables_removed=(change(meta),), tables_added=(change(meta, 3),)))

        assert levels(moved) == [[], [], [], [1]]
        assert levels(version) == [[1]], "a version never changes"

    def test_dropping_a_keyspace_drops_its_tables(self):
        orders = KeyspaceMeta(id=1, name="orders")
        version = EMPTY.after(
            VersionEdit(keyspaces_added=(orders,), tables_added=(change(table(1), 0, 1), change(table(2))))
        )

        assert sorted(version.tables()) == [1, 2]
        assert sorted(version.after(VersionEdit(keyspaces_dropped=(1,))).tables()) == [2]

    def test_counters_never_go_back(self):
        version = EMPTY.after(VersionEdit(next_number=9, flushed_seq=9, next_keyspace=9))

        back = version.after(VersionEdit(next_number=2, flushed_seq=2, next_keyspace=2))

        assert (back.next_number, back.flushed_seq, back.next_keyspace) == (9, 9, 9)

    def test_closed_is_forgotten_with_the_next_edit(self):
        closed = EMPTY.after(VersionEdit(is_closed=True))

        assert closed.is_closed
        assert not closed.after(VersionEdit()).is_closed

    def test_segments_are_in_log_order(self):
        segments = (SegmentMeta(number=9, first_seq=1), SegmentMeta(number=4, first_seq=50))

        assert EMPTY.after(VersionEdit(segments_added=segments[::-1])).segments == segments

    @pytest.mark.parametrize(
        "edit",
        [
            VersionEdit(tables_removed=(change(table(7)),)),
            VersionEdit(tables_removed=(change(table(1), 2),)),
            VersionEdit(tables_added=(change(table(1)),)),
            VersionEdit(tables_added=(change(table(8), 0, 5),)),
            VersionEdit(keyspaces_dropped=(5,)),
            VersionEdit(segments_removed=(5,)),
            VersionEdit(segments_closed=(SegmentMeta(number=5, first_seq=1),)),
        ],
        ids=["unknown table", "other level", "twice", "no keyspace", "drop", "remove log", "close log"],
    )
    def test_an_edit_that_cannot_follow_is_refused(self, edit):
        version = EMPTY.after(VersionEdit(tables_added=(change(table(1)),)))

        with pytest.raises(BadEdit):
            version.after(edit)

    @given(st.lists(TABLES, max_size=6, unique_by=lambda meta: meta.number), st.integers(0, 3))
    def test_a_version_is_rebuilt_by_its_own_edit(self, tables, level):
        version = EMPTY.after(
            VersionEdit(
                tables_added=tuple(change(meta, level) for meta in tables),
                segments_added=(SegmentMeta(number=3, first_seq=7),),
                flushed_seq=6,
            )
        )

        assert Version().after(version.as_edit()) == version


class TestJson:
    @given(EDITS)
    def test_an_edit_reads_back_as_written(self, edit):
        assert decode_edit(encode_edit(edit)) == edit

    def test_what_does_not_change_is_left_out(self):
        assert encode_edit(VersionEdit()) == b"{}"

    @given(st.binary(max_size=60))
    def test_bytes_that_are_no_edit_are_a_value_error(self, data):
        try:
            decode_edit(data)
        except ValueError:
            return
        assert isinstance(json.loads(data), dict)

    @given(
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
            max_leaves=6,
        ),
        st.sampled_from(
            [
                "store_id",
                "epoch",
                "options",
                "next_number",
                "keyspaces_added",
                "keyspaces_dropped",
                "tables_added",
                "segments_added",
                "segments_removed",
            ]
        ),
    )
    def test_a_field_of_any_shape_is_taken_or_a_value_error(self, value, name):
        data = json.dumps({name: value}).encode()
        try:
            edit = decode_edit(data)
        except ValueError:
            return
        assert decode_edit(encode_edit(edit)) == edit

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "[]",
            "null",
            "{",
            '"x"',
            "1",
            '{"store_id": "00"}',
            '{"store_id": 5}',
            '{"store_id": "zz"}',
            '{"epoch": -1}',
            '{"epoch": 1.0}',
            '{"epoch": true}',
            '{"epoch": 9223372036854775808}',
            '{"next_number": "1"}',
            '{"options": []}',
            '{"options": {"x": []}}',
            '{"options": {"x": {}}}',
            '{"keyspaces_added": {}}',
            '{"keyspaces_added": [1]}',
            '{"keyspaces_added": [{"id": 1}]}',
            '{"keyspaces_added": [{"id": 1, "name": 2}]}',
            '{"keyspaces_dropped": ["1"]}',
            '{"tables_added": [{}]}',
            '{"tables_added": [{"keyspace": 0, "level": 65, "table": {}}]}',
            '{"tables_added": [{"keyspace": 0, "level": 0, "table": null}]}',
            '{"segments_added": [{"number": 1}]}',
            '{"segments_added": [{"number": 1, "first_seq": 1, "last_seq": -1}]}',
            '{"epoch": ' + "9" * 5000 + "}",
            "[" * 100_000,
            '{"options": ' + "[" * 100_000,
        ],
    )
    def test_hostile_json_is_a_value_error(self, text):
        with pytest.raises(ValueError):
            decode_edit(text.encode())

    def test_a_path_in_place_of_a_number_is_refused(self):
        fields = change(table(1)).table.to_json() | {"number": "../../etc/passwd"}
        data = json.dumps({"tables_added": [{"keyspace": 0, "level": 0, "table": fields}]}).encode()

        with pytest.raises(ValueError, match="number"):
            decode_edit(data)
