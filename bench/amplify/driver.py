"""Writes to a store at the pace of its background, and looks at it along the way."""

from collections.abc import Callable

import lsm
from bench.amplify.course import Course
from bench.amplify.settings import AmplifySettings
from bench.amplify.stream import IndexArray, Keys
from bench.data import Data

LOOKS = 200
"""How often the store is looked at during a run, about."""


class Driver:
    """Puts entries into a store and keeps the books about it.

    Unless it runs free it waits for the background after as many writes as fill a memtable.  Theory and
    simulator mean a background that keeps up; with one that lags behind, L0 is merged in larger parts,
    which costs less writing and more reading.
    """

    def __init__(self, db: lsm.DB, data: Data, settings: AmplifySettings, course: Course) -> None:
        self._db, self._data, self._settings = db, data, settings
        self._course = course
        self._operations = self._live = 0
        self._version = 0
        self._piece = writes_of_a_memtable(settings)
        total = settings.keys + settings.warm_up_count + settings.overwrite_count
        self._look_every = max(self._piece, -(-total // LOOKS))
        self._looked_at = 0
        course.begin(db)

    def load(self, keys: Keys, tick: Callable[[int], None]) -> None:
        """Put every key once."""
        self._write(keys, self._settings.keys, tick, are_new=True)

    def overwrite(self, keys: Keys, count: int, tick: Callable[[int], None]) -> None:
        """Put the next `count` keys again."""
        self._write(keys, count, tick, are_new=False)

    def _write(self, keys: Keys, count: int, tick: Callable[[int], None], *, are_new: bool) -> None:
        done = 0
        while done < count:
            piece = keys.take(min(count - done, self._piece))
            self._put(piece)
            done += len(piece)
            self._operations += len(piece)
            self._live += len(piece) if are_new else 0
            if not self._settings.free:
                self._db.settle()
            if self._operations - self._looked_at >= self._look_every:
                self.look()
            tick(done)
        self._db.flush()
        self._db.settle()
        self.look()

    def _put(self, numbers: IndexArray) -> None:
        self._version += 1
        keys, values = self._data.pairs(numbers, self._version)
        if self._settings.batch == 1:
            put = self._db.put
            for key, value in zip(keys, values, strict=True):
                put(key, value)
            return
        step = self._settings.batch
        for at in range(0, len(keys), step):
            with self._db.batch() as batch:
                for key, value in zip(keys[at : at + step], values[at : at + step], strict=True):
                    batch.put(key, value)

    def look(self) -> None:
        """Add a look at the store to the course."""
        self._looked_at = self._operations
        entry_bytes = self._settings.entry_bytes
        self._course.look(
            self._db,
            operations=self._operations,
            user_bytes=self._operations * entry_bytes,
            live_bytes=self._live * entry_bytes,
        )


def writes_of_a_memtable(settings: AmplifySettings) -> int:
    """Return how many writes fill the log of a memtable."""
    simulation = settings.simulation()
    write_bytes = settings.entry_bytes + simulation.log_bytes_per_write
    return max(1, int(simulation.shape.memtable_bytes / write_bytes))
