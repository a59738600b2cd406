"""Threads of a run: what they call, what they count, and how they end."""

import threading
import time
from dataclasses import replace

import pytest

import lsm
from bench.run.calls import Stopped, Target, empty_target, made_ready, target_of, timed
from bench.run.crew import Crew
from bench.run.empty import loop_cost_ns
from bench.run.worker import Worker
from bench.workload import WORKLOADS, Size, capacity, find_workload, load, operations
from tests.bench.stores import tiny_data


class Recorder:
    """A store that is a dict, and remembers what it was asked."""

    def __init__(self):
        self.pairs, self.asked, self.missed = {}, [], 0

    def target(self):
        return Target(self.put, self.get, self.delete, self.scan, self.modify)

    def put(self, key, value):
        self.asked.append("put")
        self.pairs[key] = value

    def get(self, key):
        self.asked.append("get")
        self.missed += key not in self.pairs

    def delete(self, key):
        self.asked.append("delete")
        self.pairs.pop(key, None)

    def scan(self, start, limit):
        self.asked.append("scan")
        assert start in self.pairs or limit == len(self.pairs)

    def modify(self, key, value):
        self.asked.append("modify")
        assert key in self.pairs
        self.pairs[key] = value


def ran(worker):
    worker.run()
    assert worker.failure is None
    return worker


def on_recorder(name, seed, count=300):
    workload, size = find_workload(name), Size(keys=100, count=count, seed=seed)
    data, recorder, stop = tiny_data(seed, capacity(workload, size)), Recorder(), threading.Event()
    for chunk in load(workload, size):
        recorder.pairs.update(zip(*data.pairs(chunk.keys), strict=True))
    return ran(Worker(operations(workload, size), data, recorder.target(), stop)), recorder


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_a_worker_asks_for_every_operation_once(workload, seed):
    worker, recorder = on_recorder(workload.name, seed)

    assert worker.done == len(recorder.asked) == 300
    counts = {kind: latencies.count for kind, latencies in worker.latencies.items()}
    counts["get"] = counts.get("get", 0) + counts.pop("miss", 0)
    assert {kind: count for kind, count in counts.items() if count} == {
        kind: recorder.asked.count(kind) for kind in set(recorder.asked)
    }
    assert recorder.missed == (300 if workload.name == "readmissing" else 0)
    if worker.added is not None:
        loaded = 100 if workload.needs_load else 0
        assert len(recorder.pairs) == loaded + worker.added


def test_overwriting_changes_the_values(seed):
    _, before = on_recorder("overwrite", seed, count=1)
    _, after = on_recorder("overwrite", seed, count=1000)

    assert before.pairs.keys() == after.pairs.keys()
    assert sum(before.pairs[key] != after.pairs[key] for key in before.pairs) > 90


def test_what_was_done_before_an_error_is_counted(seed):
    calls = iter(range(10**6))

    def put(key, value):
        if next(calls) == 41:
            raise OSError("broken")

    stop = threading.Event()
    stream = operations(find_workload("overwrite"), Size(keys=100, count=1000, seed=seed))
    worker = Worker(stream, tiny_data(seed), replace(empty_target(), put=put), stop)
    worker.run()

    assert worker.done == worker.latencies["put"].count == 41
    assert str(worker.failure) == "broken" and stop.is_set()


def test_stamps_survive_an_error():
    stamps = []

    with pytest.raises(ZeroDivisionError):
        timed([(abs, (1,)), (divmod, (1, 0)), (abs, (1,))], stamps)

    assert len(stamps) == 2


def test_a_worker_stops_soon_when_told(seed):
    stop = threading.Event()
    asked = []

    def slow(key):
        asked.append(key)
        if len(asked) == 3:
            stop.set()
        time.sleep(0.05)

    stream = operations(find_workload("readrandom"), Size(keys=100, count=10**6, seed=seed))
    ran(Worker(stream, tiny_data(seed), replace(empty_target(), get=slow), stop))

    assert len(asked) < 10


