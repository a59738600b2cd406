"""Views made anew: by wish, by another version, or because the log no longer reaches back."""

import os
import subprocess
import sys
import threading

import pytest

import lsm
from lsm.views import View, folding, folds
from lsm.views.entry import BOOKS, entry_key
from tests.lsm.stores import MANUAL, open_memory
from tests.lsm.view_models import failing, folded, history, mirror, noted, system_names, tally
from tests.support.memfs import MemFS
from tests.test_readme import ROOT, examples

# The log goes as soon as it is in tables and nobody holds it.
FORGETFUL = {**MANUAL, "log_retention_bytes": 0, "memtable_bytes_max": 4096}


def forget_log(db: lsm.DB) -> None:
    """Let the log go as far as pins allow."""
    db.flush()
    while db.step():
        pass


def write(db: lsm.DB, count: int = 20) -> None:
    for number in range(count):
        db.put(b"%d" % (number % 7), b"%d" % number)


@pytest.fixture
def forgotten() -> lsm.DB:
    """A store whose log does not reach back to its first change."""
    db = open_memory(options=FORGETFUL)
    write(db)
    forget_log(db)
    db.put(b"last", b"1")
    assert db.log.earliest > 1
    return db


class TestVersions:
    def test_another_version_is_built_at_the_first_refresh(self):
        db = open_memory()
        write(db)
        db.view("v", version=1)(tally).refresh()
        view = db.view("v", version=2)(mirror)
        assert dict(view) == folded(tally, history(db))
        assert (view.version, db.open_view("v").version) == (2, 1)

        assert view.refresh() == 20
        assert dict(view) == folded(mirror, history(db))
        assert db.open_view("v").version == 2
        assert len(system_names(db)) == 1

    def test_an_older_version_too(self):
        db = open_memory()
        write(db)
        db.view("v", version=2)(mirror).refresh()
        view = db.view("v", version=1)(tally)
        view.refresh()

        assert dict(view) == folded(tally, history(db))

    def test_another_keyspace_too(self):
        db = open_memory()
        db.put(b"a", b"1")
        db.keyspace("side").put(b"b", b"2")
        db.view("v")(mirror).refresh()
        view = db.view("v", keyspace="side")(mirror)
        view.refresh()

        assert dict(view) == {b"side/b": b"2"}

    def test_readers_see_the_old_state_until_the_new_one_is_whole(self, monkeypatch):
        monkeypatch.setattr(folding, "CHUNK_CHANGES", 3)
        db = open_memory()
        write(db)
        db.view("v", version=1)(tally).refresh()
        before, position = dict(db.open_view("v")), db.open_view("v").position
        reader, seen = db.open_view("v"), []

        def fold(change, view):
            seen.append((dict(reader), reader.position))
            return mirror(change, view)

        view = db.view("v", version=2)(fold)
        view.refresh()

        assert seen == [(before, position)] * 20
        assert dict(reader) == dict(view) == folded(mirror, history(db))

    def test_readers_in_threads_see_one_or_the_other(self):
        db = open_memory()
        write(db, 5)
        states = [folded(tally, history(db)), folded(mirror, history(db))]
        view = db.view("v", version=1)(tally)
        view.refresh()
        reader, seen, stop = db.open_view("v"), [], threading.Event()

        def read() -> None:
            while not stop.is_set():
                seen.append(dict(reader.scan()))
                reader.get(b"1")

        thread = threading.Thread(target=read)
        thread.start()
        for version in range(2, 40):
            db.view("v", version=version)(mirror if version % 2 == 0 else tally).refresh()
        stop.set()
        thread.join()

        assert seen and all(state in states for state in seen)

    def test_a_failing_new_version_leaves_the_old_state_and_goes_on_once_mended(self, monkeypatch):
        monkeypatch.setattr(folding, "CHUNK_CHANGES", 3)
        db = open_memory()
        write(db)
        db.view("v", version=1)(tally).refresh()
        before = dict(db.open_view("v"))
        broken = db.view("v", version=2)(failing(mirror, {11}))
        with pytest.raises(lsm.ViewFailed):
            broken.refresh()
        assert dict(broken) == before
        assert db.views()[0].is_building

        mended = db.view("v", version=2)(mirror)
        assert mended.refresh() == 10  # the first ten are there already
        assert dict(mended) == folded(mirror, history(db))
        assert not db.views()[0].is_building

    def test_going_back_to_the_version_before_throws_the_half_built_one_away(self):
        db = open_memory()
        write(db)
        db.view("v", version=1)(tally).refresh()
        with pytest.raises(lsm.ViewFailed):
            db.view("v", version=2)(failing(mirror, {11})).refresh()
        assert len(system_names(db)) == 2
        view = db.view("v", version=1)(tally)

        assert len(system_names(db)) == 1 and not db.views()[0].is_building
        assert view.refresh() == 0
        assert view.verify().is_sound


