"""The command `simulate`."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

import lsm
from bench.commands import finish, refuse, takes
from bench.partial import kept
from bench.progress import Bar, shown_progress
from bench.result import new_result
from bench.sheet import Sheet
from bench.simulate.doing import Done, How, do
from bench.simulate.outcome import Outcome, simulate_variant, unbeaten
from bench.simulate.settings import SimulateSettings
from bench.simulate.sheets import check_sheet, doing_seconds, outcome_sheet, speed_sheet, times_faster
from bench.simulate.source import Source, of_store, of_workload, workload_writes
from bench.simulate.variants import Variant, grid
from bench.workload.options import changed_options


@takes(SimulateSettings)
def simulate(settings: SimulateSettings) -> None:
    """Play a workload, or a store's own log, under other settings: on sizes and keys alone."""
    try:
        settings.check_them()
        grid(settings.options(), settings.wanted)  # a slip costs no time
    except ValueError as error:
        refuse(error)
    result = new_result("simulate", settings)
    found = _Found()
    with shown_progress() as bar, kept(result):
        found.run(settings, bar)
    result.update(found.to_json())
    finish(found.sheets(), result, settings)


@dataclass(slots=True)
class _Found:
    """Filled in step by step, so that what is there can be shown whenever it ends."""

    source: Source | None = None
    outcomes: list[Outcome] = field(default_factory=list)
    done: Done | None = None

    def run(self, settings: SimulateSettings, bar: Bar) -> None:
        """Read the stream, simulate every variant, and do it."""
        try:
            self.source, variants = _prepared(settings, bar)
        except ValueError as error:
            refuse(error)
        except lsm.Error as error:
            refuse(ValueError(getattr(error, "strerror", None) or str(error)))
        for variant in variants:
            bar.step(variant.label)
            self.outcomes.append(simulate_variant(self.source.trace, variant, batch=self.source.batch))
        self.done = _done(settings, self.source, variants[0], bar)

    def sheets(self) -> list[Sheet]:
        """Return the tables to print."""
        if self.source is None or not self.outcomes:
            return []
        found = [outcome_sheet(self.source, self.outcomes)]
        if self.done is not None and self.done.space_amp is not None:
            found.append(check_sheet(self.outcomes[0], self.done))
        return [*found, speed_sheet(self.source, self.outcomes, self.done)]

    def to_json(self) -> dict[str, object]:
        """Return the parts of the result file."""
        if self.source is None or not self.outcomes:
            return {"title": "simulate", "figures": {}, "notes": []}
        return _to_json(self.source, self.outcomes, self.done)


def _prepared(settings: SimulateSettings, bar: Bar) -> tuple[Source, list[Variant]]:
    bar.step("read the stream")
    source = of_workload(settings) if settings.from_store is None else of_store(settings.from_store, settings)
    variants = grid(source.options, settings.wanted)
    bar.start(len(variants) + 1)
    return source, variants


def _done(settings: SimulateSettings, source: Source, variant: Variant, bar: Bar) -> Done | None:
    """Do one variant to a real store: all of it, or as much as there is time for."""
    if not settings.check and not settings.doing_seconds:
        return None
    bar.step("do it to a real store")
    is_replay = settings.from_store is not None
    how = How(
        key_bytes=settings.key_bytes,
        batch=source.batch,
        warm_bytes=source.trace.warm_bytes,
        seconds_max=inf if settings.check else settings.doing_seconds,
    )
    stream = iter([source.trace.writes]) if is_replay else workload_writes(settings)
    with bar.counting("writes", source.trace.count) as counter:
        done = do(stream, variant.options, how, directory=settings.directory, counter=counter)
    # Of a log perhaps a sample was done, and not to a store that held what it did: only the pace is of use.
    return replace(done, tree_write_amp=None, space_amp=None) if is_replay else done


def _to_json(source: Source, outcomes: Sequence[Outcome], done: Done | None) -> dict[str, object]:
    first = outcomes[0]
    best = unbeaten([outcome.cost for outcome in outcomes])
    figures = first.to_figures()
    if done is not None:
        figures["times_faster"] = times_faster(source, outcomes, done)
    return {
        "title": source.title,
        "options": changed_options(first.variant.options),
        "figures": figures,
        "predicted_line": {
            "user_bytes": [float(point.user_bytes) for point in first.found.marks],
            "write_amp": [point.write_amp + first.found.log_write_amp for point in first.found.marks],
        },
        "frontier": [
            _frontier_row(outcome, is_best) for outcome, is_best in zip(outcomes, best, strict=True)
        ],
        "sample": source.trace.sample,
        "writes": source.trace.count,
        "doing_seconds": None if done is None else doing_seconds(source, done),
        "simulating_seconds": [outcome.seconds for outcome in outcomes],
        "measured_tree_write_amp": None if done is None else done.tree_write_amp,
        "notes": [*source.notes],
    }


def _frontier_row(outcome: Outcome, is_best: bool) -> dict[str, object]:
    changed = outcome.variant.changed
    # One factor has its own axis in a picture; of several only the label says what it is.
    factor, value = next(iter(changed.items())) if len(changed) == 1 else ("", outcome.variant.label)
    return {
        "label": outcome.variant.label,
        "factor": factor,
        "value": value,
        "source": "simulated",
        **outcome.cost.to_json(),
        "is_best": is_best,
    }
