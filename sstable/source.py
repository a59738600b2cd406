"""The bytes of a table's file: mapped, or read piece by piece."""

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from mmap import mmap

Data: TypeAlias = "bytes | mmap"
"""Memory whose slices are bytes objects; slices of a memoryview are not, and cost twice as much."""


class ReadFile(Protocol):
    """All that a reader asks of a file."""

    @property
    def size(self) -> int:
        """Length in bytes."""

    def pread(self, offset: int, size: int, /) -> bytes:
        """Exactly `size` bytes from `offset`, or OSError."""

    def buffer(self) -> memoryview | bytes:
        """The whole file, read-only, mapped where possible."""

    def close(self) -> None:
        """Let go of the file."""


class Source:
    """A file of a known size, mapped or not."""

    __slots__ = ("_file", "mapped")

    def __init__(self, file: ReadFile, *, use_map: bool) -> None:
        self._file = file
        self.mapped: Data | None = _sliceable(file.buffer()) if use_map else None

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes from `offset`, which the caller has checked against the size of the file."""
        if self.mapped is None:
            return self._file.pread(offset, size)
        return self.mapped[offset : offset + size]

    def memory(self, offset: int, size: int) -> tuple[Data, int]:
        """Memory that holds those bytes, and where in it: all of the map, or just the bytes."""
        if self.mapped is None:
            return self._file.pread(offset, size), 0
        return self.mapped, offset

    def close(self) -> None:
        """Let go of the map and the file."""
        self.mapped = None
        self._file.close()


def _sliceable(buffer: memoryview | bytes) -> Data:
    """The object behind a view, where the view is all of it and its slices are bytes; else a copy."""
    if not isinstance(buffer, memoryview):
        return buffer
    behind: Any = buffer.obj  # A view does not tell the type of what it shows.
    if not buffer.c_contiguous or not hasattr(behind, "__getitem__") or len(behind) != buffer.nbytes:
        return buffer.tobytes()
    whole: Data = behind if isinstance(behind[:0], bytes) else buffer.tobytes()
    return whole
