"""Where a log is read from: which segments there are, and how far they may be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    import wal
    from lsm.clock import Clock
    from lsm.fs_types import FileSystem
    from lsm.version import SegmentMeta, Version

SETTLE_SECONDS = 0.05
"""A reader that waits makes the writer's unsynced writes durable itself after so long without a sync."""
SEQ_MAX = 2**63 - 1


class Shown(NamedTuple):
    """Records that end at or before byte `position`, and whose last entry is at most `seq`, may be shown.

    `is_known`: there are whole records up to that byte; else it is only where the file ended.
    """

    position: int
    seq: int
    is_known: bool


class LogSource(Protocol):
    """What reading a log needs to know of its store."""

    fs: FileSystem
    clock: Clock

    @property
    def version(self) -> Version:
        """The store's files, as far as this source has looked."""

    def refresh(self) -> None:
        """Look again which files there are."""

    def shown(self, meta: SegmentMeta) -> Shown:
        """Return how much of an unfinished segment is durable and visible."""

    def sample(self, meta: SegmentMeta) -> tuple[int, int] | None:
        """Return a sequence number near the end of an unfinished segment, and the byte it begins at."""

    def is_newest(self, meta: SegmentMeta) -> bool:
        """Tell whether an unfinished segment is the one being written, without looking at the manifest."""

    def index(self, meta: SegmentMeta) -> wal.SparseIndex | None:
        """Return where things are in an unfinished segment, as far as that is known."""

    def note(self, meta: SegmentMeta, records: wal.Records, start: int) -> None:
        """Hear of records that were read from byte `start` of an unfinished segment on."""

    def settle(self) -> int:
        """Make everything that is visible durable; return its last sequence number."""

    def wait(self, seconds: float) -> None:
        """Return when there may be more to show, or after so long."""

    def check_open(self) -> None:
        """Raise if the store was closed."""

    def close(self) -> None:
        """Give back what waiting needed."""
