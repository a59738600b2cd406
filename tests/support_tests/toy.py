"""A toy store, small enough to be seen to be right, with faults to switch on: food for the crash builder.

CURRENT names one table and one log.  A batch is one record in the log; a checkpoint writes all of
the state into a new table and starts a new log.
"""

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from lsm.fs_types import Cause, FileSystem
from tests.support.crash import CrashState, CrashStates, Tearing, crash_states
from tests.support.memfs import MemFS
from tests.support.mutants import SyncPredicate
from tests.support.oplog import OpLog

State = dict[str, int]
HEAD = struct.Struct("<II")
RESERVE_BYTES = 1024
BUGS = ("ack early", "split batch", "unlink early", "current in place", "no checksum", "zeros are a record")


class Corrupt(Exception):
    pass


def frame(value: object) -> bytes:
    payload = json.dumps(value).encode()
    return HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def frames(data: bytes, bugs: frozenset[str] = frozenset()) -> list[State]:
    found: list[State] = []
    at = 0
    while at + HEAD.size <= len(data):
        length, crc = (
            int.from_bytes(data[at : at + 4], "little"),
            int.from_bytes(data[at + 4 : at + 8], "little"),
        )
        payload = data[at + HEAD.size : at + HEAD.size + length]
        if len(payload) < length or (zlib.crc32(payload) != crc and "no checksum" not in bugs):
            break
        if length == 0 and "zeros are a record" not in bugs:  # The checksum of nothing is 0.
            break
        found.append(json.loads(payload or b'{"n": 0}'))
        at += HEAD.size + length
    return found


def read(fs: FileSystem, name: str) -> bytes:
    file = fs.open(name)
    data = file.read_upto(0, file.size)
    file.close()
    return data


@dataclass
class Toy:
    fs: FileSystem
    log: OpLog
    bugs: frozenset[str] = frozenset()
    state: State = field(default_factory=dict)
    number: int = 0

    @classmethod
    def open(cls, fs: MemFS, bugs: frozenset[str] = frozenset()) -> "Toy":
        toy = cls(fs, fs.log, bugs)
        lock = fs.lock("LOCK", "toy")
        names = fs.list()
        if "CURRENT" in names:
            found = frames(read(fs, "CURRENT"))
            if not found:
                raise Corrupt("CURRENT")
            toy.number = found[0]["number"]
            toy.load()
        elif any(name.endswith(".log") and read(fs, name).strip(b"\0") for name in names):
            raise Corrupt("a log without CURRENT")
        # Numbers are never used twice, not even by what a crash left behind.
        toy.number = max([toy.number, *(int(name[:4]) for name in names if name[:4].isdigit())])
        toy.checkpoint()
        lock.release()
        return toy

    def load(self) -> None:
        tables = frames(read(self.fs, f"{self.number:04d}.tab"))
        if not tables:
            raise Corrupt("table")
        self.state = tables[0]
        for record in frames(read(self.fs, f"{self.number:04d}.log"), self.bugs):
            self.state.update(record)

    def put(self, batch: State) -> None:
        self.log.issue(batch["n"])
        if "ack early" in self.bugs:
            self.log.ack(batch["n"])
        if "split batch" in self.bugs:
            for key in sorted(batch):
                self.active.append(frame({key: batch[key]}))
        else:
            self.active.append(frame(batch))
        self.active.sync()
        self.log.ack(batch["n"])
        self.state.update(batch)

    def checkpoint(self) -> None:
        self.number += 1
        table = self.fs.create(f"{self.number:04d}.tab", Cause.FLUSH)
        table.append(frame(self.state))
        table.sync()
        table.close()
        self.active = self.fs.create(f"{self.number:04d}.log", Cause.LOG, reserve_bytes=RESERVE_BYTES)
        self.fs.sync_dir()
        if "unlink early" in self.bugs:
            self.remove_orphans()
        self.point()
        self.remove_orphans()

    def point(self) -> None:
        if "CURRENT.tmp" in self.fs.list():
            self.fs.unlink("CURRENT.tmp")
        if "current in place" in self.bugs and self.fs.exists("CURRENT"):
            self.fs.unlink("CURRENT")
        file = self.fs.create("CURRENT.tmp", Cause.MANIFEST)
        file.append(frame({"number": self.number}))
        file.sync()
        file.close()
        self.fs.rename("CURRENT.tmp", "CURRENT")
        self.fs.sync_dir()

    def remove_orphans(self) -> None:
        for name in self.fs.list():
            if name[:4].isdigit() and int(name[:4]) < self.number:
                self.fs.unlink(name)


def batch(number: int) -> State:
    return {"a": number, "b": number * 7, "n": number}


def history(fs: MemFS, bugs: frozenset[str] = frozenset()) -> OpLog:
    toy = Toy.open(fs, bugs)
    for number in (1, 2, 3):
        toy.put(batch(number))
    toy.checkpoint()
    for number in (4, 5):
        toy.put(batch(number))
    toy.active.close()
    return fs.log


def violation(state: CrashState, recovered: State) -> str:
    for number in range(state.acked, state.issued + 1):
        if recovered == (batch(number) if number else {}):
            return ""
    return f"cut {state.cut}: found {recovered}, wanted batch {state.acked} to {state.issued}"


def explore(
    bugs: frozenset[str] = frozenset(),
    skip_syncs: SyncPredicate | None = None,
    *,
    tearing: Tearing = "sector",
    on_image: Callable[[MemFS, State], str] = lambda fs, state: "",
) -> tuple[str, CrashStates]:
    """Return the first wrong recovery of the toy's history, or "", and the counters."""
    states = crash_states(history(MemFS(skip_syncs=skip_syncs), bugs), tearing=tearing)
    recovered: dict[bytes, State] = {}
    for state in states:
        if state.digest not in recovered:
            fs = MemFS.from_image(state.image)
            try:
                recovered[state.digest] = Toy.open(fs, bugs).state
            except (Corrupt, OSError, ValueError) as error:
                return f"cut {state.cut}: {error!r}", states
            if found := on_image(fs, recovered[state.digest]):
                return found, states
        if found := violation(state, recovered[state.digest]):
            return found, states
    return "", states
