"""Before a copy takes anything from a source: is its log the beginning of the source's?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsm.errors import FollowerError, ForeignLog, OffsetOutOfRange
from lsm.follower.lineage import check_source
from lsm.follower.source import first_difference, record_at
from lsm.log.offsets import earliest, latest

if TYPE_CHECKING:
    from lsm.follower.source import SourceLog
    from lsm.version import Version


def meet(copy: SourceLog, source: SourceLog) -> None:
    """Raise unless the store in `copy` may go on with the log of `source`; nothing is changed.

    OffsetOutOfRange says that all is well but for what the source no longer has.
    """
    seq, source_seq = latest(copy), latest(source)
    check_source(copy.version, seq, source.version, names=(copy.fs.name, source.fs.name))
    if seq > source_seq:
        raise ForeignLog(
            f"{copy.fs.name} stands at sequence number {seq}, but {source.fs.name} ends at {source_seq}: "
            "it has lost writes, or is an older copy itself"
        )
    is_proved = _compare(copy, source, seq)
    if not copy.version.follows:
        check_own(source.version, copy.fs.name, is_proved=is_proved)
    if seq < earliest(source.version) - 1:
        raise OffsetOutOfRange(seq, earliest(source.version), source_seq)


def _compare(copy: SourceLog, source: SourceLog, seq: int) -> bool:
    """Raise if the last record of the copy is another one in the source; tell whether both have it."""
    if not seq:
        return True
    ours, theirs = record_at(copy, seq), record_at(source, seq)
    if ours is None or theirs is None:
        return False
    if ours != theirs:
        where = first_difference(copy, source) or ours.first_seq
        raise diverged(copy.fs.name, source.fs.name, where)
    return True


def diverged(here: str, there: str, seq: int) -> ForeignLog:
    """Return the error for two logs that differ though they say that they are one."""
    return ForeignLog(
        f"the logs of {there} and {here} diverged at sequence number {seq}; follow into an empty directory"
    )


def check_own(source: Version, name: str, *, is_proved: bool) -> None:
    """Raise unless a store that was a writer may become a copy: nothing of it may be lost by that.

    That is a checkpoint of the source, or a writer from before the source was promoted.
    """
    if source.follows:
        raise FollowerError(f"{name} is no copy, and what it would follow is one itself; are they swapped?")
    if not is_proved:
        raise FollowerError(
            f"{name} is a store of its own, and the log does not tell any more whether it is a copy; "
            "follow into an empty directory"
        )
