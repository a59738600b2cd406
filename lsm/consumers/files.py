"""The files of consumers: positions of those outside the writer, the word that one was dropped, and locks.

A file is replaced whole: written under another name, synced, renamed, and the directory synced.  So it holds
the old record or the new one after a crash, and never a part.  Position files are written under the lock of
the consumer; the word that it was dropped by the writer only.
"""

from collections import defaultdict
from contextlib import suppress
from typing import Literal

from lsm.consumers.record import LINE_BYTES_MAX, BadRecord, Record, decode_line, encode_line
from lsm.errors import ConsumerBusy, CorruptionError, typed_errors
from lsm.filenames import ConsumerFile, consumer_name, parse_consumer
from lsm.fs import this_process
from lsm.fs_types import Cause, FileSystem, Lock, LockHeld

Kind = Literal["json", "dropped"]
KINDS: tuple[Kind, ...] = ("json", "dropped")
_TEMPORARY: dict[Kind, ConsumerFile] = {"json": "json.tmp", "dropped": "dropped.tmp"}


class ConsumerFiles:
    """The files of all consumers of one store, in its directory."""

    def __init__(self, fs: FileSystem) -> None:
        self.fs = fs

    def names(self) -> dict[str, set[ConsumerFile]]:
        """Return which consumers have which files."""
        found: defaultdict[str, set[ConsumerFile]] = defaultdict(set)
        for name in self.fs.list():
            parsed = parse_consumer(name)
            if parsed is not None:
                found[parsed[0]].add(parsed[1])
        return found

    def has(self, consumer: str, kind: Kind) -> bool:
        """Tell whether there is such a file, whatever it holds."""
        return self.fs.exists(consumer_name(consumer, kind))

    def read(self, consumer: str, kind: Kind) -> Record | None:
        """Return what a file says, None without one; CorruptionError if it says nothing that makes sense."""
        name = consumer_name(consumer, kind)
        try:
            return decode_line(self._read(name), consumer)
        except FileNotFoundError:
            return None
        except (BadRecord, OSError) as error:
            # An OSError, too: a pipe or a link in place of the file, or a file of another user.
            raise CorruptionError(
                f"{self.fs.name}/{name}",
                f"the position of consumer {consumer!r} cannot be read: {error}",
                advice="drop_consumer() removes it with its consumer; removing the file alone takes the "
                "consumer back to the position that the store itself has, if any",
            ) from error

    def _read(self, name: str) -> bytes:
        file = self.fs.open(name, Cause.OTHER)
        try:
            if file.size > LINE_BYTES_MAX:
                raise BadRecord(f"{file.size} bytes are too many")
            return file.read_upto(0, LINE_BYTES_MAX)
        finally:
            file.close()

    def write(self, record: Record, kind: Kind = "json") -> None:
        """Replace a file durably."""
        name, temporary = consumer_name(record.name, kind), consumer_name(record.name, _TEMPORARY[kind])
        with typed_errors(f"{self.fs.name}/{name}", "keeping the position of a consumer"):
            self._unlink(temporary)
            file = self.fs.create(temporary, Cause.OTHER)
            try:
                file.append(encode_line(record))
                file.sync()
            finally:
                file.close()
            self.fs.rename(temporary, name)
            self.fs.sync_dir()

    def remove(self, consumer: str, *kinds: ConsumerFile) -> None:
        """Remove files, durably if any was there."""
        with typed_errors(f"{self.fs.name}/{consumer_name(consumer, kinds[0])}", "removing it"):
            gone = [self._unlink(consumer_name(consumer, kind)) for kind in kinds]
            if any(gone):
                self.fs.sync_dir()

    def _unlink(self, name: str) -> bool:
        if self.fs.exists(name):
            with suppress(FileNotFoundError):
                self.fs.unlink(name)
                return True
        return False

    def lock(self, consumer: str) -> Lock:
        """Keep a consumer for oneself, until the lock is released or this process ends."""
        try:
            return self.fs.lock(consumer_name(consumer, "lock"), this_process())
        except LockHeld as error:
            raise ConsumerBusy(
                error.errno, f"consumer {consumer!r} is in use by {error.holder or 'another process'}"
            ) from error

    def remove_lock(self, consumer: str) -> None:
        """Remove the lock file of a consumer that is no more; the caller holds the lock.

        Whoever waits at the old file finds out that it is gone, and takes the new one.
        """
        with suppress(OSError):  # a lock file that stays behind hurts nobody
            self._unlink(consumer_name(consumer, "lock"))
