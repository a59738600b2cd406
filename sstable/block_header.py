"""The header of a data block, and where it puts the columns.  See FORMAT.md."""

import struct
from itertools import accumulate
from typing import NamedTuple

from sstable.align import aligned
from sstable.kind import MAX_SEQ

# On disk: changing a line below needs a new format version.
HEADER = struct.Struct("<IBBHIIIIQQ")
VARIABLE = 2**32 - 1  # Width of a column whose strings differ in length: offsets stand before it.
MIXED = 255  # Kind of a block with a column of kinds.
PLAIN_BYTES_MAX = 1 << 30
OFFSET_BYTES = 4
_SEQ_WIDTHS = (0, 1, 2, 4, 4, 8, 8, 8, 8)  # By how many bytes a span takes.


class BlockHeader(NamedTuple):
    """The fixed part of a block in their order on disk."""

    entries: int
    flags: int
    kind: int
    reserved: int
    key_width: int
    value_width: int
    key_bytes: int
    value_bytes: int
    seq_min: int
    seq_span: int

    @property
    def seq_width(self) -> int:
        """Bytes of one sequence number, stored as its distance from `seq_min`."""
        return seq_width(self.seq_span)

    def column_sizes(self) -> tuple[int, int, int, int, int, int]:
        """Bytes of key offsets, keys, seqs, kinds, value offsets and values, without padding."""
        offsets = (self.entries + 1) * OFFSET_BYTES
        return (
            offsets if self.key_width == VARIABLE else 0,
            self.key_bytes,
            self.entries * self.seq_width,
            self.entries if self.kind == MIXED else 0,
            offsets if self.value_width == VARIABLE else 0,
            self.value_bytes,
        )

    def column_starts(self, start: int) -> tuple[int, ...]:
        """Where the six columns of a block that starts at `start` begin, and where it stops."""
        return tuple(accumulate(map(aligned, self.column_sizes()), initial=start + HEADER.size))

    def fault(self, plain_bytes: int, length: int | None = None) -> str | None:
        """Why this cannot be the header of a block of `plain_bytes`, or None.

        `length` is what its columns take, for callers that have located them already.
        """
        if self.entries < 1:
            return "block without entries"
        for name, width, total in (
            ("key", self.key_width, self.key_bytes),
            ("value", self.value_width, self.value_bytes),
        ):
            if width != VARIABLE and width * self.entries != total:
                return f"{name} width contradicts {name} bytes"
        if self.seq_min + self.seq_span > MAX_SEQ:
            return "sequence numbers beyond 2^63"
        # Entries that differ in nothing cannot be: without this, a few bytes could claim billions of them.
        if self.entries > 1 and self.key_width == 0 and self.seq_span == 0:
            return "block repeats one entry"
        if (self.column_starts(0)[-1] if length is None else length) != plain_bytes:
            return "block header contradicts block length"
        return None


def seq_width(span: int) -> int:
    """Bytes that hold every number up to `span`: 0, 1, 2, 4 or 8."""
    return _SEQ_WIDTHS[(span.bit_length() + 7) // 8]
