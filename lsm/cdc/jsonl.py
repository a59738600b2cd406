"""The plain form: one JSON object a change, with the fields of `lsm.Change`."""

import json

from lsm.cdc.json_bytes import from_json, to_json
from lsm.cdc.rows import Row
from lsm.changes import Change
from lsm.errors import InvalidArgument

# One encoder for all lines: `json.dumps` with separators would make one for each.
_encode = json.JSONEncoder(separators=(",", ":")).encode
_READ = "read"


class JsonLines:
    """Changes as plain JSON; with `before`, each says what its key had been."""

    def __init__(self, *, before: bool = False) -> None:
        self._before = before

    def change(self, change: Change) -> tuple[bytes, ...]:
        """Return the line of a change."""
        fields: dict[str, object] = {
            "seq": change.seq,
            "time": change.time,
            "kind": change.kind,
            "keyspace": change.keyspace,
            "key": to_json(change.key),
            "value": None if change.value is None else to_json(change.value),
            "batch": {"first_seq": change.batch_first_seq, "count": change.batch_count},
        }
        if self._before:
            fields["before"] = None if change.before is None else to_json(change.before)
        return (_encode(fields).encode(),)

    def row(self, row: Row, *, is_last: bool) -> tuple[bytes, ...]:
        """Return the line of a row of a snapshot, which belongs to no batch."""
        fields = {
            "seq": row.seq,
            "time": row.time,
            "kind": _READ,
            "keyspace": row.keyspace,
            "key": to_json(row.key),
            "value": to_json(row.value),
            "batch": None,
        }
        return (_encode(fields).encode(),)


def from_line(line: bytes | str) -> Change | Row:
    """Return what a line stands for; InvalidArgument if it is none of ours, as one cut short is not."""
    try:
        return _parse(json.loads(line))
    except KeyError as error:
        raise InvalidArgument(f"a change without {error}") from error
    except (TypeError, ValueError) as error:  # not JSON, or JSON of something else
        raise InvalidArgument(f"not a change: {error}") from error


def _parse(fields: dict[str, object]) -> Change | Row:
    seq, time = _number(fields["seq"]), _number(fields["time"])
    key, keyspace = from_json(fields["key"]), fields["keyspace"]
    value = None if fields["value"] is None else from_json(fields["value"])
    if not isinstance(keyspace, str):
        raise ValueError(f"keyspace {keyspace!r:.60} is not a string")
    match fields["kind"], value, fields["batch"]:
        case "read", bytes(), None:
            return Row(seq, time, key, value, keyspace)
        case ("put" | "delete" as kind, _, dict(batch)) if (kind == "put") == (value is not None):
            first_seq, count = _number(batch["first_seq"]), _number(batch["count"])
            before = None if fields.get("before") is None else from_json(fields["before"])
            return Change(seq, time, kind, key, value, keyspace, first_seq, count, before)
    raise ValueError(f"kind {fields['kind']!r:.60} does not go with this value and batch")


def _number(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError(f"{value!r:.60} is not a whole number")
