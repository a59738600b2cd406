"""Reading on while another handle writes."""

import time
from itertools import pairwise

import lsm
from lsm.log.reader_log import ReaderLog


def test_a_keyspace_that_is_made_while_a_piece_is_read_is_known(tmp_path, monkeypatch):
    shown = ReaderLog.shown
    with lsm.open(tmp_path / "db", "n") as db:
        db.put(b"a", b"1")
        with lsm.open(tmp_path / "db", "r") as reader:
            changes = reader.changes(follow=True, timeout=5.0)
            assert next(changes).key == b"a"

            def late(self, meta):
                if db.get(b"b") is None:
                    db.put(b"b", b"2")
                    db.keyspace("late").put(b"c", b"3")
                return shown(self, meta)

            monkeypatch.setattr(ReaderLog, "shown", late)

            assert [(change.keyspace, change.key) for change in (next(changes), next(changes))] == [
                ("default", b"b"),
                ("late", b"c"),
            ]


def test_a_reader_goes_on_over_rotations(tmp_path):
    path = tmp_path / "db"
    with lsm.open(path, "n", log_retention="all") as db, lsm.open(path, "r") as reader:
        changes = reader.changes(follow=True, timeout=5.0)
        for number in range(50):
            db.put(b"%d" % number, b"")
            if number % 10 == 9:
                db.flush()

            assert next(changes).key == b"%d" % number


def test_a_reader_that_waits_is_woken_at_once_and_then_not_too_often(tmp_path):
    with lsm.open(tmp_path / "db", "n") as db, lsm.open(tmp_path / "db", "r") as reader:
        source = reader._log_source()
        source.wait(0.0)  # begins to watch
        woken = []
        for number in range(4):
            db.put(b"%d" % number, b"")
            source.wait(1.0)
            woken.append(time.monotonic())
        source.close()

        apart = [later - earlier for earlier, later in pairwise(woken)]
        assert all(0.0095 <= seconds < 1.0 for seconds in apart)
