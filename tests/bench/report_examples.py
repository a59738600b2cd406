"""Results as the commands of the bench write them, made by hand: what the tests of the report draw."""

import json
from pathlib import Path
from typing import Any

import numpy as np

MIB = 1024 * 1024
LEVELS = ("L1", "L2", "L3")


def head(command: str, title: str) -> dict[str, Any]:
    return {
        "format": 2,
        "command": command,
        "time": "2026-11-18T12:00:00+00:00",
        "settings": {"keys": 1_000_000, "key_bytes": 16, "value_bytes": 100, "seed": 1, "dist": "zipf:0.99"},
        "host": {
            "system": "Linux",
            "cores": 2,
            "memory_bytes": 25_276_518_400,
            "load_average": [0.4, 0.3, 0.2],
        },
        "versions": {"python": "CPython 3.11.7", "numpy": "2.4.6"},
        "complete": True,
        "stopped_by": None,
        "title": title,
        "notes": [],
    }


def timeline(seed: int, samples: int = 120, speed: float = 1.0) -> dict[str, Any]:
    """Return a run of so many seconds with dips where merges were heavy."""
    random = np.random.default_rng(seed)
    seconds = np.arange(samples + 1, dtype=float)
    dips = 1 - 0.55 * (np.sin(np.arange(samples) / 7) > 0.75) - 0.25 * (np.arange(samples) % 41 > 35)
    rate = speed * 180_000 * dips * random.normal(1, 0.04, samples).clip(0.7, 1.2)
    operations = np.concatenate([[0], np.cumsum(rate).round()])
    user = operations * 116
    grown = np.minimum(1.0, operations / max(operations[-1] * 0.4, 1))
    stalls = np.concatenate([[0], np.cumsum(np.where(dips < 0.5, 0.35, 0.0))])
    live = np.minimum(user, 40 * MIB)
    tables = live * (1.08 + 0.12 * np.abs(np.sin(seconds / 9))) + 1
    return {
        "seconds": seconds.tolist(),
        "operations": operations.tolist(),
        "user_bytes": user.tolist(),
        "written": {
            "log": (user * 1.06).tolist(),
            "flush": (user * 0.83).tolist(),
            "manifest": (user * 0.01).tolist(),
            "L1": (user * 1.94 * grown).tolist(),
            "L2": (user * 3.2 * grown**1.5).tolist(),
            "L3": (user * 2.0 * grown**3).tolist(),
        },
        "table_bytes": tables.tolist(),
        "log_bytes": (8 * MIB * (0.4 + (seconds % 10) / 16)).tolist(),
        "temporary_bytes": (4 * MIB * (np.sin(seconds / 7) > 0.75)).tolist(),
        "live_bytes": live.tolist(),
        "stall_seconds": stalls.tolist(),
    }


def jobs(samples: int = 120) -> list[dict[str, Any]]:
    found = []
    for second in range(2, samples, 3):
        found.append(job("flush", second, 0.7, None, 0))
    for second in range(5, samples - 6, 11):
        found.append(job("merge", second, 3.1, 0, 1))
    for second in range(8, samples - 12, 44):
        found.append(job("merge", second, 9.5, 1, 2))
        found.append(job("move", second, 0.0, 2, 3))
    found.append(job("merge", samples * 0.6, samples * 0.2, 2, 3))
    return found


def job(kind: str, start: float, seconds: float, from_level: int | None, to_level: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "start": start,
        "seconds": seconds,
        "from_level": from_level,
        "to_level": to_level,
        "read_bytes": int(seconds * 9 * MIB),
        "written_bytes": int(seconds * 8 * MIB),
    }


def latency(factor: float = 1.0) -> dict[str, Any]:
    shares = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 1]
    puts = [1.9, 3.1, 4.4, 19.0, 4_100, 11_800, 212_000]
    gets = [1.1, 2.6, 3.9, 8.2, 31, 240, 5_400]
    return {
        name: {"q": shares, "us": [value * factor for value in times], "count": 1_000_000}
        for name, times in (("put", puts), ("get", gets))
    }


