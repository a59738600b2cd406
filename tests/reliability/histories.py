"""What stores go through before they crash: every pair of steps, and stories written for one danger each."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product

import lsm
from lsm.commit import Committer
from lsm.payload import Value, Writes, encode_one
from tests.reliability.model import DEFAULT, Found, Write
from tests.reliability.story import SHOWN, Story
from tests.reliability.tiny import open_tiny
from tests.support.faultfs import Fault, FaultRule, Operation
from tests.support.memfs import MemFS
from tests.support.mutants import SyncPredicate
from wal import PendingWrite

Step = Callable[[Story], None]
SIDE = "side"


def _lazy(story: Story) -> None:
    story.put(b"e", sync=False)
    story.put(b"f", sync=False)


def _batch_over_two(story: Story) -> None:
    story.ensure(SIDE)
    story.batch((SIDE, b"x", True), (SIDE, b"y", False), (DEFAULT, b"g", True))


def _snapshot_and_overwrite(story: Story) -> None:
    story.snapshot()
    story.put(b"a")
    story.flush()


def _create(story: Story) -> None:
    name = f"new{story.model.edited}"
    story.create(name)
    story.put(b"x", space=name)


def _drop(story: Story) -> None:
    story.ensure(SIDE)
    story.drop(SIDE)


ALPHABET: dict[str, Step] = {
    "put": lambda story: story.put(b"a"),
    "delete": lambda story: story.delete(b"b"),
    "batch": lambda story: story.batch((DEFAULT, b"c", True), (DEFAULT, b"d", False)),
    "batch2": _batch_over_two,
    "flush": Story.flush,
    "compact": Story.compact,
    "snapshot": _snapshot_and_overwrite,
    "create": _create,
    "drop": _drop,
    "reopen": Story.reopen,
    "lazy": _lazy,
    "checkpoint": Story.checkpoint,
}


def pairs() -> list[tuple[str, ...]]:
    """Return every history of two steps; those of one step are their beginnings."""
    return list(product(ALPHABET, repeat=2))


def triples() -> list[tuple[str, ...]]:
    return list(product(ALPHABET, repeat=3))


@cache
def base() -> tuple[dict[str, bytes], Found]:
    """Return a used store as a kill left it: two keyspaces, tables in two levels, a tombstone, a log."""
    story = Story()
    with story.told():
        story.open()
        story.create(SIDE)
        story.batch((DEFAULT, b"a", True), (DEFAULT, b"b", True), (SIDE, b"y", True))
        story.put(b"d")
        story.compact()
        story.delete(b"d")
        story.put(b"b")
        story.flush()
        story.put(b"a")
        story.reopen()  # into a short manifest
        story.put(b"h")
    return story.disk.image(), story.model.now


def play(steps: tuple[str, ...], skip_syncs: SyncPredicate | None = None) -> Story:
    """Open the used store, take the steps, and leave it as a crash would find it."""
    story = Story(*base(), skip_syncs=skip_syncs)
    with story.told():
        story.open()
        story.survive()
        for step in steps:
            ALPHABET[step](story)
            story.survive()
    return story


WRITTEN: dict[str, Callable[[SyncPredicate | None], Story]] = {}


def written(tell: Callable[[Story], None]) -> Callable[[Story], None]:
    """Make a story one of the written ones."""

    def play_it(skip_syncs: SyncPredicate | None = None) -> Story:
        story = Story(skip_syncs=skip_syncs)
        with story.told():
            tell(story)
        story.survive()
        return story

    WRITTEN[tell.__name__.removeprefix("_")] = play_it
    return tell


@written
def _creation(story: Story) -> None:
    story.open()
    story.put(b"a")
    story.batch((DEFAULT, b"b", True), (DEFAULT, b"c", True))


@written
def _creation_closed(story: Story) -> None:
    story.open()
    story.close()
    story.open("w")
    story.put(b"a")


@written
def _many_sealed_segments(story: Story) -> None:
    story.open(sealed_max=9)
    for number in range(9):
        story.put(b"abcdef"[number % 6 : number % 6 + 1])
    story.reopen(sealed_max=9)
    story.db.step()


@written
def _tombstones_over_three_levels(story: Story) -> None:
    story.open(l0_tables_max=1)
    for key in (b"a", b"b"):
        story.put(key, size=60)
    story.compact()
    for key in (b"a", b"e"):
        story.put(key, size=60)
    story.flush()
    story.settle()
    story.delete(b"a")
    story.flush()
    story.settle()
    story.delete(b"e")
    story.flush()
    story.compact()


@written
def _group_of_three(story: Story) -> None:
    """Three writers in one group, the middle one without a wish for a sync."""
    story.open()
    story.put(b"a")
    _commit_group(story, (b"b", None, True), (b"a", None, False), (b"c", None, True))
    _commit_group(story, (b"d", None, False), (b"e", None, False))
    _commit_group(story, (b"f", None, False), (b"b", b"", True))


def _commit_group(story: Story, *wanted: tuple[bytes, bytes | None, bool]) -> None:
    committer, life = story.db._committer, story.model.life_of(DEFAULT)
    assert committer is not None
    group = []
    for key, value, sync in wanted:
        value = story.value() if value is None else value
        number = story.model.add([Write(life, key, value)])
        group.append(_pending(story, key, value, sync=sync))
        story.log.issue(number)
    with _turn_of(committer):
        committer._commit_group(group)
    if any(sync for _, _, sync in wanted):
        story.ack()


@contextmanager
def _turn_of(committer: Committer) -> Iterator[None]:
    committer._queue.turn.acquire()
    try:
        yield
    finally:
        committer._queue.pass_turn()


def _pending(story: Story, key: bytes, value: Value, *, sync: bool) -> PendingWrite:
    writes = [Writes(0, [key], [value])]
    return PendingWrite(
        encode_one(0, key, value), 1, sync, lambda first: story.db._state.apply(writes, first)
    )


@written
def _three_threads(story: Story) -> None:
    """Three threads that meet at the queue: while the turn is taken they line up, then one writes for all."""
    story.open()
    story.put(b"a")
    committer, life = story.db._committer, story.model.life_of(DEFAULT)
    assert committer is not None
    threads = []
    with _turn_of(committer):
        for waiting, key in enumerate((b"b", b"c", b"d"), start=1):
            value = story.value()
            story.log.issue(story.model.add([Write(life, key, value)]))
            threads.append(threading.Thread(target=story.db.put, args=(key, value)))
            threads[-1].start()
            while len(committer._queue.waiting) < waiting:
                time.sleep(0.0001)
    for thread in threads:
        thread.join()
    story.ack()


@written
def _dropped_with_data_in_log(story: Story) -> None:
    story.open()
    story.create(SIDE)
    story.put(b"x", space=SIDE)
    story.batch((SIDE, b"y", True), (DEFAULT, b"a", True))
    story.drop(SIDE)
    story.put(b"b")
    story.create(SIDE)
    story.put(b"x", space=SIDE)
    story.flush()
    story.drop(SIDE)
    story.put(b"c")


@written
def _reopened_again_and_again(story: Story) -> None:
    story.open()
    for key in (b"a", b"b"):
        story.put(key, sync=False)
        story.reopen()
        story.delete(b"a")
    story.close()
    story.open("r")
    story.db.close()
    story.open("w")


@written
def _lazy_writes_over_rotations(story: Story) -> None:
    """Nothing is synced by request: only rotation and flush make it durable."""
    story.open(sealed_max=9)
    for number in range(4):
        story.put(b"abcd"[number % 4 : number % 4 + 1], sync=False, size=90)
    story.put(b"e", sync=True)
    story.put(b"f", sync=False)
    story.sync()


@written
def _values_of_many_sectors(story: Story) -> None:
    """Records longer than a sector, and longer than the reserve."""
    story.open(memtable_bytes_max=8192)
    story.put(b"a", size=700)
    story.put(b"b", sync=False, size=1300)
    story.put(b"c", size=40)
    story.put(b"d", sync=False, size=600)
    story.close()
    story.open("w")


@written
def _checkpoint_and_on(story: Story) -> None:
    """The copy shares files with a store that goes on, and must not go with it."""
    story.open()
    story.put(b"a")
    story.flush()
    story.put(b"b", sync=False)
    story.checkpoint()
    story.put(b"a")
    story.compact()
    story.put(b"c")
    story.checkpoint()


@written
def _shown_to_a_reader(story: Story) -> None:
    """What another process was shown must be there after the crash."""
    story.open()
    story.put(b"a")
    story.put(b"b", sync=False)
    reader = open_tiny(MemFS(disk=story.disk.disk), "r")
    assert reader.get(b"b") == story.model.now.contents[DEFAULT][b"b"]
    story.log.mark(SHOWN, story.model.issued)
    story.put(b"c", sync=False)
    reader.refresh()
    story.log.mark(SHOWN, story.model.issued)
    reader.close()


@written
def _changes_shown_to_a_reader(story: Story) -> None:
    """The same for who reads the log beside the writer, in space that is reserved ahead of the records."""
    story.open()
    story.put(b"a")
    reader = open_tiny(MemFS(disk=story.disk.disk), "r")
    for number, key in enumerate((b"b", b"c", b"d")):
        story.put(key, sync=False)
        assert [change.key for change in reader.changes(number + 1)] == [key]
        story.log.mark(SHOWN, story.model.issued)
    reader.close()


@written
def _log_kept_whole(story: Story) -> None:
    """Nothing leaves the log, whatever happens to the tables, and all previous values are known."""
    story.open(log_retention="all", log_history=True)
    story.put(b"a")
    story.put(b"a")
    story.flush()
    story.delete(b"a")
    story.compact()
    story.reopen()
    story.put(b"a", sync=False)


@written
def _log_kept_up_to_a_size(story: Story) -> None:
    """Segments leave the old end of the log while it is written and flushed."""
    story.open(log_retention_bytes=250)
    for key in (b"a", b"b", b"a"):
        story.put(key)
        story.flush()
    assert 1 < story.db.log.earliest < 4
    story.reopen(log_retention_bytes=250)
    story.delete(b"a")
    story.flush()


@written
def _log_held_by_a_reader_and_let_go(story: Story) -> None:
    story.open(sealed_max=9)
    with story.db.bootstrap():
        for number in range(5):
            story.put(b"abcde"[number : number + 1], size=90)
        story.settle()
        assert story.db.log.earliest == 1
    story.settle()
    assert story.db.log.earliest > 1
    story.put(b"f")


@written
def _history_turned_on_later(story: Story) -> None:
    story.open()
    story.put(b"a")
    story.flush()
    story.put(b"a")
    story.reopen(log_history=True, log_retention_bytes=10_000)
    story.put(b"a")
    story.compact()
    story.reopen(log_history=False)


@written
def _resumed_after_the_log_broke_off(story: Story) -> None:
    """The disk is full in the middle of a record; the store goes on in new files."""
    story.open()
    story.put(b"a")
    story.put(b"b", sync=False)
    _put_over_full_disk(story, "*.log", b"c")
    story.put(b"d")


@written
def _resumed_after_the_manifest_broke_off(story: Story) -> None:
    story.open()
    story.put(b"a", size=200)
    _put_over_full_disk(story, "MANIFEST-*", b"c")
    story.put(b"d")


def _put_over_full_disk(story: Story, pattern: str, key: bytes) -> None:
    """Write until a write is refused; free the disk, resume, and write that one again."""
    story.fs.rule = FaultRule(operation=Operation.APPEND, fault=Fault.SHORT_WRITE, pattern=pattern)
    story.fs.matched = story.fs.injected = 0
    while not story.fs.injected:
        value = story.value()
        story.log.issue(story.model.add([Write(story.model.life_of(DEFAULT), key, value)]))
        try:
            story.db.put(key, value)
        except lsm.DiskFull:
            story.fs.heal()
            story.db.resume()
            story.db.put(key, value)
        story.ack()


@written
def _options_changed(story: Story) -> None:
    story.open()
    story.put(b"a")
    story.reopen(compression="zlib", hash_index=False, bloom_bits_per_key=0.0)
    story.put(b"b")
    story.compact()
    story.reopen(mmap=False)
    story.put(b"c")


@written
def _made_anew(story: Story) -> None:
    """Flag "n" replaces a store: a crash leaves the old one or the new one."""
    story.open()
    story.put(b"a")
    story.flush()
    story.put(b"b")
    story.close()
    story.replace()
    story.put(b"c")
