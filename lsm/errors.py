"""Every error a user can meet, in one tree.

Each also inherits the standard-library class that a Python programmer would catch anyway.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager


class Error(Exception):
    """Base of everything this package raises on purpose."""


class InvalidArgument(Error, ValueError):
    """A key, value, range or option that cannot be used, with what would be right."""


class InvalidType(InvalidArgument, TypeError):
    """Something that is not bytes where bytes are due."""


class MalformedFile(InvalidArgument):
    """A file that cannot be imported; nothing of it is there."""

    def __init__(self, path: str, what: str, *, line: int | None = None) -> None:
        super().__init__(f"{path}: {what}" if line is None else f"{path}, line {line:,}: {what}")
        self.path = path
        self.line = line


class FileExists(Error, FileExistsError):
    """A file is where an export was to go."""


class MissingExtra(Error, ImportError):
    """Something that is optional is needed, and not installed; the message says how to install it."""


class ClosedError(Error, ValueError):
    """Use of a store, snapshot or batch after it was closed."""


class ForkedError(ClosedError):
    """Use of a handle in a child process; the child must open the store for itself."""


class StoreNotFound(Error, FileNotFoundError):
    """No store at this path, and the flag did not allow to create one."""


class NotAStore(Error, OSError):
    """The path is no directory, or holds files that are not ours."""


class LockedError(Error, OSError):
    """Another handle has the store open for writing."""

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(
            errno.EWOULDBLOCK,
            f"{path} is open for writing by {holder or 'another process'}; "
            'close it there, or read beside it with lsm.open(path, "r")',
        )
        self.path = path
        self.holder = holder


class UnsupportedFormat(Error):
    """The store was written by newer software."""


class CorruptionError(Error, OSError):
    """Bytes on disk contradict their checksum, their order or each other."""

    def __init__(self, path: str, what: str, *, offset: int | None = None, advice: str = "") -> None:
        where = path if offset is None else f"{path}, byte {offset}"
        super().__init__(errno.EIO, f"{where}: {what}" + (f"; {advice}" if advice else ""))
        self.path = path
        self.offset = offset
        self.what = what


class LogCorrupt(CorruptionError):
    """A log segment is damaged or missing; `last_good_seq` is the last write before the damage."""

    last_good_seq: int = 0


class ManifestCorrupt(CorruptionError):
    """The manifest, or the file that names it, is damaged or missing."""


class TableCorrupt(CorruptionError):
    """A table is damaged or missing."""


class StreamCorrupt(CorruptionError):
    """A shipped log is damaged, cut short or none at all; everything before `offset` has been applied."""


class StorageError(Error, OSError):
    """The operating system refused to read or write; the message says what and where."""


class DiskFull(Error, OSError):
    """No space left; nothing acknowledged is lost, and reads go on."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(
            errno.ENOSPC, f"{path}: no space left while {what}; free some space, then call resume()"
        )
        self.path = path


@contextmanager
def typed_errors(path: str, doing: str) -> Iterator[None]:
    """Turn what the operating system says into one of our errors, with the path and what was being done."""
    try:
        yield
    except Error:
        raise
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(path, doing) from error
        raise StorageError(error.errno or errno.EIO, f"{path}: {error} while {doing}") from error


class CommitUncertain(Error, OSError):
    """The log could not be written or synced: whether this write survives is known only after reopening."""


class WriteInterrupted(CommitUncertain):
    """A write was interrupted, as by Ctrl-C, on its way into the log; the next one starts a new segment."""


class ReadOnlyError(Error, OSError):
    """A write to a handle that cannot write; the message says why and what to do."""


class BackgroundError(ReadOnlyError):
    """Flush or compaction failed; the store reads on, but takes no writes until it is reopened."""


class KeyspaceNotFound(Error, LookupError):
    """No keyspace of this name."""


class OffsetOutOfRange(Error, LookupError):
    """A sequence number outside the retained log; nothing is ever skipped silently."""

    def __init__(self, requested: int, earliest: int, latest: int) -> None:
        super().__init__(f"sequence number {requested} is outside the retained log [{earliest}, {latest}]")
        self.requested = requested
        self.earliest = earliest
        self.latest = latest


class ForeignLog(Error, ValueError):
    """A position, a file or a stream that belongs to another log: another store, or another epoch of it."""


class ConsumerNotFound(Error, LookupError):
    """No consumer of this name."""


class ConsumerBusy(Error, OSError):
    """A consumer of this name is in use, here or in another process."""


class ConsumerDropped(Error, LookupError):
    """A consumer fell further behind than its cap allows; the log no longer waits for it.

    `seek` takes it up again, from where the log still is.
    """

    def __init__(self, name: str, position: int, earliest: int, latest: int) -> None:
        super().__init__(
            f"consumer {name!r} was dropped at sequence number {position}: it fell behind its cap; "
            f"the log now holds [{earliest}, {latest}]: seek() to go on from there"
        )
        self.name = name
        self.position = position
        self.earliest = earliest
        self.latest = latest


class ViewNotFound(Error, LookupError):
    """No view of this name."""


class ViewFailed(Error, RuntimeError):
    """The fold of a view raised; everything before `seq` is in the view, and nothing is lost."""

    def __init__(self, view: str, seq: int, cause: str) -> None:
        super().__init__(f"view {view!r} stopped at sequence number {seq}: {cause}")
        self.view = view
        self.seq = seq


class FollowerError(Error, RuntimeError):
    """A copy cannot follow its source; the message says why and what to do."""