class TestRebuilding:
    @pytest.mark.parametrize("source", [None, "earliest"])
    def test_from_the_first_change(self, source):
        db = open_memory()
        write(db)
        view = db.view("v")(tally)
        view.refresh()

        assert view.rebuild(source) == 20
        assert dict(view) == folded(tally, history(db))
        assert len(system_names(db)) == 1

    def test_from_a_bootstrap(self):
        db = open_memory()
        write(db)
        db.delete(b"0")
        view = db.view("v")(tally)

        assert view.rebuild("bootstrap") == 6
        assert dict(view) == {b"": b"6", **{b"%d" % number: b"1" for number in range(1, 7)}}
        db.put(b"1", b"")
        view.refresh()
        assert view[b"1"] == b"2"

    def test_a_bootstrap_comes_in_the_order_of_the_last_puts(self):
        db = open_memory()
        write(db)
        db.flush()
        write(db, 3)
        order = []
        db.view("v")(lambda change, view: order.append(change.key)).rebuild("bootstrap")

        assert order == [b"6", b"3", b"4", b"5", b"0", b"1", b"2"]

    def test_a_bootstrap_misses_nothing_that_nobody_has_synced(self):
        db = open_memory(options={**MANUAL, "sync": "os"})
        view = db.view("v")(mirror)
        for number in range(5):
            db.put(b"%d" % number, b"")
            view.rebuild("bootstrap")
            assert len(view) == number + 1

    def test_writes_that_come_while_a_bootstrap_is_folded_are_there_in_the_end(self):
        db = open_memory()
        write(db)
        count = 0

        def writing(change, view):
            nonlocal count
            if count < 10:
                count += 1
                db.put(b"new%d" % count, b"")  # what a fold must not do, as another thread would
            return mirror(change, view)

        view = db.view("v")(writing)
        view.rebuild("bootstrap")
        view.refresh()

        assert dict(view) == folded(mirror, history(db))

    @pytest.mark.parametrize("source", ["latest", "", 0, b"earliest"])
    def test_another_source_is_refused(self, source):
        with pytest.raises(lsm.InvalidArgument):
            open_memory().view("v")(tally).rebuild(source)

    def test_a_rebuild_that_was_left_is_gone_on_with_after_reopening(self, monkeypatch):
        monkeypatch.setattr(folding, "CHUNK_CHANGES", 3)
        fs = MemFS()
        with open_memory(fs) as db:
            write(db)
            db.view("v")(tally).refresh()
            broken = db.view("v")(failing(tally, {11}))
            with pytest.raises(lsm.ViewFailed):
                broken.rebuild("earliest")
        db = open_memory(fs)
        view = db.view("v")(tally)

        assert view.refresh() == 10
        assert dict(view) == folded(tally, history(db))
        assert len(system_names(db)) == 1

    def test_a_bootstrap_that_was_left_is_begun_again(self, monkeypatch):
        monkeypatch.setattr(folding, "CHUNK_CHANGES", 3)
        fs = MemFS()
        with open_memory(fs) as db:
            write(db)
            broken = db.view("v")(failing(mirror, {18}))
            with pytest.raises(lsm.ViewFailed, match="sequence number 18"):
                broken.rebuild("bootstrap")
            assert db.views()[0].is_building
        db = open_memory(fs)
        view = db.view("v")(mirror)

        assert view.refresh() == 7
        assert dict(view) == folded(mirror, history(db))
        assert len(system_names(db)) == 1

    def test_leftovers_go_when_the_view_is_registered(self):
        fs = MemFS()
        with open_memory(fs) as db:
            db.view("v")(tally).refresh()
            db._system_keyspace("lsm:view:v#7").put(b"\x01k", b"v")
            db._system_keyspace("lsm:view:w#7").put(b"\x01k", b"v")
        db = open_memory(fs)
        assert len(system_names(db)) == 3
        view = db.view("v")(tally)

        assert system_names(db) == {"lsm:view:v#1", "lsm:view:w#7"}
        assert view.refresh() == 0


