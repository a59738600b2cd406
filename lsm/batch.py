"""A write batch: several writes, to one keyspace or to several, that are committed together or not at all."""

from collections.abc import Callable
from types import TracebackType

from lsm.arguments import as_key, as_value
from lsm.errors import ClosedError, InvalidArgument
from lsm.payload import Value, Writes, encode_mixed, encode_puts
from sstable import DELETED

BATCH_BYTES_MAX = 256 * 1024 * 1024
"""Largest batch, in bytes of log."""

Commit = Callable[[bytes, int, list[Writes]], int]
"""Takes a payload, its entry count and the writes themselves; returns the first sequence number."""


class WriteBatch:
    """Collects writes; `commit` makes all of them durable and visible at once.

    As a context manager it commits on success and discards on an exception.  A batch is for one thread.
    """

    __slots__ = (
        "_commit",
        "_has_deletions",
        "_id_of",
        "_keys",
        "_space",
        "_spaces",
        "_store",
        "_values",
        "is_done",
    )

    def __init__(self, commit: Commit, id_of: Callable[[str], int], space: int, store: object = None) -> None:
        self._commit = commit
        self._store = store  # which store this is, for those who join a batch
        self._id_of = id_of
        self._space = space
        self._keys: list[bytes] = []
        self._values: list[Value] = []
        # Keyspaces by entry, kept only once a batch writes to another one than its own.
        self._spaces: list[int] | None = None
        self._has_deletions = False
        self.is_done = False

    def put(self, key: bytes, value: bytes, *, keyspace: str | None = None) -> None:
        """Set a key."""
        # Written out for speed: a batch is how data is loaded (bench: fillbatch).
        if type(key) is not bytes or len(key) > 65536:
            key = as_key(key)
        if type(value) is not bytes or len(value) > 67108864:
            value = as_value(value)
        if keyspace is not None or self._spaces is not None or self.is_done:
            self._note_space(keyspace)
        self._keys.append(key)
        self._values.append(value)

    def delete(self, key: bytes, *, keyspace: str | None = None) -> None:
        """Delete a key, whether it is there or not."""
        key = as_key(key)
        self._note_space(keyspace)
        self._keys.append(key)
        self._values.append(DELETED)
        self._has_deletions = True

    def _put_in(self, keyspace: int, key: bytes, value: Value) -> None:
        """Write to a keyspace by its number: how the store keeps its own books together with data."""
        self._note_id(keyspace)
        self._keys.append(key)
        self._values.append(value)
        self._has_deletions = self._has_deletions or value is DELETED

    def clear(self) -> None:
        """Forget all writes."""
        self._keys, self._values, self._spaces, self._has_deletions = [], [], None, False

    def __len__(self) -> int:
        """Return the number of writes."""
        return len(self._keys)

    def commit(self) -> int:
        """Commit; return the sequence number of the last write, or 0 if there was none."""
        self._check_open()
        self.is_done = True
        if not self._keys:
            return 0
        writes, payload = self._writes(), self._payload()
        if len(payload) > BATCH_BYTES_MAX:
            raise InvalidArgument(f"a batch of {len(payload)} bytes; {BATCH_BYTES_MAX} is the most. Split it")
        return self._commit(payload, len(self._keys), writes) + len(self._keys) - 1

    def _payload(self) -> bytes:
        if self._spaces is None and not self._has_deletions:
            return encode_puts(self._space, self._keys, self._values)  # type: ignore[arg-type]  # all are bytes
        return encode_mixed(self._spaces or [self._space] * len(self._keys), self._keys, self._values)

    def _writes(self) -> list[Writes]:
        if self._spaces is None:
            return [Writes(self._space, self._keys, self._values)]
        return [
            Writes(
                space,
                [key for key, of in zip(self._keys, self._spaces, strict=True) if of == space],
                [value for value, of in zip(self._values, self._spaces, strict=True) if of == space],
            )
            for space in dict.fromkeys(self._spaces)
        ]

    def _note_space(self, keyspace: str | None) -> None:
        """Remember where the next entry goes."""
        self._note_id(self._space if keyspace is None else self._id_of(keyspace))

    def _note_id(self, space: int) -> None:
        self._check_open()
        if self._spaces is None and space != self._space:
            self._spaces = [self._space] * len(self._keys)
        if self._spaces is not None:
            self._spaces.append(space)

    def _check_open(self) -> None:
        if self.is_done:
            raise ClosedError("this batch was committed or discarded already; make a new one")

    def __enter__(self) -> "WriteBatch":
        """Return the batch."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Commit if the block ended well, discard if it did not."""
        if self.is_done:
            return
        if kind is None:
            self.commit()
        self.is_done = True
