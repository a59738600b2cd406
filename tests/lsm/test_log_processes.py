"""Reading the log of a store that another process writes, on a real disk."""

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import lsm
from lsm.fs_watch import InotifyWatch, PollingWatch
from lsm.log.reader_log import ReaderLog
from tests.lsm.log_children import OPTIONS, value_of

ROOT = Path(__file__).resolve().parent.parent.parent
KILLS = 6
MANUAL = {"background": "manual", "log_retention": "all"}


@contextmanager
def writer(path):
    """Start a process that writes; it is gone when the block ends."""
    command = [sys.executable, "-m", "tests.lsm.log_children", str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, bufsize=1)
    with process:
        try:
            assert process.stdout.readline() == "open\n"
            yield process
        finally:
            process.send_signal(signal.SIGKILL)


def acknowledged(process, at_least):
    """Read what the writer says until it has done that much; return the last number."""
    last = 0
    for line in process.stdout:
        last = int(line.split()[1])
        if last >= at_least:
            return last
    raise AssertionError("the writer has ended")


class Tail(threading.Thread):
    """Follows a log until it has seen number `until`, or fails."""

    def __init__(self, path, until=None, **how):
        super().__init__()
        self.seen = []
        self.error = None
        self.how = how
        self.db = lsm.open(path, "r")
        self.start()

    def run(self):
        try:
            for change in self.db.changes(follow=True, **self.how):
                self.seen.append(change)
        except lsm.Error as error:
            self.error = error

    def wait_for(self, seq, seconds=30):
        end = time.monotonic() + seconds
        while not (self.seen and self.seen[-1].seq >= seq):
            assert self.is_alive() and time.monotonic() < end, (self.error, self.seen[-1:], seq)
            time.sleep(0.005)

    def close(self):
        self.db.close()
        self.join(30)


def test_a_tail_beside_a_writer_that_is_killed_again_and_again_sees_every_change_once(tmp_path):
    path, tails, last = tmp_path / "db", [], 0
    try:
        for number in range(KILLS):
            with writer(path) as process:
                if not tails:
                    tails = [Tail(path), Tail(path, before=True)]
                last = acknowledged(process, last + 60 + 25 * number)
        with lsm.open(path, "w", **OPTIONS) as db:  # what a kill leaves is durable once it was recovered
            final = list(db.changes())
            assert len(final) >= last
            for tail in tails:
                tail.wait_for(final[-1].seq)
                assert tail.error is None
                assert [change[:8] for change in tail.seen] == [change[:8] for change in final]
        assert [change.seq for change in final] == list(range(1, len(final) + 1))
        assert all(change.value == value_of(change.seq) for change in final)
        assert all(change.before is None for change in tails[1].seen)  # no key is written twice
    finally:
        for tail in tails:
            tail.close()


def test_a_writer_that_dies_leaves_a_log_that_can_be_read_to_its_end(tmp_path):
    path = tmp_path / "db"
    with writer(path) as process:
        last = acknowledged(process, 200)

    with lsm.open(path, "r") as reader:
        seqs = [change.seq for change in reader.changes()]
        assert seqs == list(range(1, len(seqs) + 1)) and len(seqs) >= last
        assert reader.log.latest == len(seqs)


def test_a_tail_wakes_up_when_the_writer_syncs(tmp_path, monkeypatch):
    with lsm.open(tmp_path / "db", **MANUAL) as db:
        tail = Tail(tmp_path / "db")
        try:
            monkeypatch.setattr(ReaderLog, "settle", lambda _: 0)  # it must be told, not find out
            for number in range(1, 21):
                db.put(b"%d" % number, b"v")
                tail.wait_for(number)
        finally:
            tail.close()
    assert isinstance(tail.error, lsm.ClosedError)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere it looks now and then")
def test_a_tail_without_anything_to_do_sleeps(tmp_path, monkeypatch):
    waits, wait = [], InotifyWatch.wait

    def counted(watch, seconds):
        waits.append(seconds)
        wait(watch, seconds)

    monkeypatch.setattr(InotifyWatch, "wait", counted)
    monkeypatch.setattr(PollingWatch, "wait", lambda *_: pytest.fail("it polls"))
    with lsm.open(tmp_path / "db", **MANUAL) as db:
        db.put(b"a", b"1")
        tail = Tail(tmp_path / "db")
        tail.wait_for(1)
        time.sleep(0.5)
        before, used = len(waits), time.process_time()
        time.sleep(1.5)
        assert len(waits) - before <= 9
        assert time.process_time() - used < 0.3
        tail.close()


def test_a_store_made_anew_under_a_tail_is_another_log(tmp_path):
    path = tmp_path / "db"
    with lsm.open(path, **MANUAL) as db:
        db.put(b"a", b"1")
        log_id = db.log.id
    tail, idle = Tail(path), lsm.open(path, "r")
    try:
        tail.wait_for(1)
        with lsm.open(path, "n", **MANUAL) as db:
            db.put(b"x", b"1")
            db.put(b"y", b"2")
            tail.join(30)
            assert isinstance(tail.error, lsm.ForeignLog)
            assert [change.key for change in tail.seen] == [b"a"]
            with pytest.raises(lsm.ForeignLog):
                list(idle.changes())
            with pytest.raises(lsm.ForeignLog):
                db.changes(1, log_id=log_id)
    finally:
        tail.close()
        idle.close()


def test_a_checkpoint_has_the_changes_too(tmp_path):
    with lsm.open(tmp_path / "db", log_history=True, **MANUAL) as db:
        for number in range(30):
            db.put(b"%d" % (number % 7), b"%d" % number)
            if number in (9, 19):
                db.flush()
        db.checkpoint(tmp_path / "copy")
        expected = list(db.changes())
        pasts = list(db.changes(before=True))
        log_id = db.log.id
        db.put(b"later", b"1")
        db.compact()

    for flag in ("r", "w"):
        with lsm.open(tmp_path / "copy", flag) as copy:
            assert list(copy.changes(log_id=log_id)) == expected
            assert list(copy.changes(before=True)) == pasts
            assert list(copy.changes(15, until=18)) == expected[15:18]
            assert {change.key for change in copy.changes(compacted=True)} == {
                b"%d" % key for key in range(7)
            }
            assert (copy.log.earliest, copy.log.latest) == (1, 30)


def test_a_tail_of_a_writer_that_trims_is_told_when_it_falls_behind(tmp_path):
    options = {**OPTIONS, "log_retention": "limits", "log_retention_bytes": 0, "background": "manual"}
    with lsm.open(tmp_path / "db", **options) as db, lsm.open(tmp_path / "db", "r") as reader:
        for number in range(5):
            db.put(b"%d" % number, b"v" * 1000)
        changes = reader.changes(follow=True)
        assert next(changes).seq == 1
        for number in range(20):
            db.put(b"%d" % number, b"v" * 1000)
            db.flush()

        with pytest.raises(lsm.OffsetOutOfRange) as refused:
            list(changes)
        assert refused.value.earliest == 26
