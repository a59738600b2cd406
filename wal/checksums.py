"""Checking many records of one length at once.

A call of crc32 for every record costs more than the bytes do.  So the checksum of a whole run is taken with
one call, and compared with what it must be if every record has the checksum that it says it has: checksums
are linear, and those of neighbours combine to that of both (bench: log).
"""

import zlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from wal.record import CRC_BYTES

U32 = npt.NDArray[np.uint32]

_BITS = [1 << bit for bit in range(32)]
_BYTES_OF_U32 = (0, 8, 16, 24)  # shifts


def run_is_whole(run: memoryview, crcs: U32, stride: int, seed: int) -> bool:
    """Tell whether each record of `run`, of `stride` bytes, begins with the checksum of its rest.

    One bad record is found as surely as by its own checksum; several miss each other once in 2**32.
    """
    # Of a good record: the checksum of its first bytes, moved over the rest, and the checksum of the rest.
    # `seed` stands before the rest only where the record's own checksum is taken.
    before_rest = np.array([zlib.crc32(bytes(CRC_BYTES)) ^ seed], np.uint32)
    parts = _shift(_operator(stride), crcs) ^ crcs ^ _shift(_operator(stride - CRC_BYTES), before_rest)
    return _combined(parts, stride) == zlib.crc32(run)


def _combined(parts: U32, stride: int) -> int:
    """Return the checksum of strings of `stride` bytes one after the other, from their own."""
    width = stride
    while len(parts) > 1:
        if len(parts) % 2:
            parts = np.concatenate([parts[:1] * np.uint32(0), parts])  # of nothing, so it changes nothing
        parts = _shift(_operator(width), parts[::2]) ^ parts[1::2]
        width *= 2
    return int(parts[0])


def _shift(operator: U32, crcs: U32) -> U32:
    """Return what checksums become when as many zeros follow as the operator is for."""
    moved: U32 = operator[0][crcs & np.uint32(255)]
    for row, bits in zip(operator[1:], _BYTES_OF_U32[1:], strict=True):
        moved ^= row[crcs >> np.uint32(bits) & np.uint32(255)]
    return moved


@lru_cache(maxsize=256)  # 4 KiB each, some 15 for every length of records
def _operator(zeros: int) -> U32:
    """Return what `zeros` bytes do to a checksum, for each value of each of its four bytes."""
    if zeros % 2 == 0 and zeros > 1024:
        half = _operator(zeros // 2)
        return np.stack([_shift(half, row) for row in half])
    blank = bytes(zeros)
    columns = np.array([zlib.crc32(blank, bit) ^ zlib.crc32(blank) for bit in _BITS], np.uint32)
    values = np.arange(256, dtype=np.uint32)[:, None] >> np.arange(8, dtype=np.uint32) & np.uint32(1)
    return np.stack(
        [np.bitwise_xor.reduce(values * columns[bits : bits + 8], axis=1) for bits in _BYTES_OF_U32]
    )
