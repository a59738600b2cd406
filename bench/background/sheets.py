"""The sheets of `background`."""

from bench.background.measure import RATE_TARGET, BackgroundResult, JobRate
from bench.background.pauses import IDLE, PAUSE_TARGET_MS, Pauses, Seen
from bench.background.settings import BackgroundSettings
from bench.measure import Spread
from bench.sheet import Sheet


def background_sheets(result: BackgroundResult, settings: BackgroundSettings) -> list[Sheet]:
    """Return what a reader wants to see, in order."""
    return [rate_sheet(result, settings), pause_sheet(result, settings)]


def rate_sheet(result: BackgroundResult, settings: BackgroundSettings) -> Sheet:
    """Show how fast the jobs are."""
    sheet = Sheet(
        f"Flush and compaction of {settings.key_bytes} + {settings.value_bytes} bytes an entry, "
        f"seed {settings.seed}: entries a second, median (lowest–highest)",
        ["job", "background", "entries", "a second", "a processor second", f"target {RATE_TARGET:,} a core"],
        [
            [
                rate.job,
                rate.mode,
                f"{rate.entries:,}",
                _spread(rate.rate),
                "–" if rate.cpu_rate is None else _spread(rate.cpu_rate),
                "met" if _a_core(rate) >= RATE_TARGET else "missed",
            ]
            for rate in result.rates
        ],
    )
    sheet.notes = [
        "manual: the caller does it; thread: a thread of this process; process: a worker, over pipes",
        "the target is held against processor time where known; the rest of the time is waiting for the disk",
    ]
    return sheet


def _a_core(rate: JobRate) -> float:
    return (rate.cpu_rate or rate.rate).median


def _spread(spread: Spread) -> str:
    return f"{spread.median:,.0f} ({spread.low:,.0f}–{spread.high:,.0f})"


def pause_sheet(result: BackgroundResult, settings: BackgroundSettings) -> Sheet:
    """Show the longest pauses."""
    pace = f"{settings.rate:,} writes a second" if settings.rate else "writes as fast as they go"
    sheet = Sheet(
        f"Pauses in the foreground, {settings.seconds:g} s each for puts and for gets, {pace}",
        [
            "background",
            "thread",
            "a second",
            "p50 µs",
            "p99.9 µs",
            "longest ms",
            f"over {PAUSE_TARGET_MS:g} ms",
            "target",
        ],
    )
    for pauses in result.pauses:
        sheet.rows += [_row(pauses, "puts", pauses.puts), _row(pauses, "gets", pauses.gets)]
        sheet.notes.append(
            f"{pauses.mode}: {pauses.flushes} flushes, {pauses.compactions} compactions, "
            f"writers held back on purpose for {pauses.stall_seconds:.2f} s"
        )
    sheet.notes.append(
        f"{IDLE}: nothing runs in the background; what is seen is the machine and the interpreter"
    )
    return sheet


def _row(pauses: Pauses, thread: str, seen: Seen) -> list[str]:
    latency = seen.latency
    return [
        pauses.mode,
        thread,
        f"{seen.rate:,.0f}",
        f"{latency.p50:.1f}",
        f"{latency.p999:.1f}",
        f"{latency.max / 1000:.1f}",
        f"{seen.over_target}",
        "–" if pauses.mode == IDLE else "met" if seen.over_target == 0 else "missed",
    ]
