"""What an entry does to its key, and the result that says "deleted"."""

from enum import Enum, IntEnum
from typing import Final, Literal


class Kind(IntEnum):
    """What an entry does to its key.  On disk: the numbers never change."""

    DELETE = 0
    PUT = 1
    # Room in the format: readers of version 1 refuse tables that hold these.
    MERGE = 2
    RANGE_DELETE = 3


class Deleted(Enum):
    """The type of `DELETED`; an Enum so that type checkers narrow `is DELETED`."""

    TOKEN = 0

    def __repr__(self) -> str:
        return "DELETED"


DELETED: Final[Literal[Deleted.TOKEN]] = Deleted.TOKEN
"""Stands for the value where the newest visible entry of a key is a tombstone."""

MAX_SEQ: Final = 2**63 - 1
"""No sequence number is larger: reading at MAX_SEQ sees every entry."""
