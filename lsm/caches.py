"""Open tables and decoded blocks, kept while memory lasts."""

import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from weakref import WeakValueDictionary

import numpy as np

from compaction import Levels
from lsm.errors import ClosedError, Error, TableCorrupt, UnsupportedFormat, typed_errors
from lsm.filenames import table_name
from lsm.fs_types import Cause, FileSystem
from sstable import (
    MAX_SEQ,
    Block,
    CorruptTable,
    Deleted,
    Table,
    TableMeta,
    UnsupportedTable,
    key_hash,
    key_hashes,
)
from sstable.columns import BoolArray, U32Array

_ADVICE = "other keys stay readable; `lsm verify` lists all damage; restore this table from a checkpoint"
Probe = Callable[[bytes, int, int], bytes | Deleted | None]
"""Takes a key, its hash and the largest sequence number to see; a table's `get`."""

_INDEX_BYTES_A_BLOCK = 256  # about what the index of an open table costs


class BlockCache:
    """Decoded blocks, the least recently used ones leaving first."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._blocks: OrderedDict[tuple[int, int], tuple[Block, int]] = OrderedDict()
        self._lock = threading.Lock()
        self.used_bytes = 0
        self.hits = 0
        self.misses = 0

    def get(self, key: tuple[int, int]) -> Block | None:
        """Return the block (table number, block number), if it is held."""
        with self._lock:
            found = self._blocks.get(key)
            if found is None:
                self.misses += 1
                return None
            self._blocks.move_to_end(key)
            self.hits += 1
            return found[0]

    def put(self, key: tuple[int, int], block: Block, cost_bytes: int) -> None:
        """Hold a block, and let others go if there are too many."""
        if cost_bytes > self._capacity_bytes:
            return
        with self._lock:
            replaced = self._blocks.pop(key, None)
            self.used_bytes += cost_bytes - (replaced[1] if replaced else 0)
            self._blocks[key] = (block, cost_bytes)
            while self.used_bytes > self._capacity_bytes:
                _, (_, freed_bytes) = self._blocks.popitem(last=False)
                self.used_bytes -= freed_bytes


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Give errors from inside a table the name of its file."""
    try:
        yield
    except Error:
        raise
    except CorruptTable as error:
        raise TableCorrupt(path, error.what, offset=error.offset, advice=_ADVICE) from error
    except UnsupportedTable as error:
        raise UnsupportedFormat(f"{path}: {error}") from error
    except OSError as error:
        with typed_errors(path, "reading a table"):
            raise error from None


class TableHandle:
    """A table of a version, opened when it is first read.

    The file is there as long as a handle is: it is removed only after the last handle has gone.
    """

    __slots__ = ("__weakref__", "_cache", "get", "meta", "opened")

    def __init__(self, meta: TableMeta, cache: "TableCache") -> None:
        self.meta = meta
        self._cache = cache
        self.opened: Table | None = None
        # The open table's own method, None while it is not open: saves a call on the read path (bench:
        # readrandom).
        self.get: Probe | None = None

    @property
    def path(self) -> str:
        """Where the table is, for messages."""
        return self._cache.path_of(self.meta)

    def table(self) -> Table:
        """Return the open table."""
        table = self.opened
        return self._cache.open(self) if table is None else table

    def forget(self) -> None:
        """Let the open table go; whoever still reads it keeps it alive."""
        self.get = None
        self.opened = None


