"""What a store must hold: every batch and every change of its keyspaces, in order.

Batches and keyspace edits are two orders of their own.  A crash may lose the unsynced end of the
first without touching the second, so a legal state is a prefix of each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

DEFAULT = "default"
Contents = Mapping[str, Mapping[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Found:
    """A whole store as read: the last sequence number, and what every keyspace holds."""

    seq: int
    contents: Contents


@dataclass(frozen=True, slots=True)
class Write:
    """One entry of a batch; a value of None deletes."""

    life: int  # of the keyspace: one that is dropped and made again has another
    key: bytes
    value: bytes | None


EMPTY = Found(0, {DEFAULT: {}})


class Model:
    """Everything that was ever asked of a store."""

    def __init__(self, base: Found = EMPTY) -> None:
        names = sorted(base.contents)
        self._lives = [dict(base.contents[name]) for name in names]
        self.edits: list[dict[str, int]] = [{name: life for life, name in enumerate(names)}]
        self._life_count = len(names)
        self._batches: list[tuple[int, Sequence[Write]]] = [(base.seq, ())]
        self._states: dict[tuple[int, int], Found] = {}

    @property
    def issued(self) -> int:
        """Number of the last batch."""
        return len(self._batches) - 1

    @property
    def edited(self) -> int:
        """Number of the last keyspace edit."""
        return len(self.edits) - 1

    @property
    def now(self) -> Found:
        """The store with everything that was asked for."""
        return self.at(self.issued, self.edited)

    def seq_of(self, number: int) -> int:
        """Return the last sequence number of a batch."""
        return self._batches[number][0]

    def life_of(self, name: str) -> int:
        """Return which keyspace has this name now."""
        return self.edits[-1][name]

    def add(self, writes: Sequence[Write]) -> int:
        """Note a batch, return its number."""
        self._batches.append((self._batches[-1][0] + len(writes), writes))
        return self.issued

    def create(self, name: str) -> int:
        """Note a new keyspace, return the number of the edit."""
        self.edits.append({**self.edits[-1], name: self._life_count})
        self._life_count += 1
        return self.edited

    def drop(self, name: str) -> int:
        """Note that a keyspace was dropped, return the number of the edit."""
        self.edits.append({other: life for other, life in self.edits[-1].items() if other != name})
        return self.edited

    def restart(self) -> None:
        """Note that a new store takes the place of this one: one batch and one edit that leave nothing."""
        self._batches.append((0, ()))
        self.edits.append({DEFAULT: self._life_count})
        self._life_count += 1

    def at(self, number: int, edit: int) -> Found:
        """Return the store after batch `number` and keyspace edit `edit`."""
        found = self._states.get((number, edit))
        if found is None:
            found = self._states[number, edit] = self._build(number, edit)
        return found

    def _build(self, number: int, edit: int) -> Found:
        lives = {life: dict(held) for life, held in enumerate(self._lives)}
        for _, writes in self._batches[1 : number + 1]:
            for write in writes:
                held = lives.setdefault(write.life, {})
                held.pop(write.key, None)
                if write.value is not None:
                    held[write.key] = write.value
        names = self.edits[edit]
        return Found(self.seq_of(number), {name: lives.get(life, {}) for name, life in names.items()})
