"""The sheets of `log`."""

import os

from bench.host import host_facts
from bench.log.following import SHARE_TARGET
from bench.log.measure import LogResult
from bench.log.reading import SCAN, Reading
from bench.log.seeking import BYTES_TARGET
from bench.log.settings import LogSettings
from bench.log.tailing import COST_TARGET, Tailing
from bench.measure import Spread
from bench.settings import MIB
from bench.sheet import Sheet

KIB = 1024


def log_sheets(result: LogResult, settings: LogSettings) -> list[Sheet]:
    """Return what a reader wants to see, in order."""
    return [
        reading_sheet(result, settings),
        seeking_sheet(result, settings),
        following_sheet(result, settings),
        tailing_sheet(result, settings),
    ]


def reading_sheet(result: LogResult, settings: LogSettings) -> Sheet:
    """Show how fast changes are read."""
    scan = next((found for found in result.readings if found.what == SCAN), None)
    sheet = Sheet(
        f"Reading a log of {settings.keys:,} entries of {settings.key_bytes} + {settings.value_bytes} bytes, "
        f"seed {settings.seed}: entries a second, median of {settings.repeats} rounds (lowest–highest)",
        ["read", "a second", "a processor second", "to RocksDB", "target a core", "verdict", "by the clock"],
    )
    for found in result.readings:
        sheet.rows.append(
            [
                found.what,
                _spread(found.rate),
                _spread(found.cpu_rate),
                "–" if scan is None else f"{_ratio(found, scan):.2f} ×",
                "–" if found.target is None else f"{found.target:,}",
                "–" if found.target is None else _said(found.is_met),
                "–" if found.target is None else _said(found.is_met_by_clock),
            ]
        )
    host = host_facts(settings.place)
    load = ", ".join(f"{figure:.1f}" for figure in os.getloadavg())
    sheet.notes = [
        *(f"{name}: {why}; no ratio" for name, why in result.missing.items()),
        "targets and ratios are by processor time, as other programs were there; beside it, by the clock",
        f"machine: {host['cores']} cores, {host['processor']}, {host['filesystem']}; load {load}",
        "files are in the page cache",
    ]
    return sheet


def _ratio(found: Reading, scan: Reading) -> float:
    return found.cpu_rate.median / scan.cpu_rate.median


def seeking_sheet(result: LogResult, settings: LogSettings) -> Sheet:
    """Show how much is read to find a place."""
    first = result.seekings[0]
    return Sheet(
        f"Seeking in a log of {first.log_bytes / MIB:,.0f} MiB in {first.segments} segments, "
        f"{settings.seeks} random places of each kind: until the first change is there",
        ["place", "KiB read, median", "KiB read, most", "ms, median", "ms, most", "target", "verdict"],
        [
            [
                found.what,
                f"{found.read_bytes.median / KIB:,.0f}",
                f"{found.read_bytes.high / KIB:,.0f}",
                f"{found.milliseconds.median:.1f}",
                f"{found.milliseconds.high:.1f}",
                f"< {BYTES_TARGET / KIB:,.0f} KiB",
                _said(found.is_met),
            ]
            for found in result.seekings
        ],
        ["one half of the log was written in batches of 1000, the other as single puts"],
    )


def following_sheet(result: LogResult, settings: LogSettings) -> Sheet:
    """Show how far a follower is behind."""
    sheet = Sheet(
        f"A follower in a process of its own beside a writer at full speed, {settings.seconds:g} s each, "
        f"median of {settings.repeats} rounds (lowest–highest)",
        [
            "writer",
            "written a second",
            "applied a second",
            "had when the writer stopped",
            "most entries behind",
            "most s behind",
            "s to catch up",
            "target",
            "verdict",
        ],
    )
    for found in result.followings:
        sheet.rows.append(
            [
                found.how,
                _spread(found.write_rate),
                _spread(found.apply_rate),
                f"{found.share.median:.1%}",
                _spread(found.entries_max),
                _seconds(found.seconds_max),
                _seconds(found.catch_up_seconds),
                f"{SHARE_TARGET:.0%}",
                _said(found.is_met),
            ]
        )
    sheet.notes = [
        "the copy is durable too, and on the same disk; both stores flush and compact meanwhile",
        "applied a second: until the copy had everything, so the time to catch up is in it",
    ]
    return sheet


def tailing_sheet(result: LogResult, settings: LogSettings) -> Sheet:
    """Show what readers cost."""
    sheet = Sheet(
        f"What {settings.readers} readers in processes of their own cost a writer, "
        f"{settings.seconds:g} s each, in turn, median of {settings.repeats} rounds (lowest–highest)",
        [
            "writer",
            "writes a second alone",
            "beside readers",
            "cost",
            "beside strangers",
            "cost",
            "µs of processor a write alone",
            "beside readers",
            "cost",
            "target",
            "verdict",
        ],
        [_tailing(found) for found in result.tailings],
    )
    for found in result.tailings:
        sheet.notes.append(
            f"{found.how}: readers saw {found.changes_seen:,} changes and missed {found.changes_missed:,}; "
            f"they kept {found.reader_cores.median:.1f} of {os.cpu_count()} cores busy, and were done "
            f"{found.behind_seconds.median:.2f} s after the writer"
        )
    if any(found.is_met is None for found in result.tailings):
        sheet.notes.append("unclear: faster beside readers than alone; something else kept the machine busy")
    sheet.notes.append(
        "strangers: as many processes, as busy as the readers, that do not touch the store: what the machine "
        "takes for want of cores, whatever it is that they do"
    )
    return sheet


def _tailing(found: Tailing) -> list[str]:
    return [
        found.how,
        _spread(found.alone),
        _spread(found.beside),
        f"{found.cost:.1%}",
        _spread(found.beside_strangers),
        f"{found.strangers_cost:.1%}",
        f"{found.alone_cpu.median:.1f}",
        f"{found.beside_cpu.median:.1f}",
        f"{found.cpu_cost:.1%}",
        f"< {COST_TARGET:.0%}",
        "unclear" if found.is_met is None else _said(found.is_met),
    ]


def _spread(spread: Spread) -> str:
    return f"{spread.median:,.0f} ({spread.low:,.0f}–{spread.high:,.0f})"


def _seconds(spread: Spread) -> str:
    return f"{spread.median:.2f} ({spread.low:.2f}–{spread.high:.2f})"


def _said(is_met: bool) -> str:
    return "met" if is_met else "missed"
