"""One engine under the stream of writes, in a process of its own: what the system counts is then its own.

Run as `python -m bench.compare.amplification_child ENGINE DIRECTORY TASK`, the task in JSON.
"""

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.compare.amplification import Amplified, AmplifyTask
from bench.counting.os_counters import read_os_counters
from bench.data import Data, cut
from bench.peers.disk_full import is_disk_full
from bench.peers.engines import Engine, find_engine
from bench.peers.work import CountsWork, Settles
from bench.settle import QUIET_SECONDS, settle

_LOGS = (".log", "-wal", "-shm")
_DATA = (".sst", ".ldb", ".mdb", ".sqlite3")
_SAMPLE = 200
_FREE_BYTES_MIN = 1024 * 1024
"""With less than this left, an error is taken for that of a full disk."""


def amplify(engine: Engine, directory: Path, task: AmplifyTask, quiet_seconds: float) -> Amplified:
    """Put the whole stream into a new store of an engine, and account for it."""
    data = task.data()
    before = read_os_counters()
    started = time.perf_counter()
    store = engine.open(directory, task.store, False)
    try:
        settled = store.settle if isinstance(store, Settles) else _nothing
        _put_all(store.putter(), data, task, settled)
        settled()
        if engine.has_background:
            settle(directory, quiet_seconds)
        seconds = time.perf_counter() - started
        _check(store.getter(), data, task)
        work = store.work() if isinstance(store, CountsWork) else None
        sizes = _sizes(directory)
    finally:
        store.close()
    # Only now: what a worker process wrote is added to this one's when it has ended.
    after = read_os_counters()
    written = None if before is None or after is None else after - before
    return Amplified(
        engine=engine.name,
        user_bytes=task.user_bytes,
        live_bytes=task.live_bytes,
        work=work,
        passed_bytes=None if written is None else written.passed_bytes,
        stored_bytes=None if written is None else written.stored_bytes,
        data_bytes=sizes["data"],
        log_bytes=sizes["log"],
        other_bytes=sizes["other"],
        seconds=seconds,
    )


def _put_all(
    put: Callable[[bytes, bytes], object], data: Data, task: AmplifyTask, settled: Callable[[], None]
) -> None:
    """Put the stream; if it is paced, no memtable is filled before the store has settled."""
    for pairs in task.writes(data):
        for keys, values in cut(pairs, task.puts_a_step):
            for key, value in zip(keys, values, strict=True):
                put(key, value)
            if task.is_paced:
                settled()


def _nothing() -> None:
    """What there is to wait for in a store without a background."""


def _check(get: Callable[[bytes], bytes | None], data: Data, task: AmplifyTask) -> None:
    """Look whether the store has what was written last: one that loses writes has an easy life."""
    last = task.last_versions(data)
    for number in data.drawn(_SAMPLE, 13).tolist():
        if get(data.key(number)) != data.value(number, int(last[number])):
            raise RuntimeError(f"entry {number} is not what was written last")


def _sizes(directory: Path) -> dict[str, int]:
    found = {"data": 0, "log": 0, "other": 0}
    for place, _, names in os.walk(directory):
        for name in names:
            kind = "log" if name.endswith(_LOGS) else "data" if name.endswith(_DATA) else "other"
            try:
                found[kind] += os.stat(os.path.join(place, name)).st_size
            except FileNotFoundError:  # removed since it was listed
                continue
    return found


def main() -> None:
    """Wait for the word, then answer with figures or with what went wrong."""
    # Ctrl-C reaches every process of the terminal: the one that has started this one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    name, directory, task = sys.argv[1:]
    engine, wanted = find_engine(name), AmplifyTask(**json.loads(task))
    _say("ready")
    sys.stdin.readline()
    answer: dict[str, object]
    try:
        answer = {"amplified": amplify(engine, Path(directory), wanted, QUIET_SECONDS).to_json_of_child()}
    except Exception as error:  # noqa: BLE001  # whatever an engine raises: the others go on
        answer = failure(error, Path(directory))
    _say(json.dumps(answer))


def failure(error: Exception, directory: Path) -> dict[str, object]:
    """Return what to say of an error, without places of this machine."""
    said = f"{type(error).__name__}: {error}".replace(str(directory), "")
    # Some engines name only what followed from it: a writer that had an error, or a commit that failed.
    is_full = is_disk_full(error) or shutil.disk_usage(directory).free < _FREE_BYTES_MIN
    return {"failed": said, "is_disk_full": is_full}


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
