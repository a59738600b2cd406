"""What the store says about itself, above all the bytes users wrote."""

import json
import random

import pytest

import lsm
from tests.lsm.hookfs import HookFS, fail_once
from tests.lsm.stores import MANUAL, TINY, ManualClock, open_memory
from tests.support.faultfs import Fault, FaultFS, FaultRule, Operation
from tests.support.memfs import MemFS


class CountedWriter:
    """Writes at random and knows how many bytes of keys and values it wrote."""

    def __init__(self, db: lsm.DB, seed: int) -> None:
        print(f"seed {seed}")
        self.db = db
        self.rng = random.Random(seed)
        self.user_bytes = 0

    def pair(self) -> tuple[bytes, bytes]:
        key = b"k%d" % self.rng.randrange(50) * self.rng.randrange(3)
        value = self.rng.randbytes(self.rng.choice([0, 1, 30]))
        return key, value

    def write(self) -> None:
        how = self.rng.randrange(6)
        key, value = self.pair()
        if how < 2:
            self.db.put(key, value, sync=self.rng.random() < 0.3)
            self.user_bytes += len(key) + len(value)
        elif how == 2:
            self.db.delete(key)
            self.user_bytes += len(key)
        elif how == 3:
            self.db.keyspace("other").put(key, value)
            self.user_bytes += len(key) + len(value)
        else:
            self.batch()

    def batch(self) -> None:
        with self.db.batch() as batch:
            for _ in range(self.rng.randrange(6)):
                key, value = self.pair()
                keyspace = self.rng.choice([None, "other"])
                if self.rng.random() < 0.7:
                    batch.put(key, value, keyspace=keyspace)
                    self.user_bytes += len(key) + len(value)
                else:
                    batch.delete(key, keyspace=keyspace)
                    self.user_bytes += len(key)


@pytest.mark.parametrize("options", [MANUAL, TINY], ids=["one segment", "many segments"])
def test_user_bytes_are_exact_over_puts_deletes_batches_and_rotations(seed, options):
    db = open_memory(options=options)
    db.keyspace("other")
    writer = CountedWriter(db, seed)
    for number in range(400):
        writer.write()
        if number % 67 == 0:
            db.flush()
        assert db.stats().write.user_bytes == writer.user_bytes


def test_user_bytes_start_anew_with_every_opening(seed):
    fs = MemFS()
    for _ in range(3):
        with open_memory(fs, options=TINY) as db:
            db.keyspace("other")
            assert db.stats().write.user_bytes == 0
            writer = CountedWriter(db, seed)
            for _ in range(50):
                writer.write()
            assert db.stats().write.user_bytes == writer.user_bytes


def test_a_write_that_failed_is_not_counted_after_resume():
    fs = FaultFS(MemFS())
    db = open_memory(fs)
    for number in range(5):
        db[b"k%d" % number] = b"value"
    fs.rule = FaultRule(operation=Operation.APPEND, fault=Fault.SHORT_WRITE, pattern="*.log")
    with pytest.raises(lsm.DiskFull):
        db[b"lost"] = b"value"
    fs.heal()
    db.resume()
    db[b"k5"] = b"value"

    assert db.stats().write.user_bytes == 6 * 7


def test_a_write_that_was_interrupted_is_counted_if_it_is_there_after_all():
    fs = HookFS(MemFS())
    db = open_memory(fs)
    db[b"a"] = b"1"
    fs.hook = fail_once("sync", "*.log", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        db[b"b"] = b"2"
    db[b"c"] = b"3"

    assert db.stats().write.user_bytes == sum(len(key) + len(value) for key, value in db.scan())


def test_stats_are_plain_values():
    with open_memory() as db:
        db[b"k"] = b"v"
        db.flush()
        db.keyspace("orders")[b"k"] = b"v"

        assert json.loads(json.dumps(db.stats().to_json()))["seq"] == 2


def test_levels_and_memtables_are_counted_by_keyspace():
    with open_memory() as db:
        orders = db.keyspace("orders")
        orders.update({b"a": b"1", b"b": b"22"})
        orders.delete(b"c")
        db.flush()
        orders[b"d"] = b"4"
        default, found = db.stats().keyspaces

        assert (default.name, found.name) == ("default", "orders")
        assert (default.memtable_entries, found.memtable_entries) == (0, 1)
        (level,) = (level for level in found.levels if level.tables)
        assert (level.tables, level.entries, level.tombstones, level.user_bytes) == (1, 3, 1, 6)


def test_bytes_written_are_told_by_cause():
    with open_memory() as db:
        db.update({b"%d" % number: bytes(100) for number in range(100)})
        before = db.stats().write.written
        db.flush()
        after = db.stats().write.written

        assert before["flush"] == 0
        assert after["flush"] >= 10_000
        assert after["log"] >= before["log"] >= 10_000


def test_write_amp_is_bytes_written_over_bytes_handed_in():
    with open_memory() as db:
        assert db.stats().write.write_amp is None
        db.update({b"%d" % number: bytes(100) for number in range(100)})
        db.flush()
        write = db.stats().write

        assert write.write_amp == sum(write.written.values()) / write.user_bytes
        assert 2 < write.write_amp < 3


def test_snapshots_and_sealed_memtables_are_shown():
    with open_memory(options={**TINY, "sealed_max": 10}) as db, db.snapshot():
        for number in range(40):
            db[b"%d" % number] = bytes(50)
        stats = db.stats()

        assert stats.snapshots == 1
        assert stats.background.sealed > 0
        while db.step():
            pass
        assert db.stats().background.sealed == 0
        assert db.stats().background.flushes > 0


def test_pressure_has_a_reason():
    options = {**MANUAL, "l0_tables_max": 2, "l0_tables_slow": 2, "l0_tables_stop": 4}
    clock = ManualClock()
    with open_memory(options=options, clock=clock) as db:
        for number in range(3):
            db[b"%d" % number] = b"x"
            db.flush()
        pressure = db.stats().background.pressure

        assert 0 < pressure.level < 1
        assert pressure.reason == "3 tables in L0 wait for compaction"
        before_us, before = clock.us, db.stats().background.slowdowns
        db[b"more"] = b"x"
        assert clock.us > before_us, "a write was slowed down"
        assert db.stats().background.slowdowns == before + 1
        assert db.stats().background.last_stall_reason == "3 tables in L0 wait for compaction"


def test_a_reader_has_stats_too():
    fs = MemFS()
    with open_memory(fs) as db:
        db[b"k"] = b"v"
        with open_memory(fs, "r") as reader:
            stats = reader.stats()

    assert (stats.seq, stats.background, stats.write.user_bytes) == (1, None, 0)


def test_stats_do_not_change_what_they_count():
    with open_memory() as db:
        db[b"k"] = b"v"

        assert db.stats() == db.stats()