class TableCache:
    """All tables of a store, each with one handle; too many open ones are closed, the oldest first."""

    def __init__(
        self,
        fs: FileSystem,
        *,
        store_id: bytes,
        block_cache: BlockCache,
        capacity_bytes: int,
        tables_max: int,
        use_map: bool,
        verify: bool,
    ) -> None:
        self._fs = fs
        self._store_id = store_id
        self.blocks = block_cache
        self._capacity_bytes = capacity_bytes
        self._tables_max = tables_max
        self._use_map = use_map
        self._verify = verify
        self._handles: WeakValueDictionary[int, TableHandle] = WeakValueDictionary()
        self._opened: OrderedDict[TableHandle, int] = OrderedDict()
        self._lock = threading.Lock()
        self._is_closed = False
        self.used_bytes = 0

    def handle(self, meta: TableMeta) -> TableHandle:
        """Return the one handle of a table."""
        with self._lock:
            handle = self._handles.get(meta.number)
            if handle is None or handle.meta != meta:  # another one: a copy of a store was made anew
                handle = self._handles[meta.number] = TableHandle(meta, self)
            return handle

    def is_held(self, number: int) -> bool:
        """Tell whether anybody can still read the table."""
        return number in self._handles

    def path_of(self, meta: TableMeta) -> str:
        """Return the path of a table, for messages."""
        return f"{self._fs.name}/{table_name(meta.number)}"

    def open(self, handle: TableHandle) -> Table:
        """Open a table, or return it if another thread has done so meanwhile."""
        with self._lock:
            if handle.opened is not None:
                return handle.opened
            if self._is_closed:
                raise ClosedError(f"{self._fs.name} was closed")
            table = self._open(handle.meta)
            handle.opened = table
            handle.get = table.get
            self._admit(handle, table.block_count * _INDEX_BYTES_A_BLOCK)
            return table

    def _open(self, meta: TableMeta) -> Table:
        path = self.path_of(meta)
        try:
            file = self._fs.open(table_name(meta.number), Cause.READ)
        except FileNotFoundError as error:
            raise TableCorrupt(path, "table is missing", advice=_ADVICE) from error
        try:
            with naming(path):
                table = Table(
                    file, meta, cache=self.blocks, verify=self._verify, use_map=self._use_map, name=path
                )
                if table.store_id != self._store_id:
                    raise CorruptTable("table belongs to another store", offset=meta.size_bytes)
        except BaseException:
            file.close()
            raise
        if self._use_map:
            with suppress(OSError):  # nothing can be lost by closing what is only read
                file.close()  # the map is enough, and descriptors are scarce
        return table

    def _admit(self, handle: TableHandle, cost_bytes: int) -> None:
        self._opened[handle] = cost_bytes
        self.used_bytes += cost_bytes
        while self._is_too_full() and len(self._opened) > 1:
            oldest, freed_bytes = self._opened.popitem(last=False)
            self.used_bytes -= freed_bytes
            oldest.forget()

    def _is_too_full(self) -> bool:
        return self.used_bytes > self._capacity_bytes or len(self._opened) > self._tables_max

    def close(self) -> None:
        """Let all tables go; whoever still reads one keeps it alive."""
        with self._lock:
            self._is_closed = True
            for handle in self._opened:
                handle.forget()
            self._opened.clear()
            self.used_bytes = 0

    def discard(self, numbers: Set[int]) -> None:
        """Take tables that no version has any more out of the cache."""
        with self._lock:
            for handle in [handle for handle in self._opened if handle.meta.number in numbers]:
                self.used_bytes -= self._opened.pop(handle)


def _probes(handle: TableHandle, first: U32Array, second: U32Array) -> tuple[Probe, BoolArray]:
    """Return how to look keys up in a table, and for which of them that is worth it."""
    table = handle.table()
    return table.get, table.may_contain_many(first, second)


class Tree:
    """The tables of one keyspace at one moment, ready for searching.  Immutable."""

    __slots__ = ("_searches", "l0", "levels")

    def __init__(self, levels: Levels, cache: TableCache) -> None:
        handles = [tuple(map(cache.handle, level)) for level in levels]
        self.l0: tuple[TableHandle, ...] = handles[0] if handles else ()
        self.levels: tuple[tuple[TableHandle, ...], ...] = tuple(handles[1:])
        self._searches = [
            ([handle.meta.largest for handle in level], level) for level in self.levels if level
        ]

    def get(self, key: bytes, seq_max: int = MAX_SEQ) -> bytes | Deleted | None:
        """Return the newest value of `key` at or before `seq_max`, DELETED, or None if no table has it."""
        hash_ = key_hash(key)
        handle = None
        try:
            for handle in self.l0:  # named in the error below
                value = (handle.get or handle.table().get)(key, hash_, seq_max)
                if value is not None:
                    return value
            for largest, level in self._searches:
                at = bisect_left(largest, key)
                if at < len(level):
                    handle = level[at]
                    value = (handle.get or handle.table().get)(key, hash_, seq_max)
                    if value is not None:
                        return value
        except (CorruptTable, UnsupportedTable, OSError):
            assert handle is not None
            with naming(handle.path):
                raise
        return None

    def get_many(self, keys: Sequence[bytes], seq_max: int = MAX_SEQ) -> dict[bytes, bytes | Deleted]:
        """Return what the tables have of many keys; filters are asked for all at once (bench: multiget)."""
        found: dict[bytes, bytes | Deleted] = {}
        wanted = list(dict.fromkeys(keys))
        first, second = key_hashes(wanted)
        hashes = first.tolist()
        left = np.arange(len(wanted))
        for run in self.runs():
            for handle in run:
                with naming(handle.path):
                    get, passed = _probes(handle, first[left], second[left])
                    for at in left[passed].tolist():
                        value = get(wanted[at], hashes[at], seq_max)
                        if value is not None:
                            found[wanted[at]] = value
            left = left[[wanted[at] not in found for at in left.tolist()]]
        return found

    def runs(self) -> Sequence[Sequence[TableHandle]]:
        """Return all sorted runs, newest first."""
        return [*([handle] for handle in self.l0), *(level for level in self.levels if level)]

    def handles(self) -> Iterator[TableHandle]:
        """Yield every table."""
        for run in self.runs():
            yield from run
