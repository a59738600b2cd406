"""Edits as the manifest keeps them: JSON, checked on the way in as if a stranger had written it."""

import json
from collections.abc import Mapping
from typing import TypeAlias, cast

from lsm.options import OptionValue
from lsm.version import Epoch, KeyspaceMeta, SegmentMeta, TableChange, TimeSample, VersionEdit
from lsm.work import decode_work, encode_work
from sstable import TableMeta

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

_NUMBER_MAX = 2**63 - 1
_LEVEL_MAX = 64


def encode_edit(edit: VersionEdit) -> bytes:
    """Return the edit's bytes; what does not change is left out."""
    fields: dict[str, object] = {
        "store_id": None if edit.store_id is None else edit.store_id.hex(),
        "epoch": edit.epoch,
        "options": None if edit.options is None else dict(edit.options),
        "next_number": edit.next_number,
        "next_keyspace": edit.next_keyspace,
        "flushed_seq": edit.flushed_seq,
        "is_closed": edit.is_closed or None,
        "keyspaces_added": [{"id": meta.id, "name": meta.name} for meta in edit.keyspaces_added],
        "keyspaces_dropped": list(edit.keyspaces_dropped),
        "tables_added": [_change_to_json(change) for change in edit.tables_added],
        "tables_removed": [_change_to_json(change) for change in edit.tables_removed],
        "segments_added": [_segment_to_json(segment) for segment in edit.segments_added],
        "segments_closed": [_segment_to_json(segment) for segment in edit.segments_closed],
        "segments_removed": list(edit.segments_removed),
        "history_seq": edit.history_seq,
        "times": [list(sample) for sample in edit.times],
        "transactions": dict(edit.transactions) or None,
        "epochs": [list(epoch) for epoch in edit.epochs or ()],
        "follows": edit.follows,
        "work": encode_work(edit.work) or None,
    }
    kept = {name: value for name, value in fields.items() if value is not None and value != []}
    return json.dumps(kept, separators=(",", ":")).encode()


def decode_edit(data: bytes | memoryview) -> VersionEdit:
    """Inverse of encode_edit; ValueError on anything that it cannot have made."""
    try:
        fields = _object(json.loads(bytes(data)))
        return VersionEdit(
            store_id=_store_id(fields.get("store_id")),
            epoch=_optional_number(fields, "epoch"),
            options=_options(fields.get("options")),
            next_number=_optional_number(fields, "next_number"),
            next_keyspace=_optional_number(fields, "next_keyspace"),
            flushed_seq=_optional_number(fields, "flushed_seq"),
            is_closed=fields.get("is_closed") is True,
            keyspaces_added=tuple(_keyspace(_object(item)) for item in _list(fields, "keyspaces_added")),
            keyspaces_dropped=tuple(_number(item) for item in _list(fields, "keyspaces_dropped")),
            tables_added=tuple(_change(_object(item)) for item in _list(fields, "tables_added")),
            tables_removed=tuple(_change(_object(item)) for item in _list(fields, "tables_removed")),
            segments_added=tuple(_segment(_object(item)) for item in _list(fields, "segments_added")),
            segments_closed=tuple(_segment(_object(item)) for item in _list(fields, "segments_closed")),
            segments_removed=tuple(_number(item) for item in _list(fields, "segments_removed")),
            history_seq=_optional_number(fields, "history_seq"),
            times=tuple(_time_sample(item) for item in _list(fields, "times")),
            transactions={
                name: _number(number) for name, number in _object(fields.get("transactions", {})).items()
            },
            epochs=tuple(_epoch(item) for item in _list(fields, "epochs")) or None,
            follows=_optional_flag(fields, "follows"),
            work=decode_work(_object(fields.get("work", {}))),
        )
    except RecursionError as error:
        raise ValueError("edit is nested too deeply") from error


def _change_to_json(change: TableChange) -> dict[str, object]:
    return {"keyspace": change.keyspace, "level": change.level, "table": change.table.to_json()}


def _segment_to_json(segment: SegmentMeta) -> dict[str, object]:
    fields: dict[str, object] = {
        "number": segment.number,
        "first_seq": segment.first_seq,
        "last_seq": segment.last_seq,
        "size_bytes": segment.size_bytes,
    }
    if segment.last_time_us is not None:
        fields["last_time_us"] = segment.last_time_us
    if segment.tables:
        fields["keyspace"] = segment.keyspace
        fields["tables"] = [table.to_json() for table in segment.tables]
    return fields


def _object(item: Json) -> dict[str, Json]:
    if not isinstance(item, dict):
        raise ValueError(f"an object was due, not {type(item).__name__}")
    return item


def _list(fields: Mapping[str, Json], name: str) -> list[Json]:
    items = fields.get(name, [])
    if not isinstance(items, list):
        raise ValueError(f"{name} must be a list, not {type(items).__name__}")
    return items


def _number(item: Json, limit: int = _NUMBER_MAX) -> int:
    if type(item) is not int or not 0 <= item <= limit:
        raise ValueError(f"a number from 0 to {limit} was due, not {item!r:.40}")
    return item


def _optional_number(fields: Mapping[str, Json], name: str) -> int | None:
    item = fields.get(name)
    return None if item is None else _number(item)


def _optional_flag(fields: Mapping[str, Json], name: str) -> bool | None:
    item = fields.get(name)
    if item is not None and not isinstance(item, bool):
        raise ValueError(f"{name} must be true or false, not {item!r:.40}")
    return item


def _text(item: Json) -> str:
    if not isinstance(item, str):
        raise ValueError(f"text was due, not {type(item).__name__}")
    return item


def _store_id(item: Json) -> bytes | None:
    if item is None:
        return None
    store_id = bytes.fromhex(_text(item))
    if len(store_id) != 16:
        raise ValueError(f"a store id has 16 bytes, not {len(store_id)}")
    return store_id


def _options(item: Json) -> dict[str, OptionValue] | None:
    if item is None:
        return None
    options = _object(item)
    for name, value in options.items():
        if isinstance(value, dict | list):
            raise ValueError(f"option {name:.40} must be a plain value")
    return cast("dict[str, OptionValue]", options)


def _keyspace(fields: dict[str, Json]) -> KeyspaceMeta:
    return KeyspaceMeta(id=_number(fields.get("id")), name=_text(fields.get("name")))


def _change(fields: dict[str, Json]) -> TableChange:
    return TableChange(
        keyspace=_number(fields.get("keyspace")),
        level=_number(fields.get("level"), _LEVEL_MAX),
        table=TableMeta.from_json(_object(fields.get("table"))),
    )


def _segment(fields: dict[str, Json]) -> SegmentMeta:
    return SegmentMeta(
        number=_number(fields.get("number")),
        first_seq=_number(fields.get("first_seq")),
        last_seq=_optional_number(fields, "last_seq"),
        size_bytes=_optional_number(fields, "size_bytes"),
        last_time_us=_optional_number(fields, "last_time_us"),
        keyspace=_optional_number(fields, "keyspace") or 0,
        tables=tuple(TableMeta.from_json(_object(item)) for item in _list(fields, "tables")),
    )


def _time_sample(item: Json) -> TimeSample:
    if not isinstance(item, list) or len(item) != 2:  # a pair
        raise ValueError(f"a pair of numbers was due, not {item!r:.40}")
    return TimeSample(_number(item[0]), _number(item[1]))


def _epoch(item: Json) -> Epoch:
    if not isinstance(item, list) or len(item) != 3:
        raise ValueError(f"a number, a sequence number and a time were due, not {item!r:.40}")
    return Epoch(*map(_number, item))
