"""The sheets of `compare`."""

from collections.abc import Mapping, Sequence

from bench.compare.comparison import Comparison
from bench.compare.outcome import YARDSTICK, WorkloadOutcome
from bench.host import host_facts
from bench.measure import Spread
from bench.peers.settings import StoreSettings
from bench.settings import MIB
from bench.sheet import Sheet

_SETTLING_SECONDS = 0.05  # work that is over sooner is not worth a line


def compare_sheets(
    comparison: Comparison, results: Sequence[WorkloadOutcome], missing: Mapping[str, str]
) -> list[Sheet]:
    """Return everything that a reader wants to see, in order."""
    found = [setup_sheet(comparison, missing), rate_sheet(comparison, results)]
    if len(comparison.engines) > 1:
        found.append(ratio_sheet(comparison, results))
    found.append(cpu_sheet(comparison, results))
    latencies = latency_sheet(comparison, results)
    return [*found, latencies] if latencies.rows else found


def setup_sheet(comparison: Comparison, missing: Mapping[str, str]) -> Sheet:
    """Say what is measured, on what, with which settings."""
    settings, store = comparison.settings, comparison.settings.store
    host = host_facts(settings.place)
    sheet = Sheet(
        f"{comparison.data.count:,} entries of {settings.key_bytes} + {settings.value_bytes} bytes, "
        f"seed {settings.seed}, {settings.repeats} rounds, interleaved",
        ["engine", "version"],
        [[engine.name, engine.version] for engine in comparison.engines],
    )
    sheet.notes = [
        *(f"{name}: {why}; skipped" for name, why in missing.items()),
        _sizes(store),
        "not synced: a write is with the operating system when it returns; durable: it is on the disk",
        *(f"{engine.name}: {engine.setup}" for engine in comparison.engines),
        f"machine: {host['cores']} cores, {host['processor']}, {host['filesystem']}; files in the page cache",
    ]
    return sheet


def _sizes(store: StoreSettings) -> str:
    return (
        f"for all that have it: memtable {_mib(store.memtable_bytes)}, cache {_mib(store.cache_bytes)}, "
        f"tables up to {_mib(store.table_bytes)}, bloom filter {store.bloom_bits} bits a key, no compression"
    )


def _mib(size: int) -> str:
    return f"{size / MIB:.1f} MiB"


def rate_sheet(comparison: Comparison, results: Sequence[WorkloadOutcome]) -> Sheet:
    """Show operations a second of every engine."""
    names = [engine.name for engine in comparison.engines]
    sheet = Sheet(
        "Operations a second: median (lowest–highest)", ["workload", "operations", *names, "empty loop"]
    )
    for result in results:
        rates = [_rate(result.rates.get(name)) for name in names]
        sheet.rows.append(
            [result.workload.name, f"{result.operations:,}", *rates, f"{result.loop_ns:.0f} ns"]
        )
    sheet.notes = [f"{result.workload.name}: {result.workload.what}" for result in results]
    sheet.notes += _settling(results, names)
    if comparison.figures.compactions:
        took = [
            f"{name} {Spread.of(seconds).median:.2f} s"
            for name, seconds in comparison.figures.compactions.items()
        ]
        sheet.notes.append(f"full compaction after the above: {', '.join(took)}")
    sheet.notes.append(
        "empty loop: what the loop of the bench costs an operation by itself; it is part of every rate"
    )
    if not comparison.figures.is_complete:
        sheet.notes.append("NOT COMPLETE: these are the figures up to then")
    return sheet


def _settling(results: Sequence[WorkloadOutcome], names: Sequence[str]) -> list[str]:
    notes = []
    for result in results:
        took = [
            f"{name} {result.settle_seconds[name].median:.1f} s"
            for name in names
            if name in result.settle_seconds and result.settle_seconds[name].median >= _SETTLING_SECONDS
        ]
        if took:
            notes.append(f"background work left when {result.workload.name} had returned: {', '.join(took)}")
    return notes


def _rate(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    return f"{spread.median:,.0f} ({_short(spread.low)}–{_short(spread.high)})"


def _short(rate: float) -> str:
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if rate >= size:
            return f"{rate / size:.3g}{suffix}"
    return f"{rate:.3g}"


def ratio_sheet(comparison: Comparison, results: Sequence[WorkloadOutcome]) -> Sheet:
    """Show our rate as a multiple of every peer's, with targets and verdicts."""
    names = [engine.name for engine in comparison.engines[1:]]
    has_yardstick = YARDSTICK in names
    columns = [f"to {name}" for name in names]
    head = (
        ["workload", *columns, "target", f"against {YARDSTICK}"] if has_yardstick else ["workload", *columns]
    )
    sheet = Sheet("Our rate as a multiple of a peer's in the same round: median (lowest–highest)", head)
    for result in results:
        row = [result.workload.name, *(_ratio(result.ratios.get(name)) for name in names)]
        target = result.workload.target
        sheet.rows.append(
            [*row, "–" if target is None else f"{target:.1f}", result.verdict] if has_yardstick else row
        )
    for name in names:
        if not any(name in result.ratios for result in results):
            continue
        behind = [
            f"{result.workload.name} {result.ratios[name].median:.2f}"
            for result in results
            if name in result.ratios and result.ratios[name].median < 1
        ]
        sheet.notes.append(f"behind {name}: {', '.join(behind)}" if behind else f"ahead of {name} everywhere")
    return sheet


def _ratio(spread: Spread | None) -> str:
    return "–" if spread is None else f"{spread.median:.2f} ({spread.low:.2f}–{spread.high:.2f})"


def cpu_sheet(comparison: Comparison, results: Sequence[WorkloadOutcome]) -> Sheet:
    """Show the processor time of the calling thread."""
    names = [engine.name for engine in comparison.engines]
    return Sheet(
        "Processor time of the calling thread in ns an operation: median (lowest–highest)",
        ["workload", *names],
        [
            [result.workload.name, *(_nanoseconds(result.cpu_ns.get(name)) for name in names)]
            for result in results
        ],
        ["flush and compaction, which other threads and processes do, are not in it; nor is waiting"],
    )


def _nanoseconds(spread: Spread | None) -> str:
    return "–" if spread is None else f"{spread.median:,.0f} ({spread.low:,.0f}–{spread.high:,.0f})"


def latency_sheet(comparison: Comparison, results: Sequence[WorkloadOutcome]) -> Sheet:
    """Show the percentiles of single puts and gets."""
    sheet = Sheet(
        "Latency of single operations in µs, from passes of their own",
        ["workload", "engine", "p50", "p99", "p99.9", "max"],
    )
    for result in results:
        for engine in comparison.engines:
            latency = result.latencies.get(engine.name)
            if latency is not None:
                figures = (latency.p50, latency.p99, latency.p999, latency.max)
                sheet.rows.append(
                    [result.workload.name, engine.name, *(f"{figure:,.1f}" for figure in figures)]
                )
    return sheet
