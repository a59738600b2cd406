"""The figures of `spark` as sheets."""

from bench.settings import MIB
from bench.sheet import Sheet
from bench.spark.feed import TARGET as FEED_TARGET
from bench.spark.load import TARGET as LOAD_TARGET
from bench.spark.measure import COMPACTED, PARQUET, ROCKS, ROCKS_TARGET, TARGETS, TOUCHED_TARGET, SparkResult
from bench.spark.settings import SparkSettings


def spark_sheets(result: SparkResult, settings: SparkSettings) -> list[Sheet]:
    """Show rates beside Parquet's, and how much a small range reads."""
    shape = f"{settings.keys:,} rows of {settings.key_bytes} + {settings.value_bytes} bytes"
    rates = Sheet(
        f"{shape} into Spark, local[2]; median of {settings.repeats} after {settings.warm_ups} to warm up",
        ["read", "rows a second", "lowest – highest", "of Parquet", "target", "verdict"],
    )
    for name, rate in result.rates.items():
        target = TARGETS.get(name)
        ratio = rate.median / result.rates[PARQUET].median
        rates.rows.append(
            [
                name,
                f"{rate.median:,.0f}",
                f"{rate.low:,.0f} – {rate.high:,.0f}",
                f"{ratio:.2f} ×",
                "–" if target is None else f"{target:g} ×",
                "–" if target is None else _said(ratio >= target),
            ]
        )
    rates.notes.append("values are random; Parquet is written by Spark, snappy; all is in the page cache")
    return [rates, _others(result)]


def _others(result: SparkResult) -> Sheet:
    sheet = Sheet("What else was asked for", ["figure", "measured", "target", "verdict"])
    share = result.range_bytes / max(1, result.store_bytes)
    sheet.rows.append(
        [
            f"bytes read for {result.range_rows:,} rows, 0.1 % of the keys",
            f"{share:.2%} ({result.range_bytes / MIB:.2f} of {result.store_bytes / MIB:,.0f} MiB)",
            f"{TOUCHED_TARGET:.0%}",
            _said(share < TOUCHED_TARGET),
        ]
    )
    sheet.rows.append(
        [
            "changes a second inside a micro-batch of the change feed",
            f"{result.feed.median:,.0f}",
            f"{FEED_TARGET:,}",
            _said(result.feed.median >= FEED_TARGET),
        ]
    )
    sheet.rows.append(
        [
            f"bulk load, {result.load.ours.median:,.0f} rows a second, of Parquet split and sorted by key",
            f"{result.load.ratio:.2f} ×",
            f"{LOAD_TARGET:g} ×",
            _said(result.load.ratio >= LOAD_TARGET),
        ]
    )
    if ROCKS in result.rates:
        times = result.rates[COMPACTED].median / result.rates[ROCKS].median
        sheet.rows.append(
            [
                f"compacted against {ROCKS} ({result.rocks_rows:,} rows)",
                f"{times:.1f} ×",
                f"{ROCKS_TARGET:g} ×",
                _said(times >= ROCKS_TARGET),
            ]
        )
    return sheet


def _said(is_met: bool) -> str:
    return "met" if is_met else "missed"
