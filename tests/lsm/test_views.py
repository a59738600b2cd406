"""Views: folded exactly once, read as a mapping, stopped by their own fold alone."""

import gc
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
from lsm.views import Note, View, folding
from lsm.views.entry import BOOKS, Entry, Phase, decode_entry, encode_entry, entry_key
from tests.lsm.stores import MANUAL, TINY, open_memory
from tests.lsm.view_models import failing, folded, history, mirror, noted, system_names, tally
from tests.support.memfs import MemFS

# Every change stays in the log, so that tests can fold it, too.
KEPT = {**MANUAL, "log_retention": "all"}


def eventually(claim: Callable[[], bool], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < end, "it never became true"
        time.sleep(0.002)


class TestFolding:
    def test_a_view_holds_what_its_fold_makes_of_the_changes(self):
        db = open_memory()
        view = db.view("tally")(tally)
        db.update({b"a": b"1", b"b": b"1"})
        db.delete(b"a")

        assert view.refresh() == 3
        assert dict(view) == {b"": b"3", b"a": b"2", b"b": b"1"}

    def test_the_decorator_returns_the_view(self):
        db = open_memory()

        @db.view("named", version=3)
        def orders(change, view):
            return [(change.key, change.value)]

        assert isinstance(orders, View)
        assert (orders.name, orders.version, orders.keyspace) == ("named", 3, None)

    def test_the_second_refresh_folds_only_what_is_new(self):
        db = open_memory()
        seen = []

        @db.view("seen")
        def view(change, state):
            seen.append(change.seq)

        db.put(b"a", b"")
        view.refresh()
        db.put(b"b", b"")
        view.refresh()
        view.refresh()

        assert seen == sorted(set(seen)) and len(seen) == 2

    def test_it_goes_on_where_it_was_after_reopening(self):
        fs = MemFS()
        with open_memory(fs) as db:
            view = db.view("tally")(tally)
            db.put(b"a", b"1")
            view.refresh()
            db.put(b"a", b"2")
        db = open_memory(fs)
        view = db.view("tally")(tally)

        assert view[b"a"] == b"1"
        assert view.refresh() == 1
        assert view[b"a"] == b"2"

    def test_one_keyspace_or_all(self):
        db = open_memory()
        everything, orders = db.view("all")(mirror), db.view("orders", keyspace="orders")(mirror)
        db.put(b"k", b"1")
        orders.refresh()
        assert dict(orders) == {}  # there is no such keyspace yet
        db.keyspace("orders").put(b"k", b"2")

        assert (everything.refresh(), orders.refresh()) == (2, 1)
        assert dict(everything) == {b"default/k": b"1", b"orders/k": b"2"}
        assert dict(orders) == {b"orders/k": b"2"}

    def test_the_store_s_own_writes_are_not_folded(self):
        db = open_memory()
        first, second = db.view("first")(mirror), db.view("second")(mirror)
        db.put(b"k", b"v")
        for _ in range(3):
            first.refresh()
            second.refresh()

        assert dict(first) == dict(second) == {b"default/k": b"v"}

    def test_an_idle_refresh_writes_nothing(self):
        db = open_memory()
        first, second = db.view("first")(mirror), db.view("second")(mirror)
        db.put(b"k", b"v")
        first.refresh()
        second.refresh()
        seq = db.seq

        assert (first.refresh(), second.refresh()) == (0, 0)
        assert db.seq == seq
        assert (first.lag, second.lag) == (0, 0)

    def test_a_position_moves_on_when_much_log_went_by_with_nothing_to_fold(self, monkeypatch):
        monkeypatch.setattr("lsm.views.view.HEARTBEAT_BYTES", 1000)
        db = open_memory(options=TINY)
        view = db.view("quiet", keyspace="quiet")(mirror)
        view.refresh()
        before = view.position
        for number in range(100):
            db.put(b"%d" % number, b"x" * 50)

        assert view.refresh() == 0
        assert view.position > before + 100

    def test_a_fold_may_return_nothing_a_list_or_a_generator(self):
        db = open_memory()
        answers = iter([None, [], [(b"a", b"1")], iter([(b"b", b"2")])])
        view = db.view("v")(lambda change, state: next(answers))
        for number in range(4):
            db.put(b"%d" % number, b"")

        assert view.refresh() == 4
        assert dict(view) == {b"a": b"1", b"b": b"2"}

    def test_notes_are_the_fold_s_own(self):
        db = open_memory()
        view = db.view("noted")(noted)
        db.put(b"k", b"old")
        view.refresh()
        assert dict(view) == {}
        db.put(b"k", b"new")
        view.refresh()

        assert dict(view) == {b"k": b"old"}
        assert list(view.scan(reverse=True)) == [(b"k", b"old")]

    def test_a_fold_sees_stored_state_and_its_chunk_s_own_writes_in_order(self):
        db = open_memory()
        seen = []

        def fold(change, view):
            seen.append((list(view.scan()), list(view.scan(reverse=True)), len(view), change.key in view))
            yield change.key, change.value
            yield Note(change.key, b"note")

        view = db.view("v")(fold)
        db.update({b"b": b"1", b"d": b"2"})
        view.refresh()
        with db.batch() as batch:
            batch.put(b"a", b"3")
            batch.delete(b"b")
            batch.put(b"c", b"4")
        view.refresh()

        states = [{}, {b"b": b"1"}, {b"b": b"1", b"d": b"2"}]
        states += [{b"a": b"3", **states[2]}, {b"a": b"3", b"d": b"2"}]
        keys = [b"b", b"d", b"a", b"b", b"c"]
        assert seen == [
            (sorted(state.items()), sorted(state.items(), reverse=True), len(state), key in state)
            for state, key in zip(states, keys, strict=True)
        ]

    def test_chunks_do_not_cut_batches_in_two(self, monkeypatch):
        monkeypatch.setattr(folding, "CHUNK_CHANGES", 5)
        db = open_memory()
        view = db.view("tally")(tally)
        view.refresh()
        ends = set()
        for size in (3, 3, 9, 1, 4):
            db.update({b"%d" % number: b"" for number in range(size)})
            ends.add(db.seq)
        commits, commit = [], view._books.commit

        def noting(entry: Entry, *rest: object, **how: object) -> Entry:
            commits.append(entry)
            return commit(entry, *rest, **how)

        monkeypatch.setattr(view._books, "commit", noting)
        view.refresh()

        positions = [entry.serving.position for entry in commits]
        assert len(positions) == 3 and set(positions) <= ends

    def test_large_writes_end_a_chunk(self, monkeypatch):
        monkeypatch.setattr(folding, "CHUNK_BYTES", 1000)
        monkeypatch.setattr(folding, "CHUNK_BYTES_MAX", 3000)
        db = open_memory()
        view = db.view("v")(mirror)
        for number in range(10):
            db.put(b"%d" % number, b"x" * 400)
        db.update({b"b%d" % number: b"x" * 400 for number in range(20)})
        view.refresh()

        assert dict(view) == {b"default/" + key: value for key, value in db.scan()}

    def test_writes_that_nobody_has_synced_are_folded_by_a_refresh(self):
        db = open_memory(options={**MANUAL, "sync": "os"})
        view = db.view("v")(mirror)
        db.put(b"k", b"v")

        assert view.refresh() == 1


class TestReading:
    def make(self) -> tuple[lsm.DB, View]:
        db = open_memory()
        view = db.view("v")(lambda change, state: [(change.key, change.value)])
        db.update({b"a": b"1", b"b": b"2", b"ba": b"3", b"\xff": b"4", b"": b"0"})
        view.refresh()
        return db, view

    def test_it_is_a_mapping(self):
        _, view = self.make()

        assert view[b"a"] == b"1" and view.get(b"x") is None and view.get(b"x", b"y") == b"y"
        assert b"b" in view and b"x" not in view and len(view) == 5 and view
        assert list(view) == [b"", b"a", b"b", b"ba", b"\xff"]
        assert view.multi_get([b"b", b"x"]) == [b"2", None]
        with pytest.raises(KeyError):
            view[b"x"]
        with pytest.raises(lsm.InvalidType):
            view.get("text")

    def test_ranges(self):
        _, view = self.make()

        assert [key for key, _ in view.scan(b"b")] == [b"b", b"ba", b"\xff"]
        assert [key for key, _ in view.scan(b"a", b"ba")] == [b"a", b"b"]
        assert [key for key, _ in view.scan(prefix=b"b", reverse=True)] == [b"ba", b"b"]
        assert [key for key, _ in view.scan(limit=1)] == [b""]
        assert [key for key, _ in view.scan(b"z", b"a")] == []

    def test_before_the_first_refresh_it_is_empty(self):
        db = open_memory()
        db.put(b"k", b"v")
        view = db.view("v")(mirror)

        assert (dict(view), view.position, view.lag, db.open_view("v").version) == ({}, 0, 1, None)

    def test_a_snapshot_has_state_and_position_of_one_moment(self):
        db, view = self.make()
        position = view.position
        with view.snapshot() as snapshot:
            db.put(b"a", b"new")
            view.refresh()
            view.rebuild("earliest")
            assert (snapshot.position, snapshot[b"a"], len(snapshot)) == (position, b"1", 5)
        assert view[b"a"] == b"new" and view.position > position

    def test_a_scan_survives_a_rebuild(self):
        _, view = self.make()
        scan = view.scan()
        first = next(scan)
        view.rebuild("earliest")

        assert [first, *scan] == [*view.scan()]

    def test_a_reader_beside_the_writer(self):
        fs = MemFS()
        db = open_memory(fs)
        beside = open_memory(MemFS(disk=fs.disk), "r")
        assert beside.views() == []
        with pytest.raises(lsm.ViewNotFound):
            beside.open_view("v")
        view = db.view("v")(mirror)
        db.put(b"a", b"1")
        view.refresh()
        beside.refresh()
        reader = beside.open_view("v")

        assert dict(reader) == {b"default/a": b"1"}
        assert (reader.position, reader.version, reader.lag) == (view.position, 1, 0)
        db.put(b"a", b"2")
        view.rebuild("earliest")
        beside.refresh()
        assert dict(reader) == {b"default/a": b"2"}
        with reader.snapshot() as snapshot:
            assert (snapshot.position, dict(snapshot)) == (view.position, {b"default/a": b"2"})
        with pytest.raises(lsm.ReadOnlyError, match="open_view"):
            beside.view("v")(mirror)
        with pytest.raises(lsm.ReadOnlyError):
            beside.drop_view("v")

    def test_they_are_listed(self):
        db = open_memory()
        view = db.view("b", version=4, keyspace="k", max_lag_bytes=10**6)(mirror)
        db.view("a")(failing(mirror, {2}))
        view.refresh()

        first, second = db.views()
        assert (first.name, first.version, first.position, first.error) == ("a", None, 0, None)
        assert (second.name, second.version, second.keyspace, second.max_lag_bytes) == ("b", 4, "k", 10**6)
        assert not second.is_building
        assert db.keyspaces() == ["default"]
        assert db.consumers() == []


class TestFailing:
    def test_what_was_before_is_kept_and_the_number_is_named(self):
        db = open_memory()
        db.update({b"a": b"", b"b": b"", b"c": b""})
        view = db.view("v")(failing(tally, {2}))
        with pytest.raises(
            lsm.ViewFailed, match=r"'v' stopped at sequence number 2: ValueError: will not"
        ) as caught:
            view.refresh()

        assert (caught.value.view, caught.value.seq) == ("v", 2)
        assert isinstance(caught.value.__cause__, ValueError)
        assert view.error is caught.value

    def test_a_mended_fold_goes_on_and_nothing_is_lost_or_doubled(self):
        db = open_memory()
        view = db.view("v")(tally)
        view.refresh()
        first = db.seq + 1
        db.update({b"%d" % number: b"" for number in range(5)})
        broken = db.view("v")(failing(tally, {first + 3}))
        for _ in range(2):
            with pytest.raises(lsm.ViewFailed):
                broken.refresh()
            assert dict(broken) == {b"": b"3", b"0": b"1", b"1": b"1", b"2": b"1"}
            assert broken.position == first + 2
        mended = db.view("v")(tally)

        assert mended.refresh() == 2
        assert mended.error is None
        assert dict(mended) == folded(tally, history(db))
        with pytest.raises(lsm.ClosedError, match="registered again"):
            broken.refresh()

    def test_other_views_go_on(self):
        db = open_memory()
        broken, sound = db.view("broken")(failing(tally, {3})), db.view("sound")(tally)
        db.put(b"k", b"")
        with pytest.raises(lsm.ViewFailed):
            broken.refresh()

        assert sound.refresh() == 1
        db.put(b"k", b"")
        assert db.get(b"k") == b""

    @pytest.mark.parametrize(
        ("answer", "what"),
        [
            ([("k", b"v")], "a key must be bytes"),
            ([(b"k", "v")], "a value must be bytes"),
            ([(b"k", 1)], "a value must be bytes"),
            ([(b"k",)], "pairs"),
            ((b"ab", b"c"), "pairs"),
            ({b"k": b"v"}, "pairs"),
            (7, "not iterable"),
            ([(b"k" * 65536, b"")], "65535 is the most"),
        ],
    )
    def test_what_is_no_write_is_refused_with_view_and_number(self, answer, what):
        db = open_memory()
        view = db.view("strict")(lambda change, state: answer)
        db.put(b"k", b"v")
        with pytest.raises(lsm.ViewFailed, match=f"'strict' stopped at sequence number 2: .*{what}"):
            view.refresh()

        assert dict(view) == {}

    def test_too_much_for_one_change_is_refused(self, monkeypatch):
        monkeypatch.setattr("lsm.views.fold.CHANGE_BYTES_MAX", 100)
        db = open_memory()
        view = db.view("v")(lambda change, state: [(b"%d" % number, b"x" * 50) for number in range(3)])
        db.put(b"k", b"v")
        with pytest.raises(lsm.ViewFailed, match="100 is the most"):
            view.refresh()

    def test_a_fold_must_not_refresh_itself(self):
        db = open_memory()
        view = db.view("v")(lambda change, state: view.refresh())
        db.put(b"k", b"v")
        with pytest.raises(lsm.ViewFailed, match="must not refresh"):
            view.refresh()

    def test_an_interrupt_is_no_failure_of_the_fold(self):
        db = open_memory()
        view = db.view("v")(failing(tally, {3}, KeyboardInterrupt))
        db.update({b"a": b"", b"b": b""})
        with pytest.raises(KeyboardInterrupt):
            view.refresh()
        view = db.view("v")(tally)

        assert view.error is None
        view.refresh()
        assert dict(view) == folded(tally, history(db))


class TestRegistering:
    @pytest.mark.parametrize(
        ("name", "how"),
        [
            ("", {}),
            ("x" * 65, {}),
            (b"bytes", {}),
            ("\ud800", {}),
            ("v", {"version": "1"}),
            ("v", {"version": -1}),
            ("v", {"version": True}),
            ("v", {"max_lag_bytes": -1}),
            ("v", {"keyspace": "lsm:consumers"}),
            ("v", {"keyspace": ""}),
        ],
    )
    def test_bad_settings_are_refused(self, name, how):
        db = open_memory()
        with pytest.raises(lsm.InvalidArgument):
            db.view(name, **how)
        assert db.views() == []

    def test_a_fold_is_a_function(self):
        with pytest.raises(lsm.InvalidType):
            open_memory().view("v")("fold")

    def test_names_that_look_like_others(self):
        db = open_memory()
        for name in ("a", "a#1", "a#1#1", "ü"):
            db.view(name)(mirror).refresh()
        db.put(b"k", b"v")
        db.drop_view("a")

        assert [info.name for info in db.views()] == ["a#1", "a#1#1", "ü"]
        assert all(len(db.view(info.name)(mirror)) == 0 for info in db.views())

    def test_dropping_removes_everything(self):
        db = open_memory()
        view = db.view("v")(mirror)
        db.put(b"k", b"v")
        view.refresh()
        db.drop_view("v")

        assert (db.views(), system_names(db)) == ([], set())
        for use in (view.refresh, lambda: dict(view), lambda: view.position, view.snapshot):
            with pytest.raises((lsm.ViewNotFound, lsm.ClosedError)):
                use()
        with pytest.raises(lsm.ViewNotFound):
            db.drop_view("v")
        assert db.view("v")(mirror).refresh() == 1

    def test_a_closed_view_can_be_read(self):
        db = open_memory()
        view = db.view("v")(mirror)
        db.put(b"k", b"v")
        view.refresh()
        view.close()
        view.close()

        assert len(view) == 1
        with pytest.raises(lsm.ClosedError):
            view.refresh()

    def test_a_closed_store_ends_everything(self):
        db = open_memory()
        view = db.view("v")(mirror)
        db.close()
        for use in (view.refresh, view.rebuild, view.verify, lambda: view.position, lambda: view.get(b"k")):
            with pytest.raises(lsm.ClosedError):
                use()
        with pytest.raises(lsm.ClosedError):
            db.view("v")

    def test_a_damaged_entry_is_named(self):
        db = open_memory()
        view = db.view("v")(mirror)
        db._system_keyspace(BOOKS).put(entry_key("v"), b'{"n": "x"}')
        with pytest.raises(lsm.CorruptionError, match="entry of view 'v'"):
            view.refresh()

    def test_retention_reads_the_entry(self):
        db = open_memory()
        db.put(b"k", b"v")
        view = db.view("v", max_lag_bytes=123)(mirror)
        (pin,) = db._state.pins()
        assert (pin.name, pin.seq, pin.max_lag_bytes) == ("view:v", 0, 123)
        view.refresh()
        (pin,) = db._state.pins()
        assert pin.seq == view.position > 0


class TestThreads:
    def test_two_refreshes_take_turns(self):
        db = open_memory()
        inside, overlaps = threading.Semaphore(1), []

        @db.view("v")
        def view(change, state):
            overlaps.append(not inside.acquire(blocking=False))
            time.sleep(0.0005)
            inside.release()
            return tally(change, state)

        for number in range(40):
            db.put(b"%d" % (number % 7), b"")
        counts = []
        threads = [threading.Thread(target=lambda: counts.append(view.refresh())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert sum(counts) == 40 and not any(overlaps)
        assert dict(view) == folded(tally, history(db))

    def test_writers_go_on_while_a_view_folds(self, tmp_path: Path):
        options = {"background": "thread", "memtable_bytes_max": "64KiB", "log_retention": "all"}
        with lsm.open(tmp_path / "db", **options) as db:
            view = db.view("v")(tally)
            stop = threading.Event()

            def write() -> None:
                number = 0
                while not stop.is_set():
                    db.update({b"%d" % (number % 50 + at): b"x" * 100 for at in range(3)}, sync=False)
                    number += 1

            writer = threading.Thread(target=write)
            writer.start()
            for _ in range(20):
                view.refresh()
            stop.set()
            writer.join()
            view.refresh()

            assert dict(view) == folded(tally, history(db))
            assert view.verify().is_sound


class TestBackground:
    def test_it_keeps_step_by_itself(self, tmp_path: Path):
        with lsm.open(tmp_path / "db") as db:
            db.put(b"early", b"1")
            views = [db.view(f"v{number}", background=True)(mirror) for number in range(5)]
            db.put(b"late", b"2")
            for view in views:
                eventually(lambda view=view: len(view) == 2)
            seq = db.seq
            time.sleep(0.1)
            assert db.seq == seq  # five idle views do not wake each other for ever
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("lsm-view")]

    def test_it_also_folds_what_nobody_syncs(self, tmp_path: Path):
        with lsm.open(tmp_path / "db", sync="os") as db:
            view = db.view("v", background=True)(mirror)
            db.put(b"k", b"v")
            eventually(lambda: len(view) == 1)

    def test_a_failure_is_visible_logged_and_stops_that_view_alone(self, tmp_path: Path, caplog):
        with lsm.open(tmp_path / "db") as db, caplog.at_level(logging.ERROR, "lsm"):
            sound = db.view("sound", background=True)(mirror)
            broken = db.view("broken", background=True)(failing(mirror, {3}))
            db.put(b"a", b"1")
            while db.seq < 3:
                db.put(b"b", b"2")
            eventually(lambda: broken.error is not None)
            assert isinstance(broken.error, lsm.ViewFailed)
            eventually(lambda: f"view 'broken' stopped at sequence number {broken.error.seq}" in caplog.text)
            db.put(b"c", b"3")
            eventually(lambda: len(sound) == len(db))
            mended = db.view("broken", background=True)(mirror)
            eventually(lambda: dict(mended) == dict(sound))
            assert mended.error is None
            assert db.views()[0].error is None

    def test_a_refresh_by_hand_wakes_a_view_that_rests(self, tmp_path: Path):
        with lsm.open(tmp_path / "db") as db:
            faults = {db.put(b"a", b"") or 1, 2, 3, 4}
            view = db.view("v", background=True)(failing(mirror, faults))
            eventually(lambda: view.error is not None)
            faults.clear()
            view.refresh()
            db.put(b"b", b"")
            eventually(lambda: len(view) == 2)

    def test_anything_else_is_tried_again(self, tmp_path: Path, monkeypatch):
        monkeypatch.setattr("lsm.views.background._RETRY_SECONDS", 0.01)
        with lsm.open(tmp_path / "db") as db:
            trouble = [OSError("one"), OSError("two")]
            commit = View._catch_up

            def catch_up(view: View) -> int:
                if trouble:
                    raise trouble.pop()
                return commit(view)

            monkeypatch.setattr(View, "_catch_up", catch_up)
            view = db.view("v", background=True)(mirror)
            db.put(b"k", b"v")
            eventually(lambda: len(view) == 1)
            assert not trouble and view.error is None

    def test_a_store_closes_in_the_middle_of_folding(self, tmp_path: Path):
        started = threading.Event()

        def slow(change, view):
            started.set()
            time.sleep(0.002)
            return tally(change, view)

        with lsm.open(tmp_path / "db", log_retention="all") as db:
            db.update({b"%d" % number: b"" for number in range(3000)})
            view = db.view("v", background=True)(slow)
            assert started.wait(20), view.error
            begun = time.monotonic()
        assert time.monotonic() - begun < 5
        assert isinstance(view.error, lsm.ClosedError)
        with lsm.open(tmp_path / "db", log_retention="all") as db:
            view = db.view("v")(tally)
            view.refresh()
            assert dict(view) == folded(tally, history(db))

    def test_a_fold_may_close_the_store(self, tmp_path: Path):
        db = lsm.open(tmp_path / "db")
        view = db.view("v", background=True)(lambda change, state: db.close())
        db.put(b"k", b"v")
        eventually(lambda: view.error is not None)
        with pytest.raises(lsm.ClosedError):
            db.get(b"k")

    def test_a_forgotten_store_is_closed_though_a_view_is_kept_in_step(self, tmp_path: Path):
        db = lsm.open(tmp_path / "db")
        db.view("v", background=True)(mirror)
        db.put(b"k", b"v")
        with pytest.warns(ResourceWarning, match="never closed"):  # noqa: PT031 - deleting is what warns
            state = db._state
            del db
            eventually(lambda: gc.collect() >= 0 and state.end is not None)
        with lsm.open(tmp_path / "db") as db:
            assert db.get(b"k") == b"v"


class TestEntry:
    def test_it_comes_back_as_it_was(self):
        phase = Phase(generation=2, version=1, source="k", origin="log", since=0, position=9)
        seeding = Phase(
            generation=3, version=2, source=None, origin="bootstrap", since=7, position=7, is_seeding=True
        )
        entry = Entry(
            n=5, time=1, store_id="ab", epoch=2, max_lag_bytes=7, floor=7, serving=phase, building=seeding
        )

        assert decode_entry(encode_entry(entry)) == entry
        assert entry.position == 7

    @pytest.mark.parametrize(
        "data", [b"", b"[]", b"{}", b'{"format":1}', b'{"format":1,"n":true}', b"\xff", b"null"]
    )
    def test_nonsense_is_refused(self, data):
        with pytest.raises(ValueError):
            decode_entry(data)

    def test_a_newer_format_is_refused_by_name(self):
        with pytest.raises(lsm.UnsupportedFormat):
            decode_entry(encode_entry(Entry()).replace(b'"format":1', b'"format":2'))


KEYS = st.sampled_from([b"", b"a", b"b", b"ab", b"\xff"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), KEYS, st.binary(max_size=3)),
        st.tuples(st.just("delete"), KEYS),
        st.tuples(st.just("batch"), st.lists(st.tuples(KEYS, st.binary(max_size=2) | st.none()), max_size=4)),
        st.tuples(st.just("side"), KEYS, st.binary(max_size=3)),
        st.tuples(st.sampled_from(["refresh", "flush", "reopen", "rebuild", "version", "fail", "verify"])),
    ),
    max_size=25,
)


