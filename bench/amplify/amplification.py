"""What `amplify` has found, as far as it came."""

from collections import Counter
from dataclasses import dataclass, field

import lsm
from bench.amplify.advice import Choice
from bench.amplify.course import Course
from bench.amplify.lookups import Reads
from bench.amplify.monkey_twin import MonkeyGain
from bench.amplify.notes import notes_of
from bench.amplify.prediction import Prediction
from bench.amplify.settings import AmplifySettings
from bench.amplify.sheets import amplify_sheets
from bench.amplify.space import Space
from bench.amplify.stream import is_uniform
from bench.amplify.write_rows import WriteCosts, checks
from bench.counting.levels import level_rows
from bench.sheet import Sheet
from bench.workload.options import changed_options
from compaction.simulate import predict


@dataclass(slots=True)
class Amplification:
    """Filled in step by step, so that what is there can be shown whenever a run ends."""

    settings: AmplifySettings
    options: lsm.Options
    prediction: Prediction | None = None
    course: Course = field(default_factory=Course)
    reads: Reads | None = None
    space: Space | None = None
    tables: list[lsm.TableInfo] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    """What other options would make of it."""
    monkey: MonkeyGain | None = None
    left_open_bytes: int | None = None
    """All files after every key was deleted, and compact(); the open store reserves room for its log."""
    left_bytes: int | None = None
    """The same when it was closed."""

    def costs(self) -> WriteCosts | None:
        """Return what writing has cost since measuring began; None before that."""
        spent, start = self.course.spent, self.course.steady_from
        if spent is None or start is None or self.prediction is None:
            return None
        span = start.user_bytes, start.user_bytes + spent.user_bytes
        return WriteCosts(
            spent=spent,
            simulated=self.prediction.simulated(*span),
            formula=self.prediction.formula(*span) if is_uniform(self.settings) else None,
            is_leveled=self.options.policy == "leveled",
        )

    def figures(self) -> dict[str, float]:
        """Return every figure that was measured, by the names of the result file."""
        figures: dict[str, float] = {}
        for part in (self.costs(), self.reads, self.space):
            if part is not None:
                figures.update(part.figures())
        if self.space is not None and self.prediction is not None:
            figures["predicted_space_amp"] = self.prediction.space_amp
        for name in ("left_open_bytes", "left_bytes"):
            if (left := getattr(self, name)) is not None:
                figures[name] = float(left)
        return figures

    def notes(self) -> list[str]:
        """Return what a reader must know to judge the figures."""
        return notes_of(self)

    def sheets(self) -> list[Sheet]:
        """Return the tables to print."""
        return amplify_sheets(self)

    def to_json(self) -> dict[str, object]:
        """Return the parts of the result file."""
        costs = self.costs()
        reads = {} if self.reads is None else self.reads.to_json()
        if self.monkey is not None:
            reads["monkey"] = self.monkey.to_json()
        found: dict[str, object] = {
            "title": self.title,
            "options": changed_options(self.options),
            "figures": self.figures(),
            **self.course.to_json(),
            "write_amp_rows": [] if costs is None else [row.to_json() for row in costs.rows()],
            "checks": [] if costs is None else [check.to_json() for check in checks(costs.spent)],
            "levels": self._levels(),
            "advice": [choice.to_json() for choice in self.choices],
            "notes": self.notes(),
        }
        if self.prediction is not None:
            found["predicted_line"] = self.prediction.line()
        if reads:
            found["reads"] = reads
        if self.space is not None:
            found["space"] = self.space.to_json()
        return found

    def _levels(self) -> list[dict[str, object]]:
        """Return the tables by level, with how large a level of a leveled tree should be."""
        shape = self.settings.simulation().shape
        rows = level_rows(self.tables)
        if shape.policy == "leveled" and rows:
            sizes = Counter[int]()
            for table in self.tables:
                sizes[table.level] += table.size_bytes
            targets = predict.level_sizes(shape, max(sizes.values()))
            for row, target in zip(reversed(rows), reversed(targets), strict=False):
                row["target_bytes"] = round(target) if row["level"] else None
        return rows

    @property
    def title(self) -> str:
        """One line for people."""
        settings = self.settings
        return (
            f"amplify: {settings.keys:,} keys of {settings.key_bytes} + {settings.value_bytes} bytes, "
            f"{settings.overwrites:g} data sets overwritten ({settings.dist}) after {settings.warm_up:g}, "
            f"seed {settings.seed}"
        )
