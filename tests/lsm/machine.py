"""The store against a model that is dicts: every public operation, reopening and crashes as steps.

The model keeps the contents after every batch, and the keyspaces after every change of them.  A crash may
fall back to any batch between the last one that was acknowledged as durable and the last one begun.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import lsm
from lsm.checkpoint import write_checkpoint
from lsm.opening import open_on
from lsm.options import OptionValue
from lsm.reading import Readable
from lsm.verify import verify_on
from tests.lsm.stores import TINY, ManualClock, counting_entropy
from tests.support.crash import random_crash_state
from tests.support.memfs import MemFS

Space = tuple[str, int]
"""A keyspace: its name, and how many of that name there were before."""
Contents = dict[Space, dict[bytes, bytes]]

DEFAULT: Space = ("default", 0)
POOL = [b"", b"\0", b"\0\0", b"a", b"aa", b"ab", b"ab\0", b"b", b"k1", b"k2", b"k3", b"\xff", b"\xff\xff"]
LONG = b"long" * 100
KEYS = st.sampled_from([*POOL, *POOL, LONG])
BOUNDS = st.one_of(st.none(), KEYS, st.binary(max_size=2))
PREFIXES = st.one_of(st.none(), st.none(), st.sampled_from([b"", b"a", b"ab", b"k", b"\xff", b"long"]))
SYNC = st.sampled_from([True, None, False])
LENGTHS = st.sampled_from([0, 1, 1, 20, 20, 200, 1500])
SEEDS = st.integers(0, 2**32 - 1)
NAMES = st.sampled_from(["orders", "ünï", "x" * 255])
LOG_OPS_MAX = 2000
IMAGES = 4
"""How many images are recovered for every crash."""

counts: Counter[str] = Counter()
"""What all runs of this process did, for the report."""


@dataclass
class Seen:
    """A view of the past: what a snapshot, reader or checkpoint must show."""

    contents: Contents
    spaces: dict[str, int]

    def of(self, name: str) -> dict[bytes, bytes]:
        return self.contents.get((name, self.spaces[name]), {})


@dataclass
class HeldScan:
    """A scan in progress, and what is left of it."""

    pairs: Iterator[tuple[bytes, bytes]]
    expected: list[tuple[bytes, bytes]]


@dataclass
class Range:
    """The arguments of a scan."""

    start: bytes | None = None
    stop: bytes | None = None
    prefix: bytes | None = None
    reverse: bool = False
    limit: int | None = None

    def of(self, pairs: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        found = [
            pair
            for pair in sorted(pairs.items(), reverse=self.reverse)
            if (self.start is None or pair[0] >= self.start)
            and (self.stop is None or pair[0] < self.stop)
            and (self.prefix is None or pair[0].startswith(self.prefix))
        ]
        return found[: self.limit]

    def scan(self, source: Readable) -> Iterator[tuple[bytes, bytes]]:
        return source.scan(
            self.start, self.stop, prefix=self.prefix, reverse=self.reverse, limit=self.limit
        )


RANGES = st.builds(
    Range, BOUNDS, BOUNDS, PREFIXES, st.booleans(), st.one_of(st.none(), st.none(), st.integers(0, 4))
)


@dataclass
class Model:
    """Contents by batch and keyspaces by change, since the store was last wholly durable."""

    batches: list[Contents] = field(default_factory=lambda: [{DEFAULT: {}}])
    spaces: list[dict[str, int]] = field(default_factory=lambda: [{"default": 0}])

    @property
    def now(self) -> Seen:
        return Seen(self.batches[-1], self.spaces[-1])

    def after(self, changes: list[tuple[str, bytes, bytes | None]]) -> Contents:
        contents = {space: dict(pairs) for space, pairs in self.batches[-1].items()}
        for name, key, value in changes:
            pairs = contents.setdefault((name, self.spaces[-1][name]), {})
            if value is None:
                pairs.pop(key, None)
            else:
                pairs[key] = value
        return contents


def contents_of(source: lsm.DB) -> dict[str, dict[bytes, bytes]]:
    """Read everything, keyspace by keyspace, both ways."""
    found = {}
    for name in source.keyspaces():
        keyspace = source.keyspace(name)
        found[name] = dict(keyspace.items())
        assert list(keyspace.scan(reverse=True)) == list(found[name].items())[::-1]
    return found


def check_by_key(source: Readable, expected: dict[bytes, bytes]) -> None:
    """Read by key, which goes another way than a scan: through the filter and the hash index."""
    for key in {*POOL, LONG, *expected}:
        assert source.get(key) == expected.get(key), key


class StoreMachine(RuleBasedStateMachine):
    """One store, its model, and whoever looks at it from the side."""

    options: ClassVar[dict[str, OptionValue]] = TINY

    def __init__(self) -> None:
        super().__init__()
        self.fs = MemFS()
        self.clock = ManualClock()
        self.entropy = counting_entropy()
        self.model = Model()
        self.incarnations: Counter[str] = Counter()
        self.snapshots: list[tuple[lsm.Snapshot, Seen]] = []
        self.scans: list[HeldScan] = []
        self.reader: lsm.DB | None = None
        self.reader_sees = self.model.now
        self.copies: list[tuple[str, Seen]] = []
        self.value_count = 0
        self.db: lsm.DB | None = None

    @initialize(sync=st.sampled_from(["always", "always", "os"]))
    def open_store(self, sync):
        self.db = self.opened(sync=sync)

    def opened(self, **changes: OptionValue) -> lsm.DB:
        counts["opened"] += 1
        options = {**self.options, **changes}
        return open_on(self.fs, "c", options, clock=self.clock, entropy=self.entropy)

    def value(self, length: int) -> bytes:
        self.value_count += 1
        return (b"%d:" % self.value_count * 400)[:length]

    def space(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.model.spaces[-1])))

    @invariant()
    def count_steps(self):
        counts["steps"] += 1

    # Writing

    def commit(
        self,
        changes: list[tuple[str, bytes, bytes | None]],
        write: Callable[[], object],
        sync: bool | None,
    ) -> None:
        """Write, with the marks around it that say what a crash may and may not lose."""
        counts["writes"] += 1
        number = len(self.model.batches)
        after = self.model.after(changes)
        self.fs.log.issue(number)
        write()
        self.model.batches.append(after)
        if sync if sync is not None else self.db.options.sync == "always":
            self.all_durable()

    def all_durable(self) -> None:
        self.fs.log.ack(len(self.model.batches) - 1)

    @rule(data=st.data(), key=KEYS, length=LENGTHS, sync=SYNC)
    def put(self, data, key, length, sync):
        name, value = self.space(data), self.value(length)
        keyspace = self.db.keyspace(name)
        self.commit([(name, key, value)], lambda: keyspace.put(key, value, sync=sync), sync)

    @rule(key=KEYS, length=LENGTHS)
    def set_item(self, key, length):
        value = self.value(length)
        self.commit([("default", key, value)], lambda: self.db.__setitem__(key, value), None)

    @rule(data=st.data(), key=KEYS, sync=SYNC)
    def delete(self, data, key, sync):
        name = self.space(data)
        keyspace = self.db.keyspace(name)
        self.commit([(name, key, None)], lambda: keyspace.delete(key, sync=sync), sync)

    @rule(
        data=st.data(),
        writes=st.lists(st.tuples(KEYS, st.one_of(st.none(), LENGTHS)), min_size=1, max_size=8),
        sync=SYNC,
    )
    def batch(self, data, writes, sync):
        changes = [
            (self.space(data), key, None if length is None else self.value(length)) for key, length in writes
        ]

        def write() -> None:
            with self.db.batch(sync=sync) as batch:
                for name, key, value in changes:
                    keyspace = None if name == "default" else name
                    if value is None:
                        batch.delete(key, keyspace=keyspace)
                    else:
                        batch.put(key, value, keyspace=keyspace)

        self.commit(changes, write, sync)

    @rule(pairs=st.dictionaries(KEYS, LENGTHS, min_size=1, max_size=6))
    def update(self, pairs):
        new = {key: self.value(length) for key, length in pairs.items()}
        self.commit([("default", *pair) for pair in new.items()], lambda: self.db.update(new), None)

    @rule(seed=SEEDS, count=st.integers(1, 12), sync=SYNC)
    def many_writes(self, seed, count, sync):
        """Write so much at once that tables come and go."""
        rng = random.Random(seed)
        for _ in range(count):
            key, value = rng.choice(POOL), self.value(rng.choice([0, 5, 60, 300]))
            if rng.random() < 0.3:
                self.commit([("default", key, None)], lambda key=key: self.db.delete(key, sync=sync), sync)
            else:
                put = partial(self.db.put, key, value, sync=sync)
                self.commit([("default", key, value)], put, sync)

    @rule(key=KEYS)
    def discarded_batch(self, key):
        try:
            with self.db.batch() as batch:
                batch.put(key, b"never")
                raise LookupError
        except LookupError:
            pass

    # Reading

    @rule(data=st.data(), key=KEYS)
    def get(self, data, key):
        name = self.space(data)
        keyspace, expected = self.db.keyspace(name), self.model.now.of(name)

        assert keyspace.get(key) == expected.get(key)
        assert (key in keyspace) == (key in expected)

    @rule(data=st.data(), keys=st.lists(KEYS, max_size=6))
    def multi_get(self, data, keys):
        name = self.space(data)

        assert self.db.keyspace(name).multi_get(keys) == [self.model.now.of(name).get(key) for key in keys]

    @rule(data=st.data(), range_=RANGES)
    def scan(self, data, range_):
        name = self.space(data)

        assert list(range_.scan(self.db.keyspace(name))) == range_.of(self.model.now.of(name))

    @rule()
    def look_at_everything(self):
        self.check(self.db, self.model.now)

    def check(self, db: lsm.DB, seen: Seen) -> None:
        assert contents_of(db) == {name: seen.of(name) for name in seen.spaces}
        for name in seen.spaces:
            check_by_key(db.keyspace(name), seen.of(name))
        assert len(db) == len(seen.of("default"))
        assert bool(db) == bool(seen.of("default"))

    # Looking at the past

    @precondition(lambda self: len(self.snapshots) < 4)
    @rule()
    def take_snapshot(self):
        self.snapshots.append((self.db.snapshot(), self.model.now))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data(), range_=RANGES, key=KEYS)
    def read_snapshot(self, data, range_, key):
        snapshot, seen = data.draw(st.sampled_from(self.snapshots))
        name = self.space(data)
        source = snapshot if name == "default" else snapshot.keyspace(name)
        expected = seen.contents.get((name, self.model.spaces[-1][name]), {})

        assert source.get(key) == expected.get(key)
        assert list(range_.scan(source)) == range_.of(expected)
        assert len(source) == len(expected)

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def close_snapshot(self, data):
        at = data.draw(st.integers(0, len(self.snapshots) - 1))
        self.snapshots.pop(at)[0].close()

    @precondition(lambda self: len(self.scans) < 3)
    @rule(data=st.data(), range_=RANGES)
    def begin_scan(self, data, range_):
        if self.snapshots and data.draw(st.booleans()):
            source, seen = data.draw(st.sampled_from(self.snapshots))
            expected = seen.of("default")
        else:
            name = self.space(data)
            source, expected = self.db.keyspace(name), self.model.now.of(name)
        self.scans.append(HeldScan(range_.scan(source), range_.of(expected)))

    @precondition(lambda self: self.scans)
    @rule(data=st.data(), count=st.integers(0, 5))
    def continue_scan(self, data, count):
        scan = data.draw(st.sampled_from(self.scans))
        for _ in range(count):
            assert next(scan.pairs, None) == (scan.expected.pop(0) if scan.expected else None)

    @precondition(lambda self: self.scans)
    @rule(data=st.data(), is_finished=st.booleans())
    def end_scan(self, data, is_finished):
        scan = self.scans.pop(data.draw(st.integers(0, len(self.scans) - 1)))
        if is_finished:
            assert list(scan.pairs) == scan.expected

    # Keyspaces

    @precondition(lambda self: len(self.model.spaces[-1]) < 3)
    @rule(name=NAMES)
    def create_keyspace(self, name):
        if name in self.model.spaces[-1]:
            self.db.keyspace(name)
            return
        self.incarnations[name] += 1
        self.change_spaces(
            {**self.model.spaces[-1], name: self.incarnations[name]}, lambda: self.db.keyspace(name)
        )

    @precondition(lambda self: len(self.model.spaces[-1]) > 1)
    @rule(data=st.data())
    def drop_keyspace(self, data):
        name = data.draw(st.sampled_from(sorted(self.model.spaces[-1].keys() - {"default"})))
        old = self.db.keyspace(name)
        left = {other: number for other, number in self.model.spaces[-1].items() if other != name}
        self.change_spaces(left, lambda: self.db.drop_keyspace(name))
        for use in (lambda: old.get(b"a"), lambda: old.put(b"a", b""), old.snapshot):
            try:
                use()
            except lsm.KeyspaceNotFound:
                continue
            raise AssertionError("a dropped keyspace was used")

    def change_spaces(self, after: dict[str, int], change: Callable[[], object]) -> None:
        number = len(self.model.spaces)
        self.fs.log.mark("spaces issue", number)
        change()
        self.model.spaces.append(after)
        self.fs.log.mark("spaces ack", number)

    # Background work

    @rule()
    def flush(self):
        self.db.flush()
        self.all_durable()

    @rule(start=BOUNDS, stop=BOUNDS)
    def compact(self, start, stop):
        self.db.compact(start, stop)
        self.all_durable()

    @rule(count=st.integers(1, 3))
    def step(self, count):
        for _ in range(count):
            self.db.step()

    @rule()
    def sync(self):
        self.db.sync()
        self.all_durable()

    @rule(hours=st.integers(-1, 48))
    def time_passes(self, hours):
        self.clock.us += hours * 3_600_000_000

    # Other handles and copies

    @rule()
    def read_beside(self):
        if self.reader is None:
            self.reader = open_on(self.fs, "r", clock=self.clock)
        else:
            self.reader.refresh()
        self.reader_sees = self.model.now
        self.check_reader()

    @precondition(lambda self: self.reader is not None)
    @rule()
    def check_reader(self):
        self.check(self.reader, self.reader_sees)
        with self.reader.snapshot() as snapshot:
            assert dict(snapshot) == self.reader_sees.of("default")

    @precondition(lambda self: self.reader is not None)
    @rule()
    def close_reader(self):
        self.reader.close()
        self.reader = None

    @precondition(lambda self: len(self.copies) < 2)
    @rule(seed=SEEDS)
    def make_checkpoint(self, seed):
        counts["checkpoints"] += 1
        name = f"copy{len(self.copies)}"
        seq = write_checkpoint(self.db._state, self.db._committer, self.fs.sibling(name))
        self.all_durable()
        assert seq == self.db.seq
        self.copies.append((name, self.model.now))
        self.check_copy(*self.copies[-1], seed)

    def check_copy(self, name: str, seen: Seen, seed: int) -> None:
        """Open a copy as a crash of the whole machine right now would leave it."""
        image = random_crash_state(self.fs.log, random.Random(seed), directory=name).image
        with open_on(MemFS.from_image(image), "w", clock=self.clock) as copy:
            self.check(copy, seen)

    # Ends

    def forget_handles(self) -> None:
        for snapshot, _ in self.snapshots:
            snapshot.close()
        self.scans, self.snapshots = [], []
        if self.reader is not None:
            self.close_reader()

    @rule(ratio=st.integers(2, 5), order=st.booleans())
    def reopen(self, ratio, order):
        counts["reopens"] += 1
        if order:
            self.forget_handles()
        self.db.close()
        self.forget_handles()
        self.all_durable()
        if len(self.fs.log) > LOG_OPS_MAX:
            self.start_from(self.fs.image())
        self.db = self.opened(level_ratio=ratio)
        self.check(self.db, self.model.now)

    def start_from(self, image: dict[str, bytes]) -> None:
        """Go on with a disk that is wholly durable, and the model of it."""
        self.fs = MemFS.from_image(image)
        self.model = Model([self.model.batches[-1]], [self.model.spaces[-1]])
        self.copies = []

    @rule(seed=SEEDS, back=st.integers(0, 60))
    def crash(self, seed, back):
        """Lose power at one of the last operations, and see that nothing is lost or invented."""
        counts["crashes"] += 1
        log = self.fs.log
        rng = random.Random(seed)
        states = [
            random_crash_state(log, rng, cut=max(0, len(log) - rng.randint(0, back))) for _ in range(IMAGES)
        ]
        self.forget_handles()
        self.db.close()
        before = self.model
        for state in states:  # the store goes on from the last of them
            counts["recoveries"] += 1
            self.db.close()
            self.fs = MemFS.from_image(state.image)
            self.db = self.opened()
            self.model = self.recovered(before, state.marks)
            self.copies = []
            self.check(self.db, self.model.now)
        if seed % 8 == 0:
            report = verify_on(self.fs)
            assert report.is_sound, report.problems

    def recovered(self, before: Model, marks: dict[str, int]) -> Model:
        """Return the model that the recovered store is, one of those that it may be."""
        found = contents_of(self.db)
        for spaces in before.spaces[marks.get("spaces ack", 0) : marks.get("spaces issue", 0) + 1]:
            for contents in before.batches[marks.get("ack", 0) : marks.get("issue", 0) + 1]:
                seen = Seen(contents, spaces)
                if found == {name: seen.of(name) for name in spaces}:
                    return Model([contents], [spaces])
        raise AssertionError(f"recovered {found}, which is no state between {marks}")

    def teardown(self) -> None:
        if self.db is None:
            return
        try:
            self.check(self.db, self.model.now)
            for name, seen in self.copies:
                self.check_copy(name, seen, 1)
        finally:
            self.forget_handles()
            self.db.close()
        report = verify_on(self.fs)
        assert report.is_sound, report.problems