def test_a_scan_of_everything_is_given_up_when_told(tmp_path):
    stop = threading.Event()
    with lsm.open(tmp_path / "db") as db:
        db.update({b"%06d" % number: b"" for number in range(25_000)})
        stream = operations(find_workload("scan"), Size(keys=25_000, count=2))
        stop.set()
        with pytest.raises(Stopped):
            target_of(db, stop).scan(b"", 25_000)
        stop.clear()
        assert ran(Worker(stream, tiny_data(1), target_of(db, stop), stop)).done == 2


def test_calls_do_to_a_store_what_they_say(tmp_path, seed):
    data, stop = tiny_data(seed), threading.Event()
    with lsm.open(tmp_path / "db", sync="os") as db:
        target = target_of(db, stop)
        for name in ("fillrandom", "ycsb-f", "seekscan", "readmissing"):
            ran(Worker(operations(find_workload(name), Size(keys=300, count=300)), data, target, stop))
        assert len(db) == 300
        ran(Worker(operations(find_workload("deleterandom"), Size(keys=300, count=3000)), data, target, stop))
        assert len(db) < 10


def test_a_mixed_piece_keeps_its_order(seed):
    (chunk,) = operations(find_workload("ycsb-a"), Size(keys=100, count=50, seed=seed))
    data, target = tiny_data(seed), empty_target()

    ready = list(made_ready(chunk, 1, data, target))

    assert [arguments[0] for _, arguments in ready] == data.keys(chunk.keys)
    assert [len(arguments) for _, arguments in ready] == [2 if kind == 0 else 1 for kind in chunk.kinds]


def test_a_crew_does_all_and_looks_on(seed):
    stop, data, looks = threading.Event(), tiny_data(seed), []
    size = Size(keys=50, count=100, seed=seed, threads=3)
    slow = replace(empty_target(), put=lambda key, value: time.sleep(0.001))  # lets the other have a turn
    streams = [operations(find_workload("fillrandom"), replace(size, thread=thread)) for thread in range(3)]
    endless = operations(find_workload("overwrite"), Size(keys=300, count=1 << 40))
    crew = Crew(
        [Worker(stream, data, slow, stop) for stream in streams],
        [Worker(endless, data, empty_target(), stop)],
        stop,
    )
    assert (crew.done, crew.wall_seconds, crew.added) == (0, 0.0, 0)

    crew.work(lambda: looks.append(crew.done))

    assert crew.done == looks[-1] == 100 and crew.added == 50
    assert sum(worker.done for worker in crew.everybody) > crew.done
    assert 0 < crew.seconds <= crew.wall_seconds


@pytest.mark.parametrize("who", [0, 1])
def test_when_one_fails_all_end_and_the_reason_is_raised(who, seed):
    stop, data = threading.Event(), tiny_data(seed)

    def fail(key, value):
        raise OSError("broken")

    targets = [empty_target(), empty_target()]
    targets[who] = replace(targets[who], put=fail)
    streams = [operations(find_workload("overwrite"), Size(keys=300, count=1 << 40)) for _ in range(2)]
    first, second = (Worker(*pair, stop) for pair in zip(streams, [data] * 2, targets, strict=True))

    with pytest.raises(OSError, match="broken"):
        Crew([first], [second], stop).work(lambda: None)


def test_an_interrupt_while_waiting_stops_everybody(seed):
    stop, data = threading.Event(), tiny_data(seed)
    endless = operations(find_workload("overwrite"), Size(keys=300, count=1 << 40))
    crew = Crew([Worker(endless, data, empty_target(), stop)], [], stop)

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        crew.work(interrupt)

    done = crew.done
    time.sleep(0.05)
    assert stop.is_set() and crew.done == done > 0


@pytest.mark.parametrize("name", ["scan", "ycsb-e", "fillsync"])
def test_the_bench_has_a_cost_of_its_own(name, seed):
    size = Size(keys=300, count=300, seed=seed)

    assert loop_cost_ns(find_workload(name), size, tiny_data(seed, 600)) > 0