class TestShortLogs:
    def test_a_new_view_begins_with_a_bootstrap(self, forgotten):
        view = forgotten.view("v")(mirror)
        view.refresh()

        assert dict(view) == {b"default/" + key: value for key, value in forgotten.scan()}
        assert view.verify().origin == "bootstrap"

    def test_another_version_too(self, forgotten):
        forgotten.view("v")(tally).refresh()
        view = forgotten.view("v", version=2)(mirror)
        view.refresh()

        assert dict(view) == {b"default/" + key: value for key, value in forgotten.scan()}

    @pytest.mark.parametrize("how", ["setting", "fold"])
    def test_one_that_needs_its_history_says_so(self, forgotten, how):
        fold = folds.counter(events=True) if how == "fold" else tally
        view = forgotten.view("v", needs_history=how == "setting")(fold)
        for build in (view.refresh, view.rebuild):
            with pytest.raises(lsm.OffsetOutOfRange) as caught:
                build()
            assert caught.value.requested == 0
            assert caught.value.earliest == forgotten.log.earliest
        assert isinstance(view.error, lsm.OffsetOutOfRange)
        assert view.rebuild("earliest") == len(history(forgotten))
        assert view.refresh() == 0

    def test_the_log_waits_for_a_view(self):
        db = open_memory(options=FORGETFUL)
        view = db.view("v")(tally)
        write(db, 100)
        forget_log(db)
        assert db.log.earliest == 1
        assert view.refresh() == 100
        write(db, 100)
        forget_log(db)

        assert db.log.earliest > 1
        assert view.refresh() == 100
        assert view[b""] == b"200"

    def test_not_further_than_its_cap_then_it_is_made_anew(self):
        db = open_memory(options=FORGETFUL)
        view = db.view("v", max_lag_bytes=5000)(mirror)
        write(db, 10)
        view.refresh()
        db.delete(b"0")
        for _ in range(10):
            write(db, 100)
            forget_log(db)
        assert db.log.earliest > view.position + 1
        assert view.lag > 0

        view.refresh()
        assert dict(view) == {b"default/" + key: value for key, value in db.scan()}
        assert view.lag == 0
        write(db, 3)
        assert view.refresh() == 3

    def test_a_capped_view_that_needs_its_history_stays_and_says_so(self):
        db = open_memory(options=FORGETFUL)
        view = db.view("v", max_lag_bytes=5000)(folds.windowed_sum(60))
        write(db, 10)
        view.refresh()
        before = dict(view)
        for _ in range(10):
            write(db, 100)
            forget_log(db)
        with pytest.raises(lsm.OffsetOutOfRange):
            view.refresh()

        assert dict(view) == before

    def test_a_dropped_view_lets_the_log_go(self):
        db = open_memory(options=FORGETFUL)
        db.view("v")(tally)
        write(db, 100)
        forget_log(db)
        assert db.log.earliest == 1
        db.drop_view("v")
        write(db, 10)
        forget_log(db)

        assert db.log.earliest > 100


