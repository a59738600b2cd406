"""A log in plain Python, to hold a store's against: every write with its number, and what follows."""

import random
from typing import NamedTuple

import lsm

SPACES = ("default", "orders")
KEYS = [b"a", b"b", b"c", b"d", b"", b"\0", b"long" * 20]


class Entry(NamedTuple):
    """One write of the model; a value of None deletes."""

    seq: int
    keyspace: str
    key: bytes
    value: bytes | None
    first_seq: int
    count: int


class LogModel:
    """Writes to a store, and remembers every write."""

    def __init__(self, db: lsm.DB, seed: int) -> None:
        self.db = db
        self.rng = random.Random(seed)
        self.entries: list[Entry] = []
        db.keyspace("orders")

    @property
    def seq(self) -> int:
        return len(self.entries)

    def write(self, writes: list[tuple[str, bytes, bytes | None]], *, sync: bool = True) -> None:
        with self.db.batch(sync=sync) as batch:
            for keyspace, key, value in writes:
                if value is None:
                    batch.delete(key, keyspace=keyspace)
                else:
                    batch.put(key, value, keyspace=keyspace)
        first = self.seq + 1
        for at, (keyspace, key, value) in enumerate(writes):
            self.entries.append(Entry(first + at, keyspace, key, value, first, len(writes)))

    def write_something(self) -> None:
        rng = self.rng
        self.write(
            [
                (
                    rng.choice(SPACES),
                    rng.choice(KEYS),
                    None if rng.random() < 0.3 else b"%d" % self.seq * rng.randint(0, 6),
                )
                for _ in range(rng.choice([1, 1, 1, 2, 5]))
            ],
            sync=rng.random() < 0.5,
        )

    def live_something(self) -> None:
        """Let the store do what it does between writes."""
        dice = self.rng.random()
        if dice < 0.12:
            self.db.flush()
        elif dice < 0.16:
            self.db.compact()
        elif dice < 0.4:
            self.db.step()

    def before(self) -> dict[int, bytes | None]:
        """Return, by number, the value that every write replaced."""
        held: dict[tuple[str, bytes], bytes | None] = {}
        found = {}
        for entry in self.entries:
            found[entry.seq] = held.get((entry.keyspace, entry.key))
            held[entry.keyspace, entry.key] = entry.value
        return found

    def latest(self) -> list[Entry]:
        """Return the last write of every key, in order."""
        last = {(entry.keyspace, entry.key): entry for entry in self.entries}
        return sorted(last.values())
