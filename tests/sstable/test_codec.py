"""Compressed bytes come back exactly, or not at all."""

import builtins
import sys
import tracemalloc
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstable import UnsupportedTable
from sstable.codec import BadStream, Codec, codec_named, compress, decompress, known_codec

MIB = 1 << 20
COMPRESSING = [Codec.ZLIB, Codec.LZ4, Codec.ZSTD]
every_codec = pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name.lower())
every_compression = pytest.mark.parametrize("codec", COMPRESSING, ids=lambda codec: codec.name.lower())


@every_codec
@given(
    plain=st.one_of(st.binary(max_size=200), st.binary(min_size=1, max_size=4).map(lambda part: part * 5000))
)
def test_plain_bytes_come_back(codec, plain):
    assert decompress(codec, compress(codec, plain), len(plain)) == plain


@every_compression
@pytest.mark.parametrize("size", [1, 1000, 70_000, 3 * MIB])
def test_blocks_of_all_sizes_come_back(codec, size):
    plain = bytes(range(256)) * (size // 256 + 1)

    assert decompress(codec, compress(codec, plain[:size]), size) == plain[:size]


@every_codec
@pytest.mark.parametrize("difference", [-1, 1, 5000])
def test_another_length_than_declared_is_refused(codec, difference):
    plain = b"abcdefgh" * 1000

    with pytest.raises(BadStream):
        decompress(codec, compress(codec, plain), len(plain) + difference)


@every_compression
def test_bytes_behind_the_stream_are_refused(codec):
    plain = b"abcdefgh" * 1000

    with pytest.raises(BadStream):
        decompress(codec, compress(codec, plain) + b"\0", len(plain))


@every_compression
def test_half_a_stream_is_refused(codec):
    plain = b"abcdefgh" * 1000
    stored = compress(codec, plain)

    for size in range(len(stored)):
        with pytest.raises(BadStream):
            decompress(codec, stored[:size], len(plain))


@every_compression
@given(stored=st.binary(max_size=100), plain_bytes=st.integers(0, 2**30))
def test_noise_is_refused_or_has_the_declared_length(codec, stored, plain_bytes):
    with suppress(BadStream):
        assert len(decompress(codec, stored, plain_bytes)) == plain_bytes


@every_compression
def test_a_bomb_is_not_set_off(codec):
    bomb = compress(codec, bytes(64 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(BadStream):
            decompress(codec, bomb, 1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < MIB


@every_compression
def test_memory_is_not_asked_for_on_the_word_of_a_few_bytes(codec):
    with pytest.raises(BadStream, match="cannot hold"):
        decompress(codec, compress(codec, b"x"), 2**30)


def test_two_streams_are_not_one_block():
    with pytest.raises(BadStream):
        decompress(Codec.ZLIB, zlib.compress(b"a" * 50) + zlib.compress(b"b" * 50), 100)


def test_codecs_have_the_names_of_the_option():
    assert [codec_named(name) for name in ("none", "zlib", "lz4", "zstd")] == list(Codec)


def test_numbers_of_unknown_codecs_are_refused_as_newer():
    with pytest.raises(UnsupportedTable, match="codec 9"):
        known_codec(9)


@pytest.mark.parametrize(("name", "module"), [("lz4", "lz4"), ("zstd", "zstandard")])
def test_a_missing_library_names_the_extra_to_install(name, module, monkeypatch):
    def refuse(wanted, *args, real=builtins.__import__, **kwargs):
        if wanted.split(".")[0] == module:
            raise ModuleNotFoundError(wanted)
        return real(wanted, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    monkeypatch.delitem(sys.modules, module, raising=False)

    with pytest.raises(UnsupportedTable, match=f"{name}.*`compression`"):
        codec_named(name)
    with pytest.raises(UnsupportedTable, match=f"{name}.*`compression`"):
        decompress(Codec[name.upper()], b"stored", 6)
