"""The file system in memory: its log, its mutants, its images."""

import pytest

from lsm.fs_types import Cause, LockHeld
from tests.support.faultfs import FaultFS
from tests.support.memfs import MemFS
from tests.support.mutants import nth_sync, syncs_at, syncs_of
from tests.support.oplog import Append, Link, Mark, Rename, Reserve, Sync, SyncDir, Truncate, Unlink
from tests.support_tests import toy


def commit(fs, name="a.log"):
    file = fs.create(name, Cause.LOG, reserve_bytes=512)
    file.append(b"one")
    file.sync()
    file.append(b"two")
    file.close()
    fs.rename(name, "b")
    fs.sync_dir()
    fs.unlink("b")


def test_every_change_is_recorded_in_order():
    fs = MemFS()
    fs.log.issue(1)
    commit(fs)
    fs.log.ack(1)
    fs.log.mark("delivered", 4)

    sync, sync_dir = fs.log.sites()
    assert fs.log.ops == [
        Mark("issue", 1),
        Link("mem", "a.log", 1),
        Reserve(1, 512),
        Append(1, 0, b"one"),
        Sync(1, sync),
        Append(1, 3, b"two"),
        Truncate(1, 6),
        Rename("mem", "a.log", "b", 1),
        SyncDir("mem", sync_dir),
        Unlink("mem", "b"),
        Mark("ack", 1),
        Mark("delivered", 4),
    ]


@pytest.mark.parametrize("wrap", [lambda fs: fs, FaultFS], ids=["plain", "wrapped"])
def test_a_sync_is_known_by_the_line_that_asked_for_it(wrap):
    fs = MemFS()
    commit(wrap(fs))

    first = commit.__code__.co_firstlineno
    assert [str(site) for site in fs.log.sites()] == [
        f"{__name__}.commit:{first + 3}",
        f"{__name__}.commit:{first + 7}",
    ]


def test_the_same_history_has_the_same_digest():
    digests = {toy.history(MemFS()).digest() for _ in range(3)}

    assert len(digests) == 1
    assert toy.history(MemFS(), frozenset({"split batch"})).digest() not in digests


@pytest.mark.parametrize(
    ("predicate", "left"),
    [
        (nth_sync(0), [SyncDir]),
        (nth_sync(1), [Sync]),
        (nth_sync(2), [Sync, SyncDir]),
        (syncs_of("*.log"), [SyncDir]),
        (syncs_of("*.sst"), [Sync, SyncDir]),
        (syncs_of("mem", "sync_dir"), [Sync]),
        (lambda call: True, []),
    ],
)
def test_a_mutant_leaves_out_the_chosen_syncs(predicate, left):
    fs = MemFS(skip_syncs=predicate)
    commit(fs)

    assert [type(op) for op in fs.log.ops if isinstance(op, Sync | SyncDir)] == left
    assert fs.disk.skipped == 2 - len(left)


def test_a_mutant_can_be_made_of_every_site_of_a_sound_run():
    sound = MemFS()
    commit(sound)
    for site in sound.log.sites():
        fs = MemFS(skip_syncs=syncs_at(site))
        commit(fs)

        assert fs.log.sites() == [other for other in sound.log.sites() if other != site]


def test_an_image_starts_durable_unlocked_and_without_a_log():
    fs = MemFS.from_image({"b": b"2", "a": b"1"})
    lock = fs.lock("LOCK", "me")
    again = MemFS.from_image(fs.image())

    assert again.image() == {"a": b"1", "b": b"2", "LOCK": b""}
    assert not again.log.ops
    again.lock("LOCK", "you").release()
    with pytest.raises(LockHeld):
        fs.lock("LOCK", "you")
    lock.abandon()
    with pytest.raises(LockHeld):
        fs.lock("LOCK", "you")


def test_reserve_is_kept_small():
    fs = MemFS(reserve_bytes_max=100)
    file = fs.create("a", Cause.LOG, reserve_bytes=1 << 30)

    assert fs.size_of("a") == 100
    assert MemFS(reserve_bytes_max=0).create("a", Cause.LOG, reserve_bytes=5).size == 0
    file.close()


def test_siblings_share_inodes_and_log_but_not_names():
    fs = MemFS()
    file = fs.create("a", Cause.LOG)
    other = fs.sibling("checkpoint")
    fs.link("a", other)
    file.append(b"later")
    file.close()
    fs.unlink("a")

    assert (fs.image(), other.image()) == ({}, {"a": b"later"})
    assert Link("checkpoint", "a", 1) in other.log.ops
    other.lock("LOCK", "me")
    fs.lock("LOCK", "me")
