"""Write amplification as rows: by cause and level, measured beside simulated and predicted."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from bench.amplify.moment import LevelBytes, Moment
from bench.amplify.prediction import Cost
from bench.counting.written import Written


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row; figures are bytes written for each user byte unless `what` says otherwise."""

    name: str
    what: str
    measured: float
    predicted: float | None = None
    """By formula."""
    simulated: float | None = None

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteCosts:
    """What was spent, and what should have been."""

    spent: Moment
    simulated: Cost
    formula: Cost | None
    """None where no formula holds."""
    is_leveled: bool

    def rows(self) -> list[Row]:
        """Return causes and levels in the order in which bytes pass through them, then the sums."""
        return [self._log(), self._flush(), *self._merges(), self._rest(), self._total(), self._tree()]

    def figures(self) -> dict[str, float]:
        """Return the same under the names of the result file."""
        spent, user = self.spent, max(1, self.spent.user_bytes)
        figures = Written(user_bytes=user, by_cause=spent.written).figures() | {
            "simulated_write_amp": self.simulated.total,
            "simulated_tree_write_amp": self.simulated.tree_write_amp,
        }
        if self.formula is not None:
            figures["predicted_write_amp"] = self.formula.total
            figures["predicted_tree_write_amp"] = self.formula.tree_write_amp
        if spent.os is not None:
            figures["os_write_amp"] = spent.os.best_bytes / user
            figures["os_wchar_write_amp"] = spent.os.passed_bytes / user
        return figures

    def _share(self, written_bytes: int) -> float:
        return written_bytes / max(1, self.spent.user_bytes)

    def _log(self) -> Row:
        log = self.spent.written.get("log", 0)
        framing = self.simulated.log
        return Row(
            name="log",
            what="keys and values once, and their framing",
            measured=self._share(log),
            predicted=framing,
            simulated=framing,
        )

    def _flush(self) -> Row:
        flush = self.simulated.flush
        return Row(
            name="flush",
            what="log -> L0: without what was overwritten in memory, with index and filter",
            measured=self._share(self.spent.written.get("flush", 0)),
            predicted=None if self.formula is None else self.formula.flush,
            simulated=flush,
        )

    def _merges(self) -> list[Row]:
        written = {level: bytes_ for level, bytes_ in self.spent.levels.items() if bytes_.written}
        formula = {} if self.formula is None or not self.is_leveled else self.formula.levels
        levels = sorted({*written, *self.simulated.levels, *formula})
        return [
            Row(
                name=self._merge_name(at, levels),
                what=_factor(written.get(level, LevelBytes(0, 0))),
                measured=self._share(written[level].written if level in written else 0),
                predicted=formula.get(level),
                simulated=self.simulated.levels.get(level, 0.0),
            )
            for at, level in enumerate(levels)
        ]

    def _merge_name(self, at: int, levels: Sequence[int]) -> str:
        """Name where bytes come from and go to; runs of tiers are merged from several levels at once."""
        if not self.is_leveled:
            return f"into L{levels[at]}"
        return f"L{levels[at - 1] if at else 0} -> L{levels[at]}"

    def _rest(self) -> Row:
        named = ("log", "flush", "compaction")
        rest = sum(count for cause, count in self.spent.written.items() if cause not in named)
        return Row(name="manifest", what="and other files of the store", measured=self._share(rest))

    def _total(self) -> Row:
        return Row(
            name="total",
            what="all bytes written / user bytes",
            measured=self._share(self.spent.total_bytes),
            predicted=None if self.formula is None else self.formula.total,
            simulated=self.simulated.total,
        )

    def _tree(self) -> Row:
        return Row(
            name="tree only",
            what="(flush + compaction) / flush: RocksDB's w_amp",
            measured=Written(user_bytes=1, by_cause=self.spent.written).tree_write_amp or 1.0,
            predicted=None if self.formula is None else self.formula.tree_write_amp,
            simulated=self.simulated.tree_write_amp,
        )


def _factor(level: LevelBytes) -> str:
    if not level.taken:
        return "nothing came from above"
    return f"{level.written / level.taken:.2f} written for each byte that came from above"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Two counts of the same bytes, by two who do not know of each other."""

    name: str
    one: int
    other: int
    one_is: str
    other_is: str

    @property
    def ratio(self) -> float:
        """The second over the first."""
        return self.other / self.one if self.one else 1.0 if not self.other else float("inf")

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {**asdict(self), "ratio": self.ratio if self.one else None}


def checks(spent: Moment) -> list[Check]:
    """Return who counted what, for everything that is counted twice."""
    merged = sum(level.written for level in spent.levels.values())
    layer = "file system layer"
    made = [
        ("user bytes", spent.user_bytes, spent.store_user_bytes, "the bench", "the store"),
        ("flush", spent.written.get("flush", 0), spent.flush_bytes, layer, "tables made by flushes"),
        ("compaction", spent.written.get("compaction", 0), merged, layer, "tables made by merges"),
    ]
    if spent.os is not None:
        total = spent.total_bytes
        made.append(("all causes", total, spent.os.passed_bytes, layer, "the system: wchar"))
        if spent.os.stored_bytes:
            made.append(("all causes", total, spent.os.stored_bytes, layer, "the system: write_bytes"))
    return [
        Check(name=name, one=one, other=other, one_is=one_is, other_is=other_is)
        for name, one, other, one_is, other_is in made
    ]