@given(steps=STEPS, fold=st.sampled_from([tally, mirror, noted]), chunk=st.sampled_from([1, 3, 1000]))
def test_a_view_is_the_fold_over_the_log_up_to_its_position(steps, fold, chunk):
    fs, version = MemFS(), 1
    db = open_memory(fs, options=KEPT)
    view = db.view("v")(fold)
    old, folding.CHUNK_CHANGES = folding.CHUNK_CHANGES, chunk
    try:
        for step, *rest in steps:
            match step:
                case "put":
                    db.put(*rest)
                case "delete":
                    db.delete(*rest)
                case "side":
                    db.keyspace("side").put(*rest)
                case "batch":
                    with db.batch() as batch:
                        for key, value in rest[0]:
                            batch.delete(key) if value is None else batch.put(key, value)
                case "refresh":
                    view.refresh()
                case "flush":
                    db.flush()
                case "reopen":
                    db.close()
                    db = open_memory(fs, options=KEPT)
                    view = db.view("v", version=version)(fold)
                case "rebuild":
                    view.rebuild()
                case "version":
                    version += 1
                    view = db.view("v", version=version)(fold)
                case "fail":
                    broken = db.view("v", version=version)(failing(fold, {db.seq, db.seq - 1}))
                    with suppress(lsm.ViewFailed):
                        broken.refresh()
                    view = db.view("v", version=version)(fold)
                case "verify":
                    if db.open_view("v").version == version:
                        assert view.verify().is_sound
            assert dict(view) == folded(fold, history(db, view.position))
        view.refresh()
        assert dict(view) == folded(fold, history(db))
        assert view.lag == 0
        assert len(system_names(db)) == 1
    finally:
        folding.CHUNK_CHANGES = old
        db.close()