def write_amp_rows() -> list[dict[str, Any]]:
    rows = [
        ("log", "framing and checksums", 1.06, 1.0),
        ("flush", "duplicates dropped in the memtable", 0.83, 0.85),
        ("L0 -> L1", "", 1.94, 2.0),
        ("L1 -> L2", "0.73 of the ratio", 3.2, 3.5),
        ("L2 -> L3", "", 2.0, 2.1),
        ("manifest", "", 0.01, None),
        ("total", "bytes to storage for each byte of users", 9.04, 9.45),
        ("tree only", "(flush + compaction) / flush", 9.61, 9.94),
    ]
    return [
        {"name": name, "what": what, "measured": measured, "predicted": predicted}
        for name, what, measured, predicted in rows
    ]


def levels(keys: int = 1_000_000) -> list[dict[str, Any]]:
    """Return four levels, each with a share of the keys."""

    def table(
        number: int, bounds: tuple[int, int], density: float, tombstones: float = 0.0
    ) -> dict[str, Any]:
        entries = max(1, int((bounds[1] - bounds[0]) * density))
        return {
            "number": number,
            "smallest": (b"%016d" % (2 * bounds[0])).hex(),
            "largest": (b"%016d" % (2 * bounds[1])).hex(),
            "size_bytes": entries * 128,
            "entries": entries,
            "tombstones": int(entries * tombstones),
        }

    def level(number: int, tables: int, density: float, target: int) -> dict[str, Any]:
        width = keys // tables
        gap = 0.12 if number < 3 else 0.0
        spans = [(at * width, int((at + 1 - gap * (at % 3)) * width) - 1) for at in range(tables)]
        made = [
            table(number * 100 + at, span, density, 0.15 * (at % 4 == 1)) for at, span in enumerate(spans)
        ]
        return {"level": number, "target_bytes": target, "tables": made}

    spans = [(3, keys - 9), (900, keys - 30_000), (keys // 3, keys - 80)]
    return [
        {
            "level": 0,
            "target_bytes": None,
            "tables": [table(at, span, 0.01) for at, span in enumerate(spans)],
        },
        level(1, 3, 0.03, 4 * MIB),
        level(2, 11, 0.25, 40 * MIB),
        level(3, 46, 0.95, 400 * MIB),
    ]


def reads() -> dict[str, Any]:
    rates = {
        1: (23.8, 0.0, 1.1e-5),
        2: (19.1, 0.00012, 1.1e-4),
        3: (14.3, 0.00102, 0.00104),
        4: (9.5, 0.0108, 0.0104),
    }
    return {
        "hit": {
            "blocks": 1.03,
            "tables": 1.7,
            "filter_probes": 2.4,
            "histogram": {"0": 120, "1": 9_450, "2": 400, "3": 30},
        },
        "miss": {
            "blocks": 0.02,
            "tables": 3.1,
            "filter_probes": 3.1,
            "histogram": {"0": 9_800, "1": 195, "2": 5},
        },
        "filters": [
            {
                "level": level,
                "probes": 100_000,
                "false_positives": int(100_000 * measured),
                "measured": measured,
                "predicted": predicted,
                "bits_per_key": bits,
            }
            for level, (bits, measured, predicted) in rates.items()
        ],
        "scan": {"runs": 4.0, "skipped_per_entry": 0.3, "blocks": 5.2},
        "monkey": {
            "uniform_miss_blocks": 0.0328,
            "monkey_miss_blocks": 0.0117,
            "ratio": 2.8,
            "predicted_ratio": 2.81,
        },
    }


def figures(factor: float = 1.0) -> dict[str, float]:
    return {
        "write_amp": 9.04 * factor,
        "tree_write_amp": 9.61 * factor,
        "log_write_amp": 1.06,
        "flush_write_amp": 0.83,
        "compaction_write_amp": 7.14 * factor,
        "manifest_write_amp": 0.01,
        "os_write_amp": 9.31 * factor,
        "predicted_write_amp": 9.45 * factor,
        "predicted_tree_write_amp": 9.94 * factor,
        "hit_blocks": 1.03,
        "miss_blocks": 0.02 * factor,
        "hit_tables": 1.7,
        "predicted_miss_blocks": 0.019 * factor,
        "false_positive_rate": 0.0087,
        "predicted_false_positive_rate": 0.0082,
        "space_amp": 1.13,
        "space_amp_peak": 1.31,
        "ops_per_second": 152_000 / factor,
        "worst_second_ops": 43_000 / factor,
        "p50_us": 3.1,
        "p99_us": 19.0 * factor,
        "stall_share": 0.061,
        "empty_loop_ns": 41.0,
        "rss_max_bytes": 143 * MIB,
    }


def amplify(seed: int = 1, factor: float = 1.0, samples: int = 120) -> dict[str, Any]:
    """Return the result of `amplify`: everything but a frontier."""
    lines = timeline(seed, samples, 1 / factor)
    at = np.linspace(0.05, 1, 40) * lines["user_bytes"][-1]
    return head("amplify", "1,000,000 entries of 16 + 100 bytes, overwritten 3 times, level ratio 10") | {
        "figures": figures(factor),
        "timeline": lines,
        "jobs": jobs(samples),
        "latency_us": latency(factor),
        "write_amp_rows": write_amp_rows(),
        "predicted_line": {
            "user_bytes": at.tolist(),
            "write_amp": (9.45 - 5 * np.exp(-at / at[-1] * 5)).tolist(),
        },
        "reads": reads(),
        "space": {
            "live": 40 * MIB,
            "overwritten": 3.4 * MIB,
            "tombstones": 0.2 * MIB,
            "format": 1.6 * MIB,
            "log": 8 * MIB,
            "temporary": 0,
            "total": 53.2 * MIB,
            "peak": 61.0 * MIB,
        },
        "levels": levels(),
        "notes": ["Theory counts whole levels; the last one was two thirds full, so it is a little high."],
    }


def sweep() -> dict[str, Any]:
    """Return the result of `sweep`: points of five factors."""
    points: list[tuple[Any, ...]] = [("base", "base", "simulated", 9.5, 1.12, 0.016, 4)]
    for ratio, write, space, miss, scan in (
        (4, 7.9, 1.36, 0.021, 5),
        (6, 8.4, 1.22, 0.018, 5),
        (8, 8.9, 1.16, 0.017, 4),
        (10, 9.5, 1.12, 0.016, 4),
        (16, 12.1, 1.08, 0.013, 3),
    ):
        points.append(("level_ratio", ratio, "simulated", write, space, miss, scan))
        if ratio in (4, 10):
            points.append(("level_ratio", ratio, "measured", write * 0.97, space * 1.01, miss * 1.05, scan))
    for policy, write, space, miss, scan in (
        ("tiered", 4.1, 2.6, 0.09, 14),
        ("lazy", 5.6, 1.35, 0.04, 9),
        ("leveled", 9.5, 1.12, 0.016, 4),
    ):
        points.append(("policy", policy, "simulated", write, space, miss, scan))
    for memtable, write in (("1MiB", 12.6), ("4MiB", 9.5), ("16MiB", 6.7)):
        points.append(("memtable_bytes", memtable, "simulated", write, 1.12, 0.016, 4))
    for bits, miss in ((5, 0.36), (10, 0.016), (16, 0.0009)):
        points.append(("bits_per_key", bits, "simulated", 9.5, 1.12, miss, 4))
    return head("sweep", "one factor at a time around level ratio 10, 4 MiB, 10 bits") | {
        "figures": {"write_amp": 9.5},
        "frontier": [
            {
                "label": value if factor == "base" else f"{factor.split('_')[0]} {value}",
                "factor": factor,
                "value": value,
                "source": source,
                "write_amp": write,
                "space_amp": space,
                "miss_blocks": miss,
                "scan_runs": scan,
            }
            for factor, value, source, write, space, miss, scan in points
        ],
    }


def compare() -> dict[str, Any]:
    """Return the committed result of `compare`, with the amplification that newer ones have."""
    path = Path(__file__).resolve().parent.parent.parent / "bench/results/compare.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    found["amplification"] = [
        {
            "engine": "lsm",
            "tree_write_amp": 5.1,
            "write_amp": 6.2,
            "space_amp": 1.12,
            "how": "its own counters",
        },
        {
            "engine": "rocksdict",
            "tree_write_amp": 5.9,
            "write_amp": None,
            "space_amp": 1.2,
            "how": "RocksDB's",
        },
        {
            "engine": "lmdb",
            "tree_write_amp": None,
            "write_amp": 41.0,
            "space_amp": 1.9,
            "how": "/proc/self/io",
        },
    ]
    return found
