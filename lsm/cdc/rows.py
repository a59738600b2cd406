"""What every format can put on lines: a change, and a row of a snapshot."""

from typing import NamedTuple, Protocol

from lsm.changes import Change


class Row(NamedTuple):
    """One pair of a snapshot: what `key` was at sequence number `seq`, read at `time` (microseconds)."""

    seq: int
    time: int
    key: bytes
    value: bytes
    keyspace: str


class Format(Protocol):
    """Turns what happened into lines without their ends; one change can take more than one line."""

    def change(self, change: Change) -> tuple[bytes, ...]: ...

    def row(self, row: Row, *, is_last: bool) -> tuple[bytes, ...]: ...