class TestVerifying:
    def spoil(self, view: View, key: bytes, value: bytes | None) -> None:
        (name,) = system_names(view._db)
        state = view._db._system_keyspace(name)
        state.delete(key) if value is None else state.put(key, value)

    @pytest.mark.parametrize(
        "fold", [tally, mirror, noted, folds.counter(by=lambda change: change.value[:1])]
    )
    def test_a_sound_view(self, fold):
        db = open_memory()
        write(db)
        view = db.view("v")(fold)
        view.refresh()
        db.put(b"later", b"1")

        report = view.verify()
        assert report.is_sound and report.differences == ()
        assert (report.view, report.version, report.changes, report.origin) == ("v", 1, 20, "log")
        assert report.position == view.position

    def test_differences_are_listed(self):
        db = open_memory()
        write(db, 3)
        view = db.view("v")(noted)
        write(db, 3)
        view.refresh()
        self.spoil(view, b"\x010", b"changed")
        self.spoil(view, b"\x011", None)
        self.spoil(view, b"\x01new", b"x")
        self.spoil(view, b"\x002", b"note")

        report = view.verify()
        assert not report.is_sound
        assert {(one.key, one.expected, one.found, one.is_note) for one in report.differences} == {
            (b"2", b"2", b"note", True),
            (b"0", b"0", b"changed", False),
            (b"1", b"1", None, False),
            (b"new", None, b"x", False),
        }
        view.rebuild()
        assert view.verify().is_sound

    def test_against_a_bootstrap_where_the_log_is_gone(self, forgotten):
        view = forgotten.view("v")(folds.latest_by(lambda change: change.value[:1]))
        view.refresh()
        write(forgotten)
        report = view.verify()
        assert (report.origin, report.is_sound) == ("bootstrap", True)
        assert view.lag == 0  # it was brought to the moment of the bootstrap

        self.spoil(view, b"\x01x", b"y")
        assert [one.key for one in view.verify().differences] == [b"x"]

    def test_a_view_whose_history_is_gone_cannot_be_verified(self, forgotten):
        view = forgotten.view("v")(folds.windowed_sum(60))
        view.rebuild("earliest")
        assert view.verify().is_sound
        for _ in range(2):
            write(forgotten)
            view.refresh()
            forget_log(forgotten)
        with pytest.raises(lsm.OffsetOutOfRange):
            view.verify()

    def test_another_version_is_refreshed_first(self):
        db = open_memory()
        assert db.view("v")(tally).verify().is_sound  # of nothing
        db.view("v")(tally).refresh()
        view = db.view("v", version=2)(mirror)
        with pytest.raises(lsm.InvalidArgument, match="refresh"):
            view.verify()

    def test_a_fold_that_is_not_deterministic_is_found_out(self):
        db = open_memory()
        numbers = iter(range(100))
        view = db.view("v")(lambda change, state: [(change.key, b"%d" % next(numbers))])
        write(db, 5)
        view.refresh()

        assert len(view.verify().differences) == 5

    def test_a_fold_that_raises_says_where(self):
        db = open_memory()
        write(db)
        db.view("v")(tally).refresh()
        with pytest.raises(lsm.ViewFailed, match="sequence number 7"):
            db.view("v")(failing(tally, {7})).verify()


def test_views_of_a_checkpoint_go_on(tmp_path):
    with lsm.open(tmp_path / "db", **MANUAL) as db:
        view = db.view("v")(tally)
        write(db)
        view.refresh()
        db.put(b"after", b"")
        db.checkpoint(tmp_path / "copy")
        with lsm.open(tmp_path / "copy", **MANUAL) as copy:
            copied = copy.view("v")(tally)
            assert dict(copied) == dict(view)
            assert copied.refresh() == 1
            assert copied.verify().is_sound


def test_an_entry_is_one_line_of_json_that_others_can_read():
    db = open_memory()
    write(db)
    db.view("v")(tally).refresh()

    entry = db._system_keyspace(BOOKS).get(entry_key("v"))
    assert entry.startswith(b'{"format":1,"n":3,"position":') and b'"pin":true' in entry


def test_the_page_about_views_shows_what_happens(tmp_path):
    page = (ROOT / "docs" / "views.md").read_text(encoding="utf-8")
    ((_, code, output),) = examples(page)
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert (run.stdout, run.stderr) == (output, "")
