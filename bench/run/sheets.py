"""A run as sheets for people."""

from bench.counting.engine_line import engine_line
from bench.run.latency import Latencies
from bench.run.outcome import Outcome, title
from bench.settings import MIB
from bench.sheet import Sheet
from bench.workload import WORKLOADS

_QUANTILES = (0.5, 0.99, 0.999, 1.0)


def list_sheet() -> Sheet:
    """Return all workloads with what they do."""
    return Sheet(
        title="workloads",
        head=("name", "keys", "sync", "what it does"),
        rows=[
            (
                each.name,
                each.distribution if each.draws else "-",
                "always" if each.durable else "os",
                each.what,
            )
            for each in WORKLOADS
        ],
        is_last_text=True,
        notes=["keys: how they are drawn unless --dist says; sync: unless --sync says"],
    )


def run_sheets(outcome: Outcome) -> list[Sheet]:
    """Return rates and latencies, then write amplification if anything was written."""
    sheets = [_rates(outcome)]
    written = outcome.written
    if written is not None and written.user_bytes:
        sheets.append(_write_amp(outcome))
    return sheets


def _rates(outcome: Outcome) -> Sheet:
    seconds = outcome.measured.seconds
    sheet = Sheet(
        title=title(outcome.measured),
        head=("operation", "count", "a second", "p50 µs", "p99 µs", "p99.9 µs", "max µs"),
    )
    for kind, latencies in outcome.latencies.items():
        sheet.rows.append(_row(kind, latencies, seconds))
    sheet.notes += _notes(outcome)
    return sheet


def _row(kind: str, latencies: Latencies, seconds: float) -> list[str]:
    times = (latencies.microseconds(quantile) for quantile in _QUANTILES)
    rate = latencies.count / max(seconds, 1e-9)
    return [kind, f"{latencies.count:,}", f"{rate:,.0f}", *(f"{time:,.1f}" for time in times)]


def _notes(outcome: Outcome) -> list[str]:
    measured, figures = outcome.measured, outcome.figures()
    notes = [engine_line(measured.settings.store_options(), measured.settings.place)]
    if "ops_per_second" in figures:
        worst = figures.get("worst_second_ops")
        rate = f"{figures['ops_per_second']:,.0f} operations/s over {measured.seconds:.3g} s"
        notes.append(f"throughput  {rate}" + ("" if worst is None else f", worst second {worst:,.0f}"))
        if measured.workload.name == "scan":
            notes.append(f"pairs       {outcome.rate * measured.size.keys:,.0f} a second")
        notes.append(_stalls(outcome, figures))
        notes.append(_machine(outcome, figures))
    if measured.loop_ns is not None:
        notes.append(
            f"bench       {measured.loop_ns:,.0f} ns an operation are the bench: an empty loop with its clock"
        )
    if measured.settle_seconds is not None:
        notes.append(
            f"settled     {measured.settle_seconds:.1f} s after the last operation; no rate counts them"
        )
    return notes


def _stalls(outcome: Outcome, figures: dict[str, float]) -> str:
    watch = outcome.measured.watch
    assert watch is not None and watch.last.background is not None
    reason = watch.last.background.last_stall_reason if figures["stall_share"] else ""
    because = f" (last: {reason})" if reason else ""
    syncs = outcome.syncs()
    writes = sum(
        count.count for kind, count in outcome.latencies.items() if kind in ("put", "delete", "modify")
    )
    each = f" ({writes / syncs:,.1f} writes each)" if syncs and writes else ""
    return f"stalls      {figures['stall_share']:.1%} of the time{because}, log syncs {syncs:,}{each}"


def _machine(outcome: Outcome, figures: dict[str, float]) -> str:
    measured = outcome.measured
    own, children = (seconds / max(measured.wall_seconds, 1e-9) for seconds in measured.cpu_seconds)
    memory = figures.get("rss_max_bytes")
    memory_text = "" if memory is None else f", rss max {memory / MIB:,.0f} MiB with workers"
    return f"cpu         {own:.0%} here, {children:.0%} in the worker process{memory_text}"


def _write_amp(outcome: Outcome) -> Sheet:
    written, figures = outcome.written, outcome.figures()
    assert written is not None
    sheet = Sheet(title="write amplification", head=("", "measured", "what it is"), is_last_text=True)
    for row in written.rows():
        sheet.rows.append((str(row["name"]), f"{row['measured']:.2f}", str(row["what"])))
    counters = None if outcome.measured.watch is None else outcome.measured.watch.os_counters
    if counters is not None and "os_write_amp" in figures:
        what = f"what the system has counted ({counters.best_name})"
        sheet.rows.append(("system", f"{figures['os_write_amp']:.2f}", what))
    until = "it was stopped" if outcome.measured.settle_seconds is None else "the store had settled"
    sheet.notes.append(
        f"of {written.user_bytes / MIB:,.1f} MiB user bytes, until {until}; `amplify` measures a steady state"
    )
    if "space_amp" in figures:
        settled, peak = figures["space_amp"], figures["space_amp_peak"]
        sheet.notes.append(
            f"space amplification {settled:.2f} settled, {peak:.2f} at most, "
            f"{figures['space_amp_with_log']:.2f} with the log"
        )
        sheet.notes.append(
            "space: bytes of tables over live keys and values; at most: outputs of a running job and its "
            "inputs together; with the log: what is kept of it, and the room reserved for more"
        )
    return sheet
