"""The named consumer of a stream: the log waits for it, and it stands where Spark has committed."""

from dataclasses import replace
from typing import Final

import lsm
from lsm.clock import SystemClock
from lsm.consumers.files import KINDS, ConsumerFiles
from lsm.consumers.record import Record
from lsm.errors import ConsumerBusy, ConsumerNotFound
from lsm.fs import open_directory
from lsm.log.offsets import Since

_BUSY_SECONDS: Final = 10.0
"""The process of a run that was stopped a moment ago may still be there."""
_PAUSE_SECONDS: Final = 0.1


class Slot:
    """A consumer that is kept by this process as long as it lives, without keeping the store open."""

    def __init__(self, path: str, name: str, position: Since) -> None:
        """Take the consumer, made if there is none, and put it to a position: Spark's checkpoint decides."""
        self.name = name
        clock = SystemClock()
        deadline = clock.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._take(path, position)
                return
            except ConsumerBusy:
                if clock.monotonic() >= deadline:
                    raise
                clock.sleep(_PAUSE_SECONDS)

    def _take(self, path: str, position: Since) -> None:
        with lsm.open(path, "r") as db, db.consumer(self.name, start="latest") as consumer:
            consumer.seek(position)
        fs = open_directory(path, create=False, read_only=False)
        self._files = ConsumerFiles(fs)
        try:
            self._lock = self._files.lock(self.name)
        except BaseException:
            fs.close()
            raise

    def commit(self, seq: int, epoch: int) -> None:
        """Say durably that everything up to `seq` is dealt with."""
        records = [record for kind in KINDS if (record := self._files.read(self.name, kind)) is not None]
        if not records:
            raise ConsumerNotFound(f"consumer {self.name!r} was removed from {self._files.fs.name}")
        newest: Record = max(records, key=lambda record: record.number)
        if seq <= newest.position and not newest.is_dropped:
            return
        following = newest.after(SystemClock().now_us())
        self._files.write(replace(following, position=seq, epoch=epoch, is_dropped=False))
        if newest.is_dropped:  # it had fallen too far behind, and has caught up
            self._files.remove(self.name, "dropped")

    def close(self) -> None:
        """Let others use the consumer; the position stays."""
        self._lock.release()
        self._files.fs.close()
