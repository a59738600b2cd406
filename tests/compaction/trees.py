"""Trees as text, and random trees."""

from itertools import pairwise

from hypothesis import strategies as st

from compaction import CompactionPlan, Levels
from sstable import Kind, TableMeta
from tests.compaction.memory import Entry, MemoryTree, in_order

KEYS = [b"%02d" % number for number in range(40)]


def parse_levels(lines: tuple[str, ...], levels_max: int = 7) -> Levels:
    """Lines `L0`, each followed by its tables: number, first and last key, and facts by name."""
    levels: list[list[TableMeta]] = [[] for _ in range(levels_max)]
    level = 0
    for line in lines:
        if line.startswith("L"):
            level = int(line[1:])
        else:
            levels[level].append(parse_table(line))
    return tuple(map(tuple, levels))


def parse_table(line: str) -> TableMeta:
    number, keys, *facts = line.split()
    smallest, _, largest = keys.partition("-")
    given = {name: int(value) for name, _, value in (fact.partition("=") for fact in facts)}
    entries = given.get("entries", 100)
    return TableMeta(
        number=int(number),
        size_bytes=given.get("bytes", 10),
        entries=entries,
        tombstones=given.get("tombstones", 0),
        distinct_keys=given.get("keys", entries),
        smallest=smallest.encode(),
        largest=largest.encode(),
        min_seq=0,
        max_seq=given.get("seq", 0),
        seq_base=given.get("seq_base", 0),
        key_bytes=0,
        value_bytes=0,
        oldest_tombstone_time=given.get("deleted", 0),
        crc=0,
    )


def format_plan(plan: CompactionPlan | None) -> str:
    if plan is None:
        return "nothing"
    runs = " | ".join(" ".join(str(table.number) for table in run) for run in plan.inputs)
    lines = [f"{plan.kind} L{plan.level} -> L{plan.output_level}: {runs}", f"because: {plan.reason}"]
    if plan.output_grandparents:
        lines.append("over: " + " ".join(str(table.number) for table in plan.output_grandparents))
    if plan.deeper:
        lines.append("deeper: " + " ".join(f"{low.decode()}-{high.decode()}" for low, high in plan.deeper))
    return "\n".join(lines)


@st.composite
def trees(draw: st.DrawFn) -> MemoryTree:
    """Any tree that could be, not just what a policy leaves: of each key newer entries are higher up."""
    tree = MemoryTree(levels_max=draw(st.integers(2, 5)))
    count = draw(st.sampled_from([0, 5, 40, 120]))
    write = st.tuples(st.sampled_from(KEYS), st.sampled_from([Kind.PUT, Kind.DELETE]))
    writes = draw(st.lists(write, min_size=count, max_size=count))
    entries = [(key, seq, kind, b"%d" % seq) for seq, (key, kind) in enumerate(writes, start=1)]
    levels: list[list[Entry]] = [[] for _ in tree.levels]
    for key in KEYS:
        versions = [entry for entry in reversed(entries) if entry[0] == key]
        places = draw(
            st.lists(st.integers(0, len(levels) - 1), min_size=len(versions), max_size=len(versions))
        )
        for level, entry in zip(sorted(places), versions, strict=True):
            levels[level].append(entry)
    tree.tombstone_time = 1
    l0 = [tree.add_table(in_order(part)) for part in parts_of(draw, sorted(levels[0], key=lambda e: -e[1]))]
    runs = [[tree.add_table(part) for part in parts_of(draw, in_order(level))] for level in levels[1:]]
    tree.levels = (tuple(l0), *map(tuple, runs))
    return tree


def parts_of(draw: st.DrawFn, entries: list[Entry]) -> list[list[Entry]]:
    """Neighbouring entries in parts, no two parts of which share a key unless they are ordered by seq."""
    cuts = {0, len(entries)} | draw(st.sets(st.integers(0, len(entries)), max_size=6))
    by_key = entries == in_order(entries)
    if by_key:
        cuts = {cut for cut in cuts if not 0 < cut < len(entries) or entries[cut][0] != entries[cut - 1][0]}
    return [entries[start:stop] for start, stop in pairwise(sorted(cuts)) if start < stop]
