"""A mapped file is read through the object behind the view, so that slices are bytes."""

import mmap

import pytest

from sstable.source import Source
from tests.sstable.memory import MemoryFile


class FileWith:
    """A file whose buffer is a given object."""

    size = 8

    def __init__(self, buffer):
        self._buffer = buffer

    def buffer(self):
        return self._buffer

    def pread(self, offset, size):
        return b"from disk"[offset : offset + size]

    def close(self):
        pass


def test_a_map_is_read_in_place():
    with mmap.mmap(-1, 8) as anonymous:
        anonymous[:] = b"abcdefgh"
        view = memoryview(anonymous)
        source = Source(FileWith(view), use_map=True)

        assert source.mapped is anonymous
        assert source.read(2, 3) == b"cde"
        source.close()
        view.release()


@pytest.mark.parametrize(
    "buffer",
    [
        b"abcdefgh",
        memoryview(b"abcdefgh"),
        memoryview(bytearray(b"abcdefgh")),
        memoryview(b"__abcdefgh")[2:],
        memoryview(b"hgfedcba")[::-1],
    ],
    ids=["bytes", "view of bytes", "view of a bytearray", "view of a part", "view from behind"],
)
def test_any_buffer_gives_bytes(buffer):
    source = Source(FileWith(buffer), use_map=True)

    assert type(source.read(2, 3)) is bytes
    assert source.read(2, 3) == b"cde"
    data, start = source.memory(4, 2)
    assert data[start : start + 2] == b"ef"


def test_without_a_map_only_the_bytes_asked_for_are_read():
    file = MemoryFile(b"abcdefgh")
    source = Source(file, use_map=False)

    assert source.read(2, 3) == b"cde"
    assert source.memory(4, 2) == (b"ef", 0)
    assert file.reads == [(2, 3), (4, 2)]


def test_closing_lets_go_of_map_and_file():
    file = MemoryFile(b"abcdefgh")
    source = Source(file, use_map=True)

    source.close()

    assert file.is_closed
    assert source.mapped is None
