"""One lookup, probe by probe: the same steps as `Keyspace.get`, with notes."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lsm.caches import TableHandle, Tree, naming
from lsm.cdc.json_bytes import to_json
from lsm.explain.page import Section, page_text, without_empty_columns
from lsm.explain.probes import COLUMNS, LayerProbe, LevelPassed, Step, TableProbe
from lsm.explain.text import ShowKey, plural, python_key
from lsm.memtable import Layer
from sstable import MAX_SEQ


@dataclass(frozen=True, slots=True, kw_only=True)
class GetExplanation:
    """Every probe of one lookup, in order, down to the one that ended it."""

    key: bytes
    seq: int | None
    """The snapshot that was read; None for the present."""
    steps: tuple[Step, ...]
    levels_left: tuple[int, ...]
    """Levels with tables that need not be asked any more."""
    value: bytes | None = field(repr=False)
    """What `get` returns."""

    @property
    def table_probes(self) -> tuple[TableProbe, ...]:
        """The tables that were asked."""
        return tuple(step for step in self.steps if isinstance(step, TableProbe))

    @property
    def tables(self) -> int:
        """How many tables were asked."""
        return len(self.table_probes)

    @property
    def block_reads(self) -> int:
        """How many blocks were looked into, wherever they were."""
        return sum(probe.block_reads for probe in self.table_probes)

    @property
    def filter_probes(self) -> int:
        """How many filters were really asked: none where tables have a hash index."""
        return sum(1 for probe in self.table_probes if probe.filter is not None and probe.filter.is_asked)

    @property
    def false_positives(self) -> int:
        """How many filters let the key pass in vain, those included that were not really asked."""
        return sum(probe.is_false_positive for probe in self.table_probes)

    def to_json(self) -> dict[str, object]:
        """Return the same as plain dicts and lists; of the value, its length."""
        return {
            "key": to_json(self.key),
            "seq": self.seq,
            "is_found": self.value is not None,
            "value_bytes": None if self.value is None else len(self.value),
            "tables": self.tables,
            "block_reads": self.block_reads,
            "filter_probes": self.filter_probes,
            "false_positives": self.false_positives,
            "levels_left": list(self.levels_left),
            "steps": [step.to_json() for step in self.steps],
        }

    def section(self, show_key: ShowKey = python_key) -> Section:
        """Return it as a table to print; `show_key` writes keys."""
        at = "" if self.seq is None else f" at {self.seq:,}"
        rows = [(f"{number}.", *step.cells(show_key)) for number, step in enumerate(self.steps, start=1)]
        return without_empty_columns(
            Section(
                title=f"get {show_key(self.key)}{at}: {self._outcome()}",
                columns=("step", *COLUMNS),
                rows=tuple(rows),
                lines=tuple(self._lines()),
            )
        )

    def __str__(self) -> str:
        return page_text([self.section()])

    def _lines(self) -> Iterator[str]:
        counts = (
            f"{plural(self.tables, 'table')} and {plural(self.filter_probes, 'filter')} asked",
            f"{plural(self.block_reads, 'block')} read",
            plural(self.false_positives, "false positive"),
        )
        yield ", ".join(counts)
        if self.levels_left:
            yield f"Not asked any more: {', '.join(f'L{level}' for level in self.levels_left)}."
        if any(probe.filter is not None and not probe.filter.is_asked for probe in self.table_probes):
            yield "A filter in brackets is not asked, as the hash index answers; it would say so."

    def _outcome(self) -> str:
        if self.value is not None:
            return f"a value of {plural(len(self.value), 'byte')}"
        return "deleted" if self.steps and self.steps[-1].is_found else "not there"


def explain_get(
    layers: Sequence[Layer], tree: Tree, key: bytes, seq_max: int | None = None
) -> GetExplanation:
    """Look up `key` in a view, at a snapshot if one is given, and tell how."""
    steps: list[Step] = []
    for step in _steps(layers, tree, key, MAX_SEQ if seq_max is None else seq_max):
        steps.append(step)
        if step.is_found:
            break
    value = steps[-1].value if steps else None
    return GetExplanation(
        key=key,
        seq=seq_max,
        steps=tuple(steps),
        levels_left=_levels_left(tree, steps),
        value=value if isinstance(value, bytes) else None,
    )


def _steps(layers: Sequence[Layer], tree: Tree, key: bytes, seq_max: int) -> Iterator[Step]:
    """Yield the steps that a lookup takes until something is found, in its order."""
    for layer in layers:
        yield LayerProbe(keys=len(layer.entries), last_seq=layer.last_seq, value=layer.entries.get(key))
    for handle in tree.l0:
        yield _probe_table(handle, 0, key, seq_max)
    for number, level in enumerate(tree.levels, start=1):
        if level:
            at = bisect_left(level, key, key=lambda handle: handle.meta.largest)
            if at < len(level):
                yield _probe_table(level[at], number, key, seq_max)
            else:
                yield LevelPassed(level=number, tables=len(level))


def _probe_table(handle: TableHandle, level: int, key: bytes, seq_max: int) -> TableProbe:
    meta = handle.meta
    with naming(handle.path):
        probe = handle.table().explain(key, seq_max)
    return TableProbe(
        level=level,
        number=meta.number,
        smallest=meta.smallest,
        largest=meta.largest,
        covers_key=meta.smallest <= key <= meta.largest,
        probe=probe,
    )


def _levels_left(tree: Tree, steps: Sequence[Step]) -> tuple[int, ...]:
    if not steps or not steps[-1].is_found:
        return ()
    reached = [step.level for step in steps if not isinstance(step, LayerProbe)]
    deepest = max(reached, default=0)
    left = tuple(number for number, level in enumerate(tree.levels, start=1) if level and number > deepest)
    return (0, *left) if reached.count(0) < len(tree.l0) else left
