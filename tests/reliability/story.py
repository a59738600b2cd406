"""A store in use: every call is marked in the log of its disk, every effect noted in the model."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from lsm.checkpoint import write_checkpoint
from lsm.db import DB
from lsm.keyspace import Keyspace
from lsm.opening import Flag
from lsm.options import OptionValue
from lsm.snapshot import Snapshot
from tests.reliability.model import DEFAULT, EMPTY, Found, Model, Write
from tests.reliability.tiny import RESERVE_BYTES, StepClock, let_go, open_tiny
from tests.support.faultfs import FaultFS
from tests.support.memfs import MemFS
from tests.support.mutants import SyncPredicate

ISSUE, ACK = "issue", "ack"
EDIT, EDITED = "edit", "edited"  # as issue and ack, for keyspaces
SHOWN = "shown"  # a reader in another process has shown this batch
CLOSED, OPENED = "closed", "opened"  # how many times in order, how many times begun
COPIED = "copied"  # a checkpoint of this batch is complete


@dataclass(frozen=True, slots=True)
class Survivor:
    """What a killed process leaves: all that it ever wrote."""

    image: dict[str, bytes]
    expected: Found


class Story:
    """One store on one disk in memory, and what it was asked to do."""

    def __init__(
        self,
        image: dict[str, bytes] | None = None,
        base: Found = EMPTY,
        *,
        skip_syncs: SyncPredicate | None = None,
        wrap: Callable[[MemFS], FaultFS] = FaultFS,
        **options: OptionValue,
    ) -> None:
        self.disk = MemFS.from_image(image or {}, skip_syncs=skip_syncs, reserve_bytes_max=RESERVE_BYTES)
        self.fs = wrap(self.disk)
        self.log = self.disk.log
        self.model = Model(base)
        self.survivors: list[Survivor] = []
        self.copies: dict[str, Found] = {}
        self._clock = StepClock()
        self._options = options
        self._openings = 0
        self._snapshots: list[tuple[Snapshot, dict[bytes, bytes]]] = []
        self.db: DB = None  # type: ignore[assignment]  # until it is opened

    def open(self, flag: Flag = "c", **changes: OptionValue) -> None:
        if flag != "r":
            self._openings += 1
            self.log.mark(OPENED, self._openings)
        self.db = open_tiny(
            self.fs, flag, clock=self._clock, identity=self._openings + 1, **{**self._options, **changes}
        )

    def close(self) -> None:
        self.release_snapshots()
        self.db.close()
        self.ack()
        self.log.mark(CLOSED, self._openings + 1)

    def reopen(self, **changes: OptionValue) -> None:
        self.close()
        self.open("w", **changes)

    def replace(self) -> None:
        """Put a new store in the place of this one."""
        self.model.restart()
        self.log.issue(self.model.issued)
        self.log.mark(EDIT, self.model.edited)
        self.open("n")
        self.ack()
        self.log.mark(EDITED, self.model.edited)

    def value(self, size: int = 12) -> bytes:
        """Return a value that no other batch writes."""
        return b"%d." % (self.model.issued + 1) + b"v" * size

    def ack(self) -> None:
        """Note that everything so far is durable."""
        self.log.ack(self.model.issued)

    def put(self, key: bytes, *, sync: bool | None = None, size: int = 12, space: str = DEFAULT) -> None:
        value = self.value(size)
        with self._committing([(space, key, value)], sync):
            self._space(space).put(key, value, sync=sync)

    def delete(self, key: bytes, *, sync: bool | None = None) -> None:
        with self._committing([(DEFAULT, key, None)], sync):
            self.db.delete(key, sync=sync)

    def batch(self, *entries: tuple[str, bytes, bool], sync: bool | None = None) -> None:
        """Commit puts (True) and deletions (False), and the counter, as one batch."""
        value = self.value()
        writes = [(name, key, value if is_put else None) for name, key, is_put in entries]
        writes.append((DEFAULT, b"#", value))
        with self._committing(writes, sync), self.db.batch(sync=sync) as batch:
            for name, key, stored in writes:
                if stored is None:
                    batch.delete(key, keyspace=name)
                else:
                    batch.put(key, stored, keyspace=name)

    @contextmanager
    def _committing(self, writes: list[tuple[str, bytes, bytes | None]], sync: bool | None) -> Iterator[None]:
        number = self.model.add([Write(self.model.life_of(name), key, value) for name, key, value in writes])
        self.log.issue(number)
        yield
        if sync is not False:
            self.ack()

    def create(self, name: str) -> None:
        self.log.mark(EDIT, self.model.create(name))
        self.db.keyspace(name)
        self.log.mark(EDITED, self.model.edited)

    def drop(self, name: str) -> None:
        self.log.mark(EDIT, self.model.drop(name))
        self.db.drop_keyspace(name)
        self.log.mark(EDITED, self.model.edited)

    def ensure(self, name: str) -> None:
        if name not in self.db.keyspaces():
            self.create(name)

    def sync(self) -> None:
        self.db.sync()
        self.ack()

    def flush(self) -> None:
        self.db.flush()
        self.ack()

    def compact(self) -> None:
        self.db.compact()
        self.ack()

    def settle(self) -> None:
        """Do all background work that there is."""
        while self.db.step():
            pass

    def snapshot(self) -> None:
        """Hold the store as it is until the end, or until it is closed."""
        self._snapshots.append((self.db.snapshot(), dict(self.db.scan())))

    def release_snapshots(self) -> None:
        for snapshot, held in self._snapshots:
            assert dict(snapshot.scan()) == held
            assert all(snapshot.get(key) == value for key, value in held.items())
            snapshot.close()
        self._snapshots.clear()

    def checkpoint(self) -> None:
        name = f"copy{len(self.copies)}"
        assert self.db._committer is not None
        expected = self.model.now
        seq = write_checkpoint(self.db._state, self.db._committer, self.disk.sibling(name))
        assert seq == expected.seq
        self.copies[name] = expected
        self.ack()
        self.log.mark(f"{COPIED} {name}", 1)

    def survive(self) -> None:
        """Note what a kill at this moment leaves: all that returned, synced or not."""
        self.survivors.append(Survivor(self.disk.image(), self.model.now))

    def _space(self, name: str) -> Keyspace:
        return self.db if name == DEFAULT else self.db.keyspace(name, create=False)

    @contextmanager
    def told(self) -> Iterator[None]:
        """Let the story be told, the same every time, and leave the store as a crash would."""
        # When a collection falls decides which files nobody reads any more.
        gc.disable()
        try:
            yield
            self.release_snapshots()
        finally:
            gc.enable()
            if self.db is not None:
                let_go(self.db)
