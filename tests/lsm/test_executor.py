"""Who does background work, and what happens when a worker process is not to be had."""

import os
import signal
import sys

import lsm

LOAD = {b"%06d" % number: bytes(100) for number in range(20_000)}


def worker_of(db):
    processes = [getattr(executor, "_process", None) for executor in db._background._executors]
    return next(process for process in processes if process is not None)


def test_a_worker_process_flushes_what_is_large(tmp_path):
    with lsm.open(tmp_path / "db") as db:
        db.update(LOAD)
        db.flush()

        assert worker_of(db).poll() is None
        assert db.stats().write.written["flush"] > 2_000_000
        assert dict(db.scan()) == LOAD


def test_a_killed_worker_is_done_without(tmp_path):
    with lsm.open(tmp_path / "db") as db:
        db.update(LOAD)
        db.flush()
        worker = worker_of(db)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()

        db.update(dict.fromkeys(LOAD, b"new" * 30))
        db.flush()

        assert db.stats().background.failure == ""
        assert set(db.values()) == {b"new" * 30}


def test_without_an_interpreter_to_start_the_thread_does_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python-here"))
    with lsm.open(tmp_path / "db") as db:
        db.update(LOAD)
        db.flush()
        db.compact()

        assert db.stats().background.failure == ""
        assert dict(db.scan()) == LOAD


def test_workers_end_with_the_store(tmp_path):
    db = lsm.open(tmp_path / "db")
    db.update(LOAD)
    db.flush()
    worker = worker_of(db)

    db.close()

    assert worker.returncode is not None
