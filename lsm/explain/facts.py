"""What an explanation is made from: the trees of a store at one moment, what writing has cost, its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compaction.leveled import LeveledPolicy
from compaction.monkey import false_positive_rate
from compaction.shape import Shape
from lsm.explain.census import Census, Counts, take_census, total
from lsm.explain.files import DiskUse, disk_use

if TYPE_CHECKING:
    from lsm.caches import TableHandle, Tree
    from lsm.options import Options
    from lsm.state import State
    from lsm.work import Work
    from sstable import TableMeta


@dataclass(frozen=True, slots=True)
class LevelFacts:
    """One level that has tables."""

    level: int
    tables: int
    size_bytes: int
    user_bytes: int
    entries: int
    target_bytes: float | None
    """How large it should be; None where the policy has no such target."""
    bits_per_key: float
    """Of its filters, on average; 0 without any."""
    false_positive_rate: float
    """How many absent keys they should let pass, by formula; tables differ in their bits."""
    counts: Counts


@dataclass(frozen=True, slots=True)
class TreeFacts:
    """The tables of one keyspace."""

    name: str
    tree: Tree
    levels: tuple[LevelFacts, ...]
    census: Census

    @property
    def size_bytes(self) -> int:
        """Bytes of all tables."""
        return sum(level.size_bytes for level in self.levels)

    @property
    def user_bytes(self) -> int:
        """Bytes of all keys and values in tables."""
        return sum(level.user_bytes for level in self.levels)

    @property
    def entries(self) -> int:
        """Entries in tables."""
        return sum(level.entries for level in self.levels)

    @property
    def data_bytes(self) -> float:
        """What its live keys and values take, or will take, as one level: what formulas go by."""
        return self.census.whole.live_bytes * self.size_bytes / max(1, self.user_bytes)

    @property
    def is_compacted(self) -> bool:
        """Whether there is anything below L0."""
        return any(self.tree.levels)

    @property
    def runs(self) -> int:
        """What a scan merges, and a lookup of an absent key goes through."""
        return len(self.tree.runs())


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """A store at one moment."""

    path: str
    options: Options
    shape: Shape
    work: Work
    trees: tuple[TreeFacts, ...]
    """Keyspaces that have tables, the largest first."""
    disk: DiskUse
    memory_keys: int
    """Keys in memtables."""

    @property
    def table_bytes(self) -> int:
        """Bytes of all tables."""
        return sum(tree.size_bytes for tree in self.trees)

    @property
    def user_bytes(self) -> int:
        """Bytes of all keys and values in tables."""
        return sum(tree.user_bytes for tree in self.trees)

    @property
    def entries(self) -> int:
        """Entries in tables."""
        return sum(tree.entries for tree in self.trees)

    @property
    def counts(self) -> Counts:
        """What all those entries are good for."""
        return total(tree.census.whole for tree in self.trees)

    @property
    def is_sample(self) -> bool:
        """Whether `counts` are estimates."""
        return any(tree.census.is_sample for tree in self.trees)

    @property
    def is_rising(self) -> bool:
        """Whether keys came in rising order: most tables were moved down instead of being merged."""
        moved = sum(level.moved_bytes for level in self.work.levels)
        return moved > sum(level.read_bytes for level in self.work.levels)

    @property
    def format_share(self) -> float:
        """Bytes of table for each byte of key and value; below 1 where compression saves more than it."""
        return self.table_bytes / self.user_bytes if self.user_bytes else 1.0


def collect_facts(state: State) -> StoreFacts:
    """Look at a store; its files stay while they are looked at."""
    with state.lock:
        views = [(space.name, space.view) for space in state.spaces.values()]
        version = state.version
    shape = state.options.shape()
    trees = [_tree_facts(name, view.tree, shape) for name, view in views if any(view.tree.handles())]
    return StoreFacts(
        path=state.fs.name,
        options=state.options,
        shape=shape,
        work=version.work,
        trees=tuple(sorted(trees, key=lambda tree: -tree.size_bytes)),
        disk=disk_use(state.fs, version),
        memory_keys=sum(len(entries) for _, view in views for entries in view.memory),
    )


def _tree_facts(name: str, tree: Tree, shape: Shape) -> TreeFacts:
    census = take_census(tree)
    handles = (tree.l0, *tree.levels)
    targets = _targets(shape, tuple(tuple(handle.meta for handle in level) for level in handles))
    levels = tuple(
        _level_facts(level, tables, targets.get(level), census.levels.get(level, Counts()))
        for level, tables in enumerate(handles)
        if tables
    )
    return TreeFacts(name, tree, levels, census)


def _level_facts(
    level: int, handles: Sequence[TableHandle], target_bytes: float | None, counts: Counts
) -> LevelFacts:
    metas = [handle.meta for handle in handles]
    keys = sum(meta.distinct_keys for meta in metas)
    bits = [(handle.table().bloom_bits_per_key, handle.meta.distinct_keys) for handle in handles]
    return LevelFacts(
        level=level,
        tables=len(metas),
        size_bytes=sum(meta.size_bytes for meta in metas),
        user_bytes=sum(meta.key_bytes + meta.value_bytes for meta in metas),
        entries=sum(meta.entries for meta in metas),
        target_bytes=target_bytes,
        bits_per_key=sum(each * count for each, count in bits) / keys,
        false_positive_rate=sum(false_positive_rate(each) * count for each, count in bits) / keys,
        counts=counts,
    )


def _targets(shape: Shape, levels: tuple[tuple[TableMeta, ...], ...]) -> dict[int, float]:
    """Return the targets of a leveled tree; the last level has none, all others follow from it."""
    policy = shape.make_policy()
    if not isinstance(policy, LeveledPolicy):
        return {}
    sizes = policy.targets(levels).level_bytes
    return {level: size for level, size in enumerate(sizes[:-1]) if size}
