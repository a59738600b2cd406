"""What `bench.memory.measure` runs in a process of its own: open a store, tell time and memory in JSON."""

import json
import sys
import time
from pathlib import Path

import numpy as np  # noqa: F401  # part of the bare interpreter that memory is compared with


def resident() -> dict[str, int]:
    """Return the memory of this process, in bytes."""
    facts = {}
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name in ("VmRSS", "RssAnon", "RssFile", "RssShmem"):
            facts[name] = int(value.split()[0]) * 1024
    return {"total": facts["VmRSS"], "own": facts["RssAnon"], "mapped": facts["RssFile"] + facts["RssShmem"]}


def main(path: str, count: int, key_bytes: int, value_bytes: int, seed: int, reads: int) -> dict[str, object]:
    """Open a store and read from it."""
    seen: dict[str, object] = {"bare": resident()}
    import lsm

    seen["imported"] = resident()
    started = time.perf_counter()
    db = lsm.open(path, "w")
    seen["open_seconds"] = time.perf_counter() - started
    seen["opened"] = resident()
    with db:
        from bench.data import Data  # only now: memory of the bench is not memory of the store

        data = Data.make(count, key_bytes=key_bytes, value_bytes=value_bytes, seed=seed)
        keys = data.keys(data.drawn(reads, 1))
        started = time.perf_counter()
        found = [db[keys[0]]]
        seen["first_get_seconds"] = time.perf_counter() - started
        started = time.perf_counter()
        for key in keys:
            found[0] = db[key]
        seen["read_rate"] = reads / (time.perf_counter() - started)
        seen["after_reads"] = resident()
    return seen


if __name__ == "__main__":
    json.dump(main(sys.argv[1], *map(int, sys.argv[2:])), sys.stdout)
