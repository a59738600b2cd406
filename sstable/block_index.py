"""The block index: one handle and one key for each data block.  See FORMAT.md."""

import struct
from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sstable.align import ALIGNMENT
from sstable.arrays import IndexArray
from sstable.errors import CorruptTable
from sstable.extent import Extent

# On disk: changing a line below needs a new format version.
_HEAD = struct.Struct("<Q")
_HANDLE = np.dtype(
    [
        ("stored_bytes", "<u4"),
        ("plain_bytes", "<u4"),
        ("crc", "<u4"),
        ("entries", "<u4"),
        ("distinct_keys", "<u4"),
        ("last_key_bytes", "<u4"),
        ("codec", "<u4"),
    ]
)


class BlockHandle(NamedTuple):
    """What is known of a block before it is read; fields as on disk."""

    stored_bytes: int
    plain_bytes: int
    crc: int
    entries: int
    distinct_keys: int
    last_key_bytes: int
    codec: int


class BlockIndex:
    """Handles and last keys of all blocks, in file order."""

    __slots__ = ("_handles", "last_keys", "offsets")

    def __init__(self, handles: "np.ndarray[tuple[int], np.dtype[np.void]]", last_keys: list[bytes]) -> None:
        self._handles = handles
        self.last_keys = last_keys
        # Blocks follow each other from the start of the file, so their places need not be stored
        # and no table can claim blocks that overlap.
        sizes = handles["stored_bytes"].astype(np.int64)
        self.offsets: IndexArray = np.concatenate([[0], np.cumsum(sizes + -sizes % ALIGNMENT)])

    def __len__(self) -> int:
        return len(self.last_keys)

    def handle(self, number: int) -> BlockHandle:
        """Handle of one block."""
        return BlockHandle(*self._handles[number].item())

    def extent(self, number: int, handle: BlockHandle | None = None) -> Extent:
        """Where one block is stored; its handle need not be made again where it is at hand."""
        handle = handle or self.handle(number)
        return Extent(int(self.offsets[number]), handle.stored_bytes, handle.crc)

    def total(self, field: str) -> int:
        """Sum of one field over all blocks."""
        return int(self._handles[field].sum(dtype=np.uint64))

    @property
    def longest_block(self) -> int:
        """Entries of the block that has most."""
        return int(self._handles["entries"].max())

    @property
    def longest_plain(self) -> int:
        """Plain length of the block where it is largest."""
        return int(self._handles["plain_bytes"].max())

    def seek(self, key: bytes) -> int:
        """Number of the first block whose last key is not below `key`."""
        return bisect_left(self.last_keys, key)

    def split_keys(self, parts: int) -> list[bytes]:
        """Up to `parts` - 1 keys, in order, that cut the blocks into runs of about equal bytes."""
        ends = self.offsets[1:]
        wanted = np.arange(1, parts) * ends[-1] / parts
        numbers = np.unique(np.searchsorted(ends, wanted))
        # The smallest key behind a block: ranges do not contain their stop.
        return [self.last_keys[number] + b"\0" for number in numbers.tolist() if number < len(self) - 1]


def encode_block_index(handles: Sequence[BlockHandle], last_keys: Sequence[bytes]) -> bytes:
    """Bytes of the section."""
    return b"".join([_HEAD.pack(len(handles)), np.array(list(handles), _HANDLE).tobytes(), *last_keys])


def decode_block_index(section: bytes, *, offset: int) -> BlockIndex:
    """The block index found at `offset`, with at least one block."""
    count = _HEAD.unpack_from(section)[0] if len(section) >= _HEAD.size else 0
    if not 0 < count <= (len(section) - _HEAD.size) // _HANDLE.itemsize:
        raise CorruptTable("block index cannot hold that many blocks", offset=offset)
    handles = np.frombuffer(section, _HANDLE, count, _HEAD.size)
    keys = section[_HEAD.size + handles.nbytes :]
    ends = np.cumsum(handles["last_key_bytes"], dtype=np.int64).tolist()
    if ends[-1] != len(keys):
        raise CorruptTable("last keys do not fill the block index", offset=offset)
    return BlockIndex(handles, [keys[start:stop] for start, stop in zip([0, *ends], ends, strict=False)])
