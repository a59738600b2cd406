"""The sheet about amplification."""

from collections.abc import Sequence

from bench.compare.amplification import OVERWRITES, Amplified, AmplifyTask, is_no_higher
from bench.compare.amplification_run import AmplifyRun
from bench.peers.engines import Engine
from bench.settings import MIB
from bench.sheet import Sheet

_HEAD = (
    "engine",
    "tree write amp",
    "stated",
    "flushed MiB",
    "compacted MiB",
    "puts a flush",
    "write amp",
    "of the system",
    "space amp",
    "with log",
    "ours no higher",
)
_DEFINITIONS = (
    "tree write amp: bytes that flush and compaction wrote over those that flush wrote, as the engine counts",
    "write amp: all that its processes wrote (wchar) over keys and values of all writes",
    "of the system: pages that had to go to the disk (write_bytes) over the same",
    "space amp: tables over live keys and values when settled; with log: all files",
)

_IN_PLACE = (
    "no tree of levels; every put is a transaction, which hands whole pages to the system again and again"
)


def amplify_sheet(run: AmplifyRun, engines: Sequence[Engine]) -> Sheet:
    """Show all engines side by side, with what they were given and a plain verdict; the first is ours."""
    task = run.task
    sheet = Sheet(
        f"Amplification of one stream: {task.keys:,} entries of {task.key_bytes} + {task.value_bytes} bytes "
        f"put in random order, then {OVERWRITES} times as many drawn evenly, settled",
        _HEAD,
    )
    ours = next((found for found in run.found if found.engine == engines[0].name), None)
    sheet.rows = [_row(found, ours, task) for found in run.found]
    sheet.notes = [
        *(f"{name}: {why}; left out" for name, why in run.failed.items()),
        *_verdicts(run.found, ours),
        *_DEFINITIONS,
        _pace(task),
        _given(task),
        *(f"memtable of {engine.name}: {engine.memtable}" for engine in engines if engine.memtable),
        *(f"{found.engine}: {_IN_PLACE}" for found in run.found if found.work is None),
        *(f"{found.engine}: {found.work.how}" for found in run.found if found.work is not None),
    ]
    return sheet


def _pace(task: AmplifyTask) -> str:
    if task.is_paced:
        return "the stream waits for compaction, as nobody should gain by being behind with it"
    return "as fast as each goes: one that falls behind merges more of L0 at once, and so writes less"


def _given(task: AmplifyTask) -> str:
    store = task.store
    return (
        f"for all that have it: memtable {store.memtable_bytes / MIB:.2f} MiB, "
        f"for ours the log of as many puts, {store.memtable_log_bytes / MIB:.2f} MiB, "
        f"level ratio {store.level_ratio}, "
        f"the level below L0 {store.base_bytes / MIB:.1f} MiB where it can be set, "
        f"tables up to {store.table_bytes / MIB:.0f} MiB, "
        f"bloom filter {store.bloom_bits} bits a key, no compression, not synced"
    )


def _row(found: Amplified, ours: Amplified | None, task: AmplifyTask) -> list[str]:
    work = found.work
    puts = task.keys * (1 + OVERWRITES)
    return [
        found.engine,
        _figure(found.tree_write_amp),
        _figure(None if work is None else work.stated),
        "–" if work is None else f"{work.flush_bytes / MIB:,.1f}",
        "–" if work is None else f"{work.compaction_bytes / MIB:,.1f}",
        f"{puts / work.flushes:,.0f}" if work is not None and work.flushes else "–",
        _figure(found.write_amp),
        _figure(found.os_write_amp),
        _figure(found.space_amp),
        _figure(found.space_amp_with_log),
        "–" if ours is None or found is ours else _said(is_no_higher(ours, found)),
    ]


def _figure(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.2f}"


def _said(is_met: bool | None) -> str:
    return "–" if is_met is None else "met" if is_met else "missed"


def _verdicts(found: Sequence[Amplified], ours: Amplified | None) -> list[str]:
    """One line for every peer that has a tree."""
    return [
        f"{'no higher than' if is_met else 'HIGHER than'} {theirs.engine}'s tree: "
        f"{_figure(ours.tree_write_amp)} to {_figure(theirs.tree_write_amp)}"
        for theirs in found
        if ours is not None and theirs is not ours and (is_met := is_no_higher(ours, theirs)) is not None
    ]
