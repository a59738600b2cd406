"""What writing has cost a store since it was made, by level: totals that the manifest keeps.

Every edit that installs tables carries what they cost, so that totals never count a job whose tables a crash
has taken, and every job once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from compaction import CompactionPlan, Levels
    from sstable import TableMeta

_NUMBER_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelWork:
    """What was brought into one level by compaction."""

    level: int
    merges: int = 0
    moves: int = 0
    """Tables that came without being rewritten count as moves."""
    read_bytes: int = 0
    """Of the tables that came from other levels."""
    rewritten_bytes: int = 0
    """Of the tables that were in the level already, as they were read."""
    written_bytes: int = 0
    moved_bytes: int = 0
    entries_in: int = 0
    entries_out: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Totals, or what one edit adds to them."""

    user_bytes: int = 0
    """Keys and values handed in, of everything that is in tables by now."""
    log_bytes: int = 0
    """What the log took for them."""
    flushes: int = 0
    flush_bytes: int = 0
    loads: int = 0
    load_bytes: int = 0
    """Tables that were taken over whole."""
    levels: tuple[LevelWork, ...] = ()

    def plus(self, other: Work) -> Work:
        """Return both together."""
        if not other:
            return self
        by_level = {work.level: work for work in self.levels}
        for work in other.levels:
            by_level[work.level] = _sum(by_level.get(work.level, LevelWork(level=work.level)), work)
        levels = tuple(by_level[level] for level in sorted(by_level))
        return replace(
            self,
            levels=levels,
            **{name: _added(self, other, name) for name in _TOTALS},
        )

    def __bool__(self) -> bool:
        return bool(self.levels) or any(getattr(self, name) for name in _TOTALS)

    @property
    def compaction_bytes(self) -> int:
        """What compaction has written."""
        return sum(work.written_bytes for work in self.levels)

    @property
    def tree_write_amp(self) -> float | None:
        """Bytes that flush and compaction wrote over those that flush wrote; loads count as flushed."""
        came = self.flush_bytes + self.load_bytes
        return (came + self.compaction_bytes) / came if came else None

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return asdict(self)


_TOTALS = tuple(field.name for field in fields(Work) if field.name != "levels")
_OF_LEVEL = tuple(field.name for field in fields(LevelWork))


def _sum(one: LevelWork, other: LevelWork) -> LevelWork:
    return LevelWork(level=one.level, **{name: _added(one, other, name) for name in _OF_LEVEL[1:]})


def _added(one: object, other: object, name: str) -> int:
    # What a manifest could not hold must not be written into the next one.
    return min(_NUMBER_MAX, int(getattr(one, name) + getattr(other, name)))


def work_of_merge(
    levels: Levels, plan: CompactionPlan, outputs: Iterable[TableMeta], entries: tuple[int, int]
) -> Work:
    """Return what carrying out a plan has cost; `entries` are those read and those written."""
    before = _bytes_of(levels[plan.output_level]) if plan.output_level < len(levels) else {}
    read_bytes = sum(table.size_bytes for table in plan.tables if table.number not in before)
    if plan.kind == "move":
        return Work(levels=(LevelWork(level=plan.output_level, moves=1, moved_bytes=read_bytes),))
    return Work(
        levels=(
            LevelWork(
                level=plan.output_level,
                merges=1,
                read_bytes=read_bytes,
                rewritten_bytes=sum(before[number] for number in plan.input_numbers & before.keys()),
                written_bytes=sum(table.size_bytes for table in outputs),
                entries_in=entries[0],
                entries_out=entries[1],
            ),
        )
    )


def _bytes_of(tables: Iterable[TableMeta]) -> dict[int, int]:
    return {table.number: table.size_bytes for table in tables}


# In the manifest a level is a list of numbers in the order of the fields, and what is 0 is left out.


def encode_work(work: Work) -> dict[str, object]:
    """Return what the manifest keeps."""
    kept: dict[str, object] = {name: value for name in _TOTALS if (value := getattr(work, name))}
    if work.levels:
        kept["levels"] = [[getattr(level, name) for name in _OF_LEVEL] for level in work.levels]
    return kept


def decode_work(kept: Mapping[str, object]) -> Work:
    """Inverse of encode_work; ValueError on anything that it cannot have made."""
    rows = kept.get("levels", [])
    if not isinstance(rows, list):
        raise ValueError(f"levels of work must be a list, not {type(rows).__name__}")
    return Work(
        levels=tuple(map(_decode_level, rows)),
        **{name: _number(kept.get(name, 0)) for name in _TOTALS},
    )


def _decode_level(row: object) -> LevelWork:
    if not isinstance(row, list) or len(row) != len(_OF_LEVEL):
        raise ValueError(f"{len(_OF_LEVEL)} numbers were due, not {row!r:.40}")
    return LevelWork(**{name: _number(value) for name, value in zip(_OF_LEVEL, row, strict=True)})


def _number(item: object) -> int:
    if type(item) is not int or not 0 <= item <= _NUMBER_MAX:
        raise ValueError(f"a number from 0 to {_NUMBER_MAX} was due, not {item!r:.40}")
    return item
