"""A stretch of a file: a stored block or a section."""

from typing import NamedTuple


class Extent(NamedTuple):
    """Where bytes are, and their checksum."""

    offset: int
    size: int
    crc: int

    @property
    def stop(self) -> int:
        """Where they end."""
        return self.offset + self.size
