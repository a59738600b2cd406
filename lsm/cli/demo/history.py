"""What the demo writes: operations that follow from a seed, so that writer and judge agree on them."""

from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

Write: TypeAlias = tuple[bytes, bytes | None]
"""A key and its new value; None deletes it."""

_KEYS = 3000
_BATCH_SHARE = 0.4
_BATCH_ENTRIES_MAX = 40
_DELETE_SHARE = 0.2
_VALUE_BYTES_MAX = 120


class Lost(Exception):
    """The store does not hold what it acknowledged."""


def operation(seed: int, number: int) -> list[Write]:
    """Return the writes of one operation: a single one, or a batch that must be there whole or not at all."""
    random = Random(seed << 32 | number)
    count = random.randint(2, _BATCH_ENTRIES_MAX) if random.random() < _BATCH_SHARE else 1
    return [_write(random, number) for _ in range(count)]


def _write(random: Random, number: int) -> Write:
    key = b"key-%06d" % random.randrange(_KEYS)
    if random.random() < _DELETE_SHARE:
        return key, None
    # The number tells an old value from a new one; the rest is ballast.
    return key, b"written by operation %d " % number + random.randbytes(random.randrange(_VALUE_BYTES_MAX))


@dataclass(slots=True)
class Model:
    """What a store must hold after the first `operations` operations."""

    seed: int
    operations: int = 0
    writes: int = 0
    pairs: dict[bytes, bytes] = field(default_factory=dict)

    def advance(self) -> None:
        """Do one more operation."""
        writes = operation(self.seed, self.operations)
        for key, value in writes:
            if value is None:
                self.pairs.pop(key, None)
            else:
                self.pairs[key] = value
        self.operations += 1
        self.writes += len(writes)

    def advance_to(self, operations: int) -> None:
        """Do operations until there are so many."""
        while self.operations < operations:
            self.advance()


def judge(model: Model, found: dict[bytes, bytes], seq: int, acknowledged: int) -> bool:
    """Compare a store at `seq` with all that was acknowledged, or with that and the one operation in flight.

    Return whether the operation in flight is there; raise Lost if the store holds anything else.  The model
    moves to what the store holds.
    """
    model.advance_to(acknowledged)
    if seq < model.writes:
        complaint = differences(model.pairs, found)
        raise Lost(f"{model.writes - seq:,} of {model.writes:,} acknowledged writes are lost; {complaint}")
    has_more = seq > model.writes
    if has_more:
        model.advance()
    if seq != model.writes:
        raise Lost(f"the store stands at sequence number {seq:,}, in a batch or beyond the last")
    if found != model.pairs:
        raise Lost(f"after {model.operations:,} operations {differences(model.pairs, found)}")
    return has_more


def differences(expected: dict[bytes, bytes], found: dict[bytes, bytes]) -> str:
    """Return in words how a store differs from what it should hold."""
    missing = sorted(expected.keys() - found.keys())
    returned = sorted(found.keys() - expected.keys())
    changed = sorted(key for key, value in found.items() if expected.get(key, value) != value)
    parts = [
        f"{len(keys):,} keys {what} (such as {keys[0].decode()})"
        for keys, what in (
            (missing, "are missing"),
            (returned, "are there that were deleted"),
            (changed, "have another value"),
        )
        if keys
    ]
    return ", ".join(parts) or "nothing differs"
