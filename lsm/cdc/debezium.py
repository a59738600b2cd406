"""Changes in the envelope of Debezium: `before`, `after`, `op`, `source`, `transaction` and times.

A store writes without reading.  Without the previous value nobody knows whether a put made a key or
changed one; every put is then `c`, which needs nothing but the row as it is now, while a `u` without
`before` is refused by known readers of the envelope.  With `before` both are told apart.  A deletion carries
its key in `before` in any case, as PostgreSQL does for tables of default replica identity.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import TypeAlias

from lsm.cdc.connect import Schema, collection_name, envelope_schema, key_schema
from lsm.cdc.json_bytes import to_base64
from lsm.cdc.rows import Row
from lsm.changes import Change
from lsm.errors import InvalidArgument

CONNECTOR = "lsm"
Json: TypeAlias = dict[str, object]

# One encoder for all lines: `json.dumps` with separators would make one for each.
_encode = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where events come from: a logical name, the store's directory, and which log it is."""

    name: str
    db: str
    store_id: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What events look like.

    `before`: changes come with the previous value, so that `c` and `u` differ.
    `schema`: every event is wrapped with its schema, as {"schema": ..., "payload": ...}.
    `keys`: every line is {"key": ..., "value": ...}, the two halves of a message.
    `tombstones`: a deletion is followed by a message of its key and null; only with `keys`.
    `text`: keys and values are UTF-8 strings instead of base64; other bytes are an error.
    `batches`: changes come in whole batches, so that their place in the batch means something.
    """

    before: bool = False
    schema: bool = False
    keys: bool = False
    tombstones: bool = False
    text: bool = False
    batches: bool = True

    def __post_init__(self) -> None:
        if self.tombstones and not self.keys:
            raise InvalidArgument("a tombstone is a key without a value: tombstones need keys")


class Debezium:
    """Turns changes into events.  It counts places in a batch, so one serves one stream, in order."""

    def __init__(
        self, origin: Origin, shape: Shape | None = None, *, now_ns: Callable[[], int] = time.time_ns
    ) -> None:
        self._origin = origin
        self._shape = shape or Shape()
        self._now_ns = now_ns
        self._batch_first_seq = 0
        self._orders: Counter[str] = Counter()
        self._bytes_type = "string" if self._shape.text else "bytes"

    def change(self, change: Change) -> tuple[bytes, ...]:
        """Return the lines of a change: one, or two for a deletion with its tombstone."""
        order = self.count(change)
        key = self._bytes(change.key, "key", change.seq)
        event: Json = {
            "before": self._before(change, key),
            "after": None
            if change.value is None
            else {"key": key, "value": self._bytes(change.value, "value", change.seq)},
            "source": self._source(change.seq, change.time, change.keyspace)
            | {"batch_first_seq": change.batch_first_seq, "batch_count": change.batch_count}
            | {"sequence": _encode([str(change.batch_first_seq - 1), str(change.seq)])},
            "transaction": {
                "id": f"{self._origin.epoch}:{change.batch_first_seq}",
                "total_order": change.seq - change.batch_first_seq + 1,
                "data_collection_order": order,
            }
            if self._shape.batches
            else None,
            "op": self._op(change),
            **_times(self._now_ns()),
        }
        line = self._line(change.keyspace, key, event)
        if change.value is None and self._shape.tombstones:
            return line, self._line(change.keyspace, key, None)
        return (line,)

    def row(self, row: Row, *, is_last: bool) -> tuple[bytes, ...]:
        """Return the line of a row of a snapshot."""
        key = self._bytes(row.key, "key", row.seq)
        event: Json = {
            "before": None,
            "after": {"key": key, "value": self._bytes(row.value, "value", row.seq)},
            "source": self._source(row.seq, row.time, row.keyspace)
            | {"snapshot": "last" if is_last else "true"}
            | {"sequence": _encode([str(row.seq), None])},
            "transaction": None,
            "op": "r",
            **_times(self._now_ns()),
        }
        return (self._line(row.keyspace, key, event),)

    def count(self, change: Change) -> int:
        """Return the place of a change among those of its batch and keyspace.

        Whoever starts in the middle of a batch counts what came before, and throws the numbers away.
        """
        if change.batch_first_seq != self._batch_first_seq:
            self._batch_first_seq = change.batch_first_seq
            self._orders.clear()
        self._orders[change.keyspace] += 1
        return self._orders[change.keyspace]

    def _op(self, change: Change) -> str:
        if change.value is None:
            return "d"
        return "u" if self._shape.before and change.before is not None else "c"

    def _before(self, change: Change, key: str) -> Json | None:
        before = change.before if self._shape.before else None
        if before is None:
            return {"key": key, "value": None} if change.value is None else None
        return {"key": key, "value": self._bytes(before, "previous value", change.seq)}

    def _source(self, seq: int, time_us: int, keyspace: str) -> Json:
        return {
            "version": _version(),
            "connector": CONNECTOR,
            "name": self._origin.name,
            "ts_ms": time_us // 1000,
            "snapshot": "false",
            "db": self._origin.db,
            "sequence": None,
            "ts_us": time_us,
            "ts_ns": time_us * 1000,
            "table": keyspace,
            "keyspace": keyspace,
            "seq": seq,
            "batch_first_seq": None,
            "batch_count": None,
            "store_id": self._origin.store_id,
            "epoch": self._origin.epoch,
        }

    def _bytes(self, data: bytes, what: str, seq: int) -> str:
        if not self._shape.text:
            return to_base64(data)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise InvalidArgument(f"the {what} of sequence number {seq} is not UTF-8: {error}") from error

    def _line(self, keyspace: str, key: str, event: Json | None) -> bytes:
        collection = collection_name(self._origin.name, keyspace)
        value = "null" if event is None else _encode(event)
        if self._shape.schema and event is not None:
            value = _wrapped(_encoded_schema(collection, self._bytes_type, is_key=False), value)
        if not self._shape.keys:
            return value.encode()
        key_part = _encode({"key": key})
        if self._shape.schema:
            key_part = _wrapped(_encoded_schema(collection, self._bytes_type, is_key=True), key_part)
        return f'{{"key":{key_part},"value":{value}}}'.encode()


def _wrapped(schema: str, payload: str) -> str:
    return f'{{"schema":{schema},"payload":{payload}}}'


@lru_cache(maxsize=1024)  # the schema is most of a line, and there is one for each keyspace
def _encoded_schema(collection: str, bytes_type: str, *, is_key: bool) -> str:
    make: Callable[[str, str], Schema] = key_schema if is_key else envelope_schema
    return _encode(make(collection, bytes_type))


def _times(now_ns: int) -> Json:
    return {"ts_ms": now_ns // 1_000_000, "ts_us": now_ns // 1000, "ts_ns": now_ns}


@lru_cache(maxsize=1)
def _version() -> str:
    try:
        return version("lsmlog")
    except PackageNotFoundError:  # run from a source tree that was never installed
        return "0"
