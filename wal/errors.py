"""What can be wrong with a log: first seen from inside one segment, then with a whole directory of them."""

import errno


class LogError(Exception):
    """Base of the log's own errors."""


class SegmentDamaged(LogError):
    """Bytes that were durable once no longer say what they said."""

    def __init__(self, what: str, *, offset: int, last_good_seq: int = 0) -> None:
        super().__init__(f"{what} at byte {offset}")
        self.what = what
        self.offset = offset
        self.last_good_seq = last_good_seq


class SegmentUnsupported(LogError):
    """A segment written by a newer format version."""


class LogNotFound(LogError, LookupError):
    """There is no log at that path, and none was to be made."""


class LogLocked(LogError):
    """Another writer has the log open."""


class LogClosed(LogError, ValueError):
    """The log was closed, or belongs to the process that this one was forked from."""


class LogReadOnly(LogError):
    """The log was opened to be read."""


class PayloadTooLarge(LogError, ValueError):
    """More bytes than one record takes."""


class LogFailed(LogError, OSError):
    """A write or a sync failed, and with it every append since: reopen the log to go on.

    What was acknowledged is safe.  An append that raised this may or may not be found in the reopened log.
    """

    def __init__(self, path: str, cause: BaseException) -> None:
        number = (cause.errno if isinstance(cause, OSError) else None) or errno.EIO
        super().__init__(number, f"{path}: a write failed ({cause!r}); close the log and open it again")


class OffsetOutOfRange(LogError, LookupError):
    """The log does not hold that offset; what it holds is `earliest` to `latest`, both inclusive."""

    def __init__(self, requested: int, earliest: int, latest: int) -> None:
        held = f"it holds {earliest} to {latest}" if earliest <= latest else f"it is empty at {earliest}"
        super().__init__(f"offset {requested} is not in the log: {held}")
        self.requested = requested
        self.earliest = earliest
        self.latest = latest


class OffsetGone(OffsetOutOfRange):
    """The offset was trimmed, or fell out of retention."""


class LogDamaged(LogError):
    """A file of the log does not hold what it once held: which one, where, and what can still be read.

    Entries up to `last_good` can be read; behind the damage, the next segment begins with `next_good`.
    """

    def __init__(self, path: str, what: str, *, byte: int, last_good: int, next_good: int | None) -> None:
        rest = "nothing after it" if next_good is None else f"and again from {next_good} on"
        super().__init__(f"{path}: {what} at byte {byte}; readable up to offset {last_good}, {rest}")
        self.path = path
        self.what = what
        self.byte = byte
        self.last_good = last_good
        self.next_good = next_good
