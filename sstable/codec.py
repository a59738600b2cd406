"""Compression of blocks.  Output is never larger than the plain length that the table declares."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import ModuleType

from sstable.errors import UnsupportedTable
from sstable.options import Compression


class Codec(IntEnum):
    """How the bytes of a block are stored.  On disk: the numbers never change."""

    NONE = 0
    ZLIB = 1
    LZ4 = 2
    ZSTD = 3


class BadStream(Exception):
    """Bytes that no compressor has made, or that expand to another length than declared."""


# Best case of each format: more plain bytes than this times the stored ones cannot be true,
# so the memory for them need not be asked for.
_RATIO_MAX = {Codec.NONE: 1, Codec.ZLIB: 1040, Codec.LZ4: 256, Codec.ZSTD: 1 << 17}
_ZLIB_LEVEL = 6
_ZSTD_LEVEL = 3


def codec_named(compression: Compression) -> Codec:
    """The codec of an option, with its library at hand."""
    codec = Codec[compression.upper()]
    compress(codec, b"")
    return codec


def known_codec(number: int) -> Codec:
    """The codec of a stored number."""
    try:
        return Codec(number)
    except ValueError:
        raise UnsupportedTable(f"codec {number} is not known to this version") from None


def compress(codec: Codec, plain: bytes) -> bytes:
    """Stored form of `plain`."""
    if codec is Codec.ZLIB:
        return zlib.compress(plain, _ZLIB_LEVEL)
    if codec is Codec.LZ4:
        return bytes(_lz4_block().compress(plain, store_size=False))
    if codec is Codec.ZSTD:
        return bytes(_zstandard().ZstdCompressor(level=_ZSTD_LEVEL).compress(plain))
    return plain


def decompress(codec: Codec, stored: bytes, plain_bytes: int) -> bytes:
    """Plain form of `stored`, which must come to exactly `plain_bytes`."""
    if plain_bytes > len(stored) * _RATIO_MAX[codec]:
        raise BadStream(f"{len(stored)} bytes of {codec.name.lower()} cannot hold {plain_bytes}")
    plain = _EXPAND[codec](stored, plain_bytes)
    if len(plain) != plain_bytes:
        raise BadStream(f"{len(plain)} bytes where {plain_bytes} were declared")
    return plain


def _expand_none(stored: bytes, _: int) -> bytes:
    return stored


def _expand_zlib(stored: bytes, plain_bytes: int) -> bytes:
    stream = zlib.decompressobj()
    try:
        # One byte more than declared: a longer stream shows itself without being expanded.
        plain = stream.decompress(stored, plain_bytes + 1)
    except zlib.error as error:
        raise BadStream(str(error)) from error
    if not stream.eof or stream.unused_data:
        raise BadStream("zlib stream does not end with the block")
    return plain


def _expand_lz4(stored: bytes, plain_bytes: int) -> bytes:
    lz4_block = _lz4_block()
    try:
        return bytes(lz4_block.decompress(stored, uncompressed_size=plain_bytes))
    except lz4_block.LZ4BlockError as error:
        raise BadStream(str(error)) from error


def _expand_zstd(stored: bytes, plain_bytes: int) -> bytes:
    zstandard = _zstandard()
    try:
        # The library trusts the length in the frame before its own limit, so that one is checked first.
        if zstandard.frame_content_size(stored) != plain_bytes:
            raise BadStream("zstd frame declares another length than the block index")
        decompressor = zstandard.ZstdDecompressor(max_window_size=max(1024, plain_bytes))
        return bytes(decompressor.decompress(stored, max_output_size=plain_bytes, allow_extra_data=False))
    except zstandard.ZstdError as error:
        raise BadStream(str(error)) from error


_EXPAND = {
    Codec.NONE: _expand_none,
    Codec.ZLIB: _expand_zlib,
    Codec.LZ4: _expand_lz4,
    Codec.ZSTD: _expand_zstd,
}


def _lz4_block() -> ModuleType:
    with _naming_the_extra(Codec.LZ4):
        import lz4.block
    return lz4.block  # type: ignore[no-any-return]  # lz4 ships no types


def _zstandard() -> ModuleType:
    with _naming_the_extra(Codec.ZSTD):
        import zstandard
    return zstandard


@contextmanager
def _naming_the_extra(codec: Codec) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        name = codec.name.lower()
        raise UnsupportedTable(f"{name} needs a library that comes with the extra `compression`") from error
