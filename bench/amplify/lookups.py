"""Read amplification, from lookups and scans that the store has explained step by step."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import sqrt

import lsm
from compaction.simulate import monkey


@dataclass(slots=True)
class FilterTally:
    """Answers of the filters of one level about keys that their tables do not have."""

    probes: int = 0
    false_positives: int = 0
    predicted_sum: float = 0.0
    """Of the rates that theory gives to the filters that were asked."""
    bits_sum: float = 0.0

    @property
    def measured(self) -> float:
        """False positives over probes."""
        return self.false_positives / max(1, self.probes)

    @property
    def predicted(self) -> float:
        """What theory says to that many bits a key."""
        return self.predicted_sum / max(1, self.probes)

    @property
    def bits_per_key(self) -> float:
        """On average over the probes."""
        return self.bits_sum / max(1, self.probes)

    @property
    def error(self) -> float:
        """How far the measured rate may be off by chance: two standard errors of so many probes."""
        return 2 * sqrt(self.predicted * (1 - self.predicted) / max(1, self.probes))

    def __add__(self, other: "FilterTally") -> "FilterTally":
        """Return both together."""
        return FilterTally(
            self.probes + other.probes,
            self.false_positives + other.false_positives,
            self.predicted_sum + other.predicted_sum,
            self.bits_sum + other.bits_sum,
        )

    def to_json(self) -> dict[str, float]:
        """Return plain values."""
        return {
            "probes": self.probes,
            "false_positives": self.false_positives,
            "measured": self.measured,
            "predicted": self.predicted,
            "bits_per_key": self.bits_per_key,
            "error": self.error,
        }


@dataclass(slots=True)
class LookupTally:
    """Lookups of one kind: of keys that are there, or of such that are not."""

    lookups: int = 0
    tables: int = 0
    filter_probes: int = 0
    predicted_blocks_sum: float = 0.0
    blocks: Counter[int] = field(default_factory=Counter)
    """How many lookups looked into so many blocks."""
    filters: dict[int, FilterTally] = field(default_factory=dict)
    """By level; of tables that do not have the key."""

    @property
    def mean_blocks(self) -> float:
        """Blocks looked into for each lookup, wherever they were."""
        return sum(blocks * count for blocks, count in self.blocks.items()) / max(1, self.lookups)

    @property
    def mean_tables(self) -> float:
        """Tables asked for each lookup."""
        return self.tables / max(1, self.lookups)

    @property
    def mean_filter_probes(self) -> float:
        """Filters really asked for each lookup."""
        return self.filter_probes / max(1, self.lookups)

    @property
    def predicted_blocks(self) -> float:
        """Blocks that theory expects of lookups that ask filters: every wrong answer, and the hit itself."""
        return self.predicted_blocks_sum / max(1, self.lookups)

    @property
    def all_filters(self) -> FilterTally:
        """The filters of all levels together."""
        return sum(self.filters.values(), FilterTally())

    def add(self, explained: lsm.GetExplanation) -> None:
        """Count a lookup."""
        self.lookups += 1
        self.tables += explained.tables
        self.filter_probes += explained.filter_probes
        self.blocks[explained.block_reads] += 1
        for probe in explained.table_probes:
            answer = probe.filter
            rate = 1.0 if answer is None else monkey.false_positive_rate(answer.bits_per_key)
            self.predicted_blocks_sum += 1.0 if probe.is_found else rate
            if answer is not None and not probe.is_found:
                tally = self.filters.setdefault(probe.level, FilterTally())
                tally.probes += 1
                tally.false_positives += probe.is_false_positive
                tally.predicted_sum += rate
                tally.bits_sum += answer.bits_per_key

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "lookups": self.lookups,
            "blocks": self.mean_blocks,
            "tables": self.mean_tables,
            "filter_probes": self.mean_filter_probes,
            "predicted_blocks": self.predicted_blocks,
            "histogram": {str(blocks): self.blocks[blocks] for blocks in sorted(self.blocks)},
        }


@dataclass(slots=True)
class ScanTally:
    """Scans from random keys on."""

    scans: int = 0
    runs: int = 0
    blocks: int = 0
    returned: int = 0
    skipped: int = 0

    def add(self, explained: lsm.ScanExplanation) -> None:
        """Count a scan; layers of the memtable, which is empty, are no runs."""
        self.scans += 1
        self.runs += sum(run.level is not None for run in explained.runs)
        self.blocks += explained.blocks
        self.returned += explained.returned
        self.skipped += explained.overwritten + explained.tombstones

    @property
    def mean_runs(self) -> float:
        """Runs merged by a scan: tables of L0, and levels that have tables."""
        return self.runs / max(1, self.scans)

    @property
    def skipped_per_entry(self) -> float:
        """Entries passed over for each one returned."""
        return self.skipped / max(1, self.returned)

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "scans": self.scans,
            "runs": self.mean_runs,
            "skipped_per_entry": self.skipped_per_entry,
            "blocks": self.blocks / max(1, self.scans),
            "returned": self.returned / max(1, self.scans),
        }


@dataclass(slots=True)
class Reads:
    """All that was read."""

    hits: LookupTally = field(default_factory=LookupTally)
    misses: LookupTally = field(default_factory=LookupTally)
    scans: ScanTally = field(default_factory=ScanTally)

    def look_up(self, db: lsm.DB, there: Iterable[bytes], missing: Iterable[bytes]) -> None:
        """Explain lookups of keys that are there and of keys that are not."""
        for tally, keys in ((self.hits, there), (self.misses, missing)):
            for key in keys:
                tally.add(db.explain_get(key))

    def scan(self, db: lsm.DB, starts: Iterable[bytes], pairs: int) -> None:
        """Explain scans of so many pairs."""
        for start in starts:
            self.scans.add(db.explain_scan(start, limit=pairs))

    def figures(self) -> dict[str, float]:
        """Return what the result file has names for."""
        figures: dict[str, float] = {}
        for name, tally in (("hit", self.hits), ("miss", self.misses)):
            if tally.lookups:
                figures[f"{name}_blocks"] = tally.mean_blocks
                figures[f"{name}_tables"] = tally.mean_tables
                figures[f"{name}_filter_probes"] = tally.mean_filter_probes
        filters = self.misses.all_filters
        if filters.probes:
            figures["false_positive_rate"] = filters.measured
            figures["predicted_false_positive_rate"] = filters.predicted
        if self.misses.filter_probes:
            figures["predicted_miss_blocks"] = self.misses.predicted_blocks
        if self.scans.scans:
            figures["scan_runs"] = self.scans.mean_runs
            figures["scan_skipped"] = self.scans.skipped_per_entry
        return figures

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "hit": self.hits.to_json(),
            "miss": self.misses.to_json(),
            "filters": [
                {"level": level, **tally.to_json()} for level, tally in sorted(self.misses.filters.items())
            ],
            "scan": self.scans.to_json(),
        }
