"""A log beside a list: whatever is done to it, and wherever it crashes, acknowledged entries stay."""

import random

from hypothesis import given
from hypothesis import strategies as st

import wal
from tests.wal.memory_directory import Clock, MemoryDirectory, open_log

PAYLOAD = st.binary(max_size=8) | st.binary(min_size=300, max_size=1500)
STEP = st.one_of(
    st.tuples(st.just("append"), PAYLOAD, st.booleans()),
    st.tuples(st.just("append_many"), st.lists(PAYLOAD, min_size=1, max_size=4), st.booleans()),
    st.tuples(st.just("sync")),
    st.tuples(st.just("trim"), st.integers(0, 100)),
    st.tuples(st.just("reopen")),
    st.tuples(st.just("kill")),
    st.tuples(st.just("crash"), st.integers(0, 2**32)),
    st.tuples(st.just("read"), st.integers(0, 100)),
)


class Model:
    """What the log must hold: `payloads` from offset 1 on, of which `durable` are safe."""

    def __init__(self) -> None:
        self.directory = MemoryDirectory()
        self.clock = Clock(step_us=3)
        self.log = self.open()
        self.payloads: list[bytes] = []
        self.durable = 0
        self.earliest = 1

    def open(self) -> wal.Log:
        return open_log(self.directory, clock=self.clock, segment_bytes=1024)

    def append(self, payload: bytes, sync: bool) -> None:
        assert self.log.append(payload, sync=sync) == len(self.payloads) + 1
        self._appended([payload], sync)

    def append_many(self, payloads: list[bytes], sync: bool) -> None:
        assert self.log.append_many(payloads, sync=sync) == len(self.payloads) + 1
        self._appended(payloads, sync)

    def _appended(self, payloads: list[bytes], sync: bool) -> None:
        self.payloads += payloads
        # A full segment is synced when it is finished, so more may be durable than was asked for.
        self.durable = len(self.payloads) if sync else max(self.durable, self.log.latest)

    def sync(self) -> None:
        self.log.sync()
        self.durable = len(self.payloads)

    def trim(self, percent: int) -> None:
        before = self.earliest + (len(self.payloads) + 1 - self.earliest) * percent // 100
        self.log.trim(before)
        assert self.earliest <= self.log.earliest <= max(before, self.earliest)
        assert percent < 100 or self.log.earliest == before
        self.earliest = self.log.earliest
        self.durable = max(self.durable, self.log.latest)

    def reopen(self) -> None:
        self.log.close()
        self.durable = len(self.payloads)
        self.log = self.open()

    def kill(self) -> None:
        self._come_back(self.directory.after_kill())
        assert self.log.latest == len(self.payloads), "nothing that was written is lost with the process"

    def crash(self, seed: int) -> None:
        self._come_back(self.directory.after_crash(random.Random(seed)))

    def _come_back(self, directory: MemoryDirectory) -> None:
        self.directory = directory
        outside = wal.Log(directory)
        seen = list(outside.read(outside.earliest))
        self.log = self.open()
        # What a reader saw in between must not be taken back.
        assert list(self.log.read(self.log.earliest)) == seen
        assert self.durable <= self.log.latest <= len(self.payloads)
        assert self.log.earliest == self.earliest
        del self.payloads[self.log.latest :]
        self.durable = len(self.payloads)

    def read(self, percent: int) -> None:
        start = self.earliest + (self.durable + 1 - self.earliest) * percent // 100
        outside = wal.Log(self.directory)
        for log in (self.log, outside):
            assert (log.earliest, log.latest) == (self.earliest, self.durable)
            entries = list(log.read(start))
            assert [entry.payload for entry in entries] == self.payloads[start - 1 : self.durable]
            assert [entry.offset for entry in entries] == list(range(start, self.durable + 1))
            times = [entry.time_us for entry in entries]
            assert times == sorted(times)
            if entries:
                first = next(log.read(log.seek_time(times[0])))
                assert first.time_us == times[0]
                assert first.offset <= start


@given(st.lists(STEP, max_size=40))
def test_a_log_holds_what_a_list_holds(steps):
    model = Model()
    for name, *arguments in steps:
        getattr(model, name)(*arguments)
    model.read(0)
    model.reopen()
    model.read(0)


@given(st.lists(STEP, max_size=12), st.integers(0, 60), st.integers(0, 2**32))
def test_a_log_survives_a_crash_at_any_operation(steps, operation, seed):
    # The crash comes before the n-th operation on the directory, in the midst of whatever is being done.
    class Crash(Exception):
        pass

    def count_down(kind: str, name: str) -> None:
        nonlocal operation
        operation -= kind != "read"
        if operation == 0:
            raise Crash

    model = Model()
    model.directory.fault = count_down
    appended: list[bytes] = []
    try:
        for name, *arguments in steps:
            if name in ("kill", "crash"):
                continue
            appended = [*model.payloads]
            if name.startswith("append"):
                appended += [arguments[0]] if name == "append" else arguments[0]
            getattr(model, name)(*arguments)
    except Crash:
        pass
    directory = model.directory.after_crash(random.Random(seed))
    expected = model.payloads if len(model.payloads) >= len(appended) else appended
    with open_log(directory, clock=model.clock, segment_bytes=1024) as log:
        assert model.earliest <= log.earliest
        assert model.durable <= log.latest
        entries = list(log.read(log.earliest))

    assert [entry.payload for entry in entries] == [expected[entry.offset - 1] for entry in entries]
