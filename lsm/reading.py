"""Reading, the same for a store, a keyspace and a snapshot: a mapping in key order, with ranges."""

from abc import abstractmethod
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from itertools import islice
from typing import TYPE_CHECKING, TypeVar, overload

from lsm.arguments import as_bounds, as_key, as_limit
from lsm.errors import MissingExtra, StorageError
from lsm.explain.scan import ScanExplanation, ScanRange, explain_scan
from lsm.scan import LayerSource, RunSource, Source, live, merged
from lsm.state import SpaceView, State

if TYPE_CHECKING:
    from lsm.arrow import RecordBatchReader

T = TypeVar("T")
Pair = tuple[bytes, bytes]

_ENTERED: Pair = (b"", b"")  # what the scan's generator yields before anything else


class Readable(Mapping[bytes, bytes]):
    """A mapping from bytes to bytes, in key order."""

    __slots__ = ()

    @abstractmethod
    def _find(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""

    @abstractmethod
    def _pairs(self, start: bytes | None, stop: bytes | None, *, reverse: bool) -> Iterator[Pair]:
        """Return the pairs of a range as they are now."""

    @overload
    def get(self, key: bytes) -> bytes | None: ...
    @overload
    def get(self, key: bytes, default: bytes | T) -> bytes | T: ...
    def get(self, key: bytes, default: bytes | T | None = None) -> bytes | T | None:
        """Return the value of `key`, or `default` without one."""
        value = self._find(key if type(key) is bytes else as_key(key))
        return default if value is None else value

    def multi_get(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the values of many keys, None for those without one, in the order of the keys."""
        return [self._find(key if type(key) is bytes else as_key(key)) for key in keys]

    def scan(
        self,
        start: bytes | None = None,
        stop: bytes | None = None,
        *,
        prefix: bytes | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> Iterator[Pair]:
        """Yield pairs with start <= key < stop that begin with `prefix`, by key, as they are at this moment.

        Writes that come later are never seen, so writing while scanning is fine.
        """
        low, high = _range_of(start, stop, prefix)
        count = None if limit is None else as_limit(limit)
        pairs = self._pairs(low, high, reverse=reverse)
        return pairs if count is None else _limited(pairs, count)

    def __getitem__(self, key: bytes) -> bytes:
        """Return the value of `key`, or raise KeyError."""
        value = self._find(key if type(key) is bytes else as_key(key))
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        """Tell whether `key` has a value."""
        return self._find(as_key(key)) is not None

    def __iter__(self) -> Iterator[bytes]:
        """Yield all keys in order."""
        return (key for key, _ in self.scan())

    def __reversed__(self) -> Iterator[bytes]:
        """Yield all keys from the last to the first."""
        return (key for key, _ in self.scan(reverse=True))

    def __len__(self) -> int:
        """Count the keys, by reading all of them."""
        return sum(1 for _ in self.scan())

    def __bool__(self) -> bool:
        """Tell whether there is any key."""
        return next(self.scan(limit=1), None) is not None

    def keys(self) -> KeysView[bytes]:
        """Return a view of the keys."""
        return _Keys(self)

    def items(self) -> ItemsView[bytes, bytes]:
        """Return a view of the pairs."""
        return _Items(self)

    def values(self) -> ValuesView[bytes]:
        """Return a view of the values, in the order of their keys."""
        return _Values(self)


class ViewReadable(Readable):
    """A mapping that is read from a view of a store: it also comes as Arrow."""

    __slots__ = ()

    @abstractmethod
    def _held_view(self) -> tuple[State, SpaceView, int]:
        """Return what to read now, and a snapshot that whoever reads it has to release."""

    def _pairs(self, start: bytes | None, stop: bytes | None, *, reverse: bool) -> Iterator[Pair]:
        state, view, seq = self._held_view()
        return scan_view(state, view, start, stop, reverse=reverse, seq=seq, owner=self)

    def explain_scan(
        self,
        start: bytes | None = None,
        stop: bytes | None = None,
        *,
        prefix: bytes | None = None,
        reverse: bool = False,
        limit: int | None = None,
    ) -> ScanExplanation:
        """Scan like `scan`, to the end, and tell what that took: runs, tables, blocks, entries."""
        low, high = _range_of(start, stop, prefix)
        wanted = ScanRange(low, high, reverse, None if limit is None else as_limit(limit))
        state, view, seq = self._held_view()
        try:
            with state.reading():
                return explain_scan(view, wanted, seq)
        finally:
            state.release_snapshot(seq)

    def to_arrow(
        self, start: bytes | None = None, stop: bytes | None = None, *, prefix: bytes | None = None
    ) -> "RecordBatchReader":
        """Return the pairs that `scan` would give, as a pyarrow.RecordBatchReader of key and value.

        It shows this moment, whatever is written while it is read.  Needs the extra "arrow".
        """
        try:
            from lsm.arrow import read_arrow
        except ImportError as error:
            raise MissingExtra(f"to_arrow needs pyarrow: pip install 'lsmlog[arrow]' ({error})") from error
        low, high = _range_of(start, stop, prefix)
        state, view, seq = self._held_view()
        return read_arrow(state, view, low, high, seq=seq, owner=self)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand everything to whoever speaks Arrow's C stream interface: pandas, polars, DuckDB."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


class _Keys(KeysView[bytes]):
    """Keys, both ways."""

    _mapping: Readable

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._mapping)

    def __reversed__(self) -> Iterator[bytes]:
        return reversed(self._mapping)


class _Items(ItemsView[bytes, bytes]):
    """Pairs by one scan instead of a lookup for every key."""

    _mapping: Readable

    def __iter__(self) -> Iterator[Pair]:
        return self._mapping.scan()

    def __reversed__(self) -> Iterator[Pair]:
        return self._mapping.scan(reverse=True)


class _Values(ValuesView[bytes]):
    """Values by one scan instead of a lookup for every key."""

    _mapping: Readable

    def __iter__(self) -> Iterator[bytes]:
        return (value for _, value in self._mapping.scan())

    def __reversed__(self) -> Iterator[bytes]:
        return (value for _, value in self._mapping.scan(reverse=True))


def _range_of(start: object, stop: object, prefix: object) -> tuple[bytes | None, bytes | None]:
    """Return the range to scan, never one that ends before it begins."""
    low, high = as_bounds(start, stop, prefix)
    if low is not None and high is not None and low >= high:
        return low, low
    return low, high


def _limited(pairs: Iterator[Pair], count: int) -> Iterator[Pair]:
    yield from islice(pairs, count)


def scan_view(
    state: State,
    view: SpaceView,
    start: bytes | None,
    stop: bytes | None,
    *,
    reverse: bool,
    seq: int,
    owner: object,
) -> Iterator[Pair]:
    """Return the pairs that a view holds at `seq`; the caller holds that snapshot, the scan releases it.

    The scan keeps `owner` alive: a store that is being read must not be collected.
    """
    pairs = _scan_pairs(state, view, start, stop, reverse=reverse, seq=seq, owner=owner)
    # Enter the generator: one that never ran would not run its clean-up either.
    next(pairs)
    return pairs


def _scan_pairs(
    state: State,
    view: SpaceView,
    start: bytes | None,
    stop: bytes | None,
    *,
    reverse: bool,
    seq: int,
    owner: object,
) -> Iterator[Pair]:
    try:
        yield _ENTERED
        state.check_open()
        sources: list[Source] = [LayerSource(layer, start, stop, reverse=reverse) for layer in view.at(seq)]
        sources += [RunSource(run, start, stop, reverse=reverse, seq_max=seq) for run in view.tree.runs()]
        for keys, values in live(merged(sources, reverse=reverse)):
            if reverse:
                yield from zip(reversed(keys), reversed(values), strict=True)
            else:
                yield from zip(keys, values, strict=True)
            state.check_open()  # before more is loaded: in a forked child, locks may be held by nobody
    except StorageError:
        state.check_open()  # files that could not be read because the store was closed meanwhile
        raise
    finally:
        state.release_snapshot(seq)
        del owner
