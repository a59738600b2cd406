"""Every disk image that a crash may leave behind, built from a recorded history.

The model is harsher than any file system in use.  Bytes before a file's last sync are safe; of
what came later each append may be there, torn or missing, with zeros or garbage in its place, and
the length may be old, new or between.  Reserved space is zeros until written, and stays safe once
synced.  Names wait for the sync of their directory, and any subset of the waiting ones arrives.
"""

import hashlib
import itertools
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tests.support.memfs import SECTOR_BYTES
from tests.support.oplog import (
    Append,
    FileOp,
    Link,
    Mark,
    NameOp,
    Op,
    OpLog,
    Rename,
    Reserve,
    Sync,
    SyncDir,
    Truncate,
    Unlink,
)

Tearing = Literal["sector", "byte"]
Image = dict[str, bytes]
GARBAGE = b"\xa5"


@dataclass(frozen=True, slots=True)
class CrashState:
    """One image and the moment it belongs to.

    Whoever recovers from it must find at least batch `acked` and nothing past batch `issued`.
    """

    image: Image
    digest: bytes  # equal for equal images: recover once, check every window
    marks: Mapping[str, int]  # the largest number of each kind of mark so far
    cut: int  # how many operations of the log came before the crash

    @property
    def acked(self) -> int:
        """The last batch that was acknowledged, 0 for none."""
        return self.marks.get("ack", 0)

    @property
    def issued(self) -> int:
        """The last batch that was begun, 0 for none."""
        return self.marks.get("issue", 0)


def crash_states(
    log: OpLog,
    *,
    tearing: Tearing = "sector",
    directory_bits_max: int = 6,
    product_max: int = 4000,
    directory: str = "mem",
) -> "CrashStates":
    """Iterate over the legal images at every prefix of `log`, each once for every set of marks."""
    return CrashStates(log, tearing, directory_bits_max, product_max, directory)


class CrashStates:
    """An iterator over crash states that counts: read the counters when it is exhausted."""

    def __init__(
        self, log: OpLog, tearing: Tearing, directory_bits_max: int, product_max: int, directory: str
    ) -> None:
        self.states = 0  # images built
        self.distinct = 0  # of them, different ones
        self.capped = 0  # points where not every combination of files was built
        self._disk = _Disk(log, directory)
        self._tearing: Tearing = tearing
        self._bits_max = directory_bits_max
        self._product_max = product_max
        self._seen: set[bytes] = set()
        self._yielded: set[tuple[bytes, tuple[tuple[str, int], ...]]] = set()
        self._states = self._walk(log.ops)

    def __iter__(self) -> Iterator[CrashState]:
        return self

    def __next__(self) -> CrashState:
        return next(self._states)

    def _walk(self, ops: list[Op]) -> Iterator[CrashState]:
        marks: dict[str, int] = {}
        yield from self._fresh(marks, 0)
        for cut, op in enumerate(ops, start=1):
            if isinstance(op, Mark):
                marks = {**marks, op.kind: max(op.number, marks.get(op.kind, 0))}
                if op.kind == "issue":
                    continue  # The same images as before, with less to ask of them.
            else:
                self._disk.apply(op)
            yield from self._fresh(marks, cut)

    def _fresh(self, marks: dict[str, int], cut: int) -> Iterator[CrashState]:
        window = tuple(sorted(marks.items()))
        for named in self._images():
            self.states += 1
            digest = _digest(named)
            if digest not in self._seen:
                self._seen.add(digest)
                self.distinct += 1
            if (digest, window) not in self._yielded:
                self._yielded.add((digest, window))
                image = {name: content.data for name, content in named.items()}
                yield CrashState(image, digest, marks, cut)

    def _images(self) -> Iterator[dict[str, "_Content"]]:
        """Yield the images that the disk may hold now."""
        variants = {ino: file.variants(self._tearing) for ino, file in self._disk.files.items()}
        namings = list(self._disk.namings(self._bits_max))
        products = [
            math.prod(len(variants[ino].all) for ino in set(names.values()) if ino in variants)
            for names in namings
        ]
        is_capped = False
        for names in namings:
            files = {ino: variants[ino] for ino in names.values()}
            torn = [ino for ino, found in files.items() if len(found.all) > 1]
            if sum(products) <= self._product_max or len(torn) < 2:
                choices: Iterable[Mapping[int, _Content]] = _product(files)
            else:
                is_capped = True
                choices = _one_at_a_time(files, torn)
            for choice in choices:
                yield {name: choice[ino] for name, ino in names.items()}
        self.capped += is_capped


def random_crash_state(
    log: OpLog, rng: random.Random, *, cut: int | None = None, directory: str = "mem"
) -> CrashState:
    """Return one legal image of the moment after `cut` operations (all, if not given), sector by sector."""
    disk, marks = _Disk(log, directory), dict[str, int]()
    cut = len(log.ops) if cut is None else cut
    for op in log.ops[:cut]:
        if isinstance(op, Mark):
            marks[op.kind] = max(op.number, marks.get(op.kind, 0))
        else:
            disk.apply(op)
    names = disk.random_naming(rng)
    contents = {ino: disk.files[ino].random_variant(rng) for ino in sorted(set(names.values()))}
    image = {name: contents[ino] for name, ino in names.items()}
    return CrashState(image, image_digest(image), marks, cut)


def random_crash_image(log: OpLog, rng: random.Random) -> Image:
    """Return one legal image of a crash right now."""
    return random_crash_state(log, rng).image


def image_digest(image: Mapping[str, bytes]) -> bytes:
    """Return 16 bytes that are equal for equal images."""
    return _digest({name: _Content.of(data) for name, data in image.items()})


class _Content(NamedTuple):
    """What a file holds; hashed once, since it stands in many images."""

    data: bytes
    digest: bytes

    @classmethod
    def of(cls, data: bytes) -> "_Content":
        return cls(data, hashlib.blake2b(data, digest_size=16).digest())


def _digest(image: Mapping[str, _Content]) -> bytes:
    parts = [part for name in sorted(image) for part in (name.encode(), image[name].digest)]
    return hashlib.blake2b(b"/".join(parts), digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class _Variants:
    """What one file may hold after a crash."""

    lost: _Content  # nothing since the last sync arrived
    there: _Content  # all of it did
    all: tuple[_Content, ...]


def _product(files: Mapping[int, _Variants]) -> Iterator[dict[int, _Content]]:
    for contents in itertools.product(*(found.all for found in files.values())):
        yield dict(zip(files, contents, strict=True))


def _one_at_a_time(files: Mapping[int, _Variants], torn: list[int]) -> Iterator[dict[int, _Content]]:
    for others in ("lost", "there"):
        rest: dict[int, _Content] = {ino: getattr(found, others) for ino, found in files.items()}
        for ino in torn:
            for content in files[ino].all:
                yield {**rest, ino: content}


@dataclass(slots=True)
class _File:
    """One file: what is safe of it, and what has happened since."""

    durable: bytes = b""  # whole, with its reserve
    size: int = 0  # where its data ends
    pending: list[FileOp] = field(default_factory=list)
    _variants: _Variants | None = None

    def apply(self, op: FileOp) -> None:
        self.pending.append(op)
        self._variants = None

    def sync(self) -> None:
        shape = self._shape()
        self.durable, self.size = shape.there, shape.stop
        self.pending = []
        self._variants = None

    def variants(self, tearing: Tearing) -> _Variants:
        if self._variants is None:
            shape = self._shape()
            found = dict.fromkeys(shape.all(tearing)) if self.pending else (self.durable,)
            contents = tuple(_Content.of(data) for data in found)
            self._variants = _Variants(_Content.of(self.durable), _Content.of(shape.there), contents)
        return self._variants

    def random_variant(self, rng: random.Random) -> bytes:
        how = rng.randrange(4)
        if how == 0 or not self.pending:
            return self.durable
        return self._shape().there if how == 1 else self._shape().random(rng)

    def _shape(self) -> "_Shape":
        return _Shape.of(self.durable, self.size, self.pending)


@dataclass(frozen=True, slots=True)
class _Shape:
    """A file with unsynced changes: data from `start` to `stop` is at risk, and so is its length."""

    data: bytes  # up to `stop`, all that was ever written
    start: int
    edges: tuple[int, ...]  # where the unsynced appends begin
    lengths: tuple[int, ...]  # old, then after each change

    @classmethod
    def of(cls, durable: bytes, size: int, pending: list[FileOp]) -> "_Shape":
        data, edges, lengths = durable[:size], [], [len(durable)]
        for op in pending:
            match op:
                case Append(offset=offset, data=added):
                    assert offset == len(data), "files only grow at the end of their data"
                    data += added
                    edges.append(offset)
                    lengths.append(max(lengths[-1], len(data)))
                case Reserve(end=end):
                    lengths.append(end)
                case Truncate(size=cut):
                    lengths.append(cut)
        return cls(data, size, tuple(edges), tuple(lengths))

    @property
    def stop(self) -> int:
        return len(self.data)

    @property
    def there(self) -> bytes:
        """All changes arrived."""
        return self._content(self.stop, b"\0", self.lengths[-1])

    def all(self, tearing: Tearing) -> Iterator[bytes]:
        shortest, longest, last = min(self.lengths), max(self.lengths), self.lengths[-1]
        for cut in self._cuts(tearing):
            lengths = {cut, self.stop, last, longest, shortest}
            if cut in (self.start, self.stop):
                lengths |= {*self.lengths, (shortest + longest) // 2}
            for length in sorted(lengths):
                if length >= shortest:
                    yield self._content(cut, b"\0", length)
                    yield self._content(cut, GARBAGE, length)
        for start, stop in self._holes():
            for length in sorted({max(self.stop, shortest), last, longest}):
                holed = self.data[:start] + bytes(stop - start) + self.data[stop:]
                yield holed[:length].ljust(length, b"\0")

    def _content(self, cut: int, fill: bytes, length: int) -> bytes:
        """Data as far as `cut`, then `fill` where data should be, then empty reserve."""
        return (self.data[:cut] + fill * (self.stop - cut))[:length].ljust(length, b"\0")

    def _cuts(self, tearing: Tearing) -> list[int]:
        start, stop = self.start, self.stop
        cuts = {start, stop}
        for begin, end in itertools.pairwise((*self.edges, stop)):
            cuts |= {begin, begin + 1, (begin + end) // 2, end - 1, end}
        if tearing == "byte":
            cuts |= set(range(start, stop))
        else:
            cuts |= set(range((start // SECTOR_BYTES + 1) * SECTOR_BYTES, stop, SECTOR_BYTES))
        return sorted(cut for cut in cuts if start <= cut <= stop)

    def _holes(self) -> Iterator[tuple[int, int]]:
        """Yield what may be missing although something after it is there."""
        sector_end = (self.start // SECTOR_BYTES + 1) * SECTOR_BYTES
        if sector_end < self.stop:
            yield self.start, sector_end
        yield from itertools.pairwise(self.edges)

    def random(self, rng: random.Random) -> bytes:
        """Return any legal content: each sector new, empty or garbage, one of them torn, some length."""
        content = bytearray(self.data)
        at = self.start
        while at < self.stop:
            end = min((at // SECTOR_BYTES + 1) * SECTOR_BYTES, self.stop)
            tear = at if rng.random() < 0.5 else rng.randint(at, end)
            if rng.random() < 0.5:
                content[tear:end] = rng.choice((b"\0", GARBAGE)) * (end - tear)
            at = end
        shortest = min(self.lengths)
        length = rng.choice((*self.lengths, rng.randint(shortest, max(self.lengths))))
        return bytes(content[:length]).ljust(length, b"\0")


class _Disk:
    """One directory and its files, as far as they are safe, and what is pending."""

    def __init__(self, log: OpLog, directory: str) -> None:
        self.files = {ino: _File(data, len(data)) for ino, data in log.base_bytes.items()}
        self._directory = directory
        self._names = dict(log.base_names.get(directory, {}))
        self._pending: list[NameOp] = []

    def apply(self, op: Op) -> None:
        match op:
            case Append() | Reserve() | Truncate():
                self.files.setdefault(op.ino, _File()).apply(op)
            case Sync():
                self.files.setdefault(op.ino, _File()).sync()
            case Link() | Rename() | Unlink() if op.directory == self._directory:
                self._pending.append(op)
                if not isinstance(op, Unlink):
                    self.files.setdefault(op.ino, _File())
            case SyncDir() if op.directory == self._directory:
                self._names = self._after(self._pending)
                self._pending = []
            case _:
                pass  # Another directory of the same disk.

    def namings(self, bits_max: int) -> Iterator[dict[str, int]]:
        """Yield the names that may be there, each set once."""
        seen = set()
        for choice in _subsets(len(self._pending), bits_max):
            names = self._after(itertools.compress(self._pending, choice))
            key = tuple(sorted(names.items()))
            if key not in seen:
                seen.add(key)
                yield names

    def random_naming(self, rng: random.Random) -> dict[str, int]:
        share = rng.choice((0.0, 0.5, 1.0))
        return self._after(op for op in self._pending if rng.random() < share)

    def _after(self, ops: Iterable[NameOp]) -> dict[str, int]:
        names = dict(self._names)
        for op in ops:
            match op:
                case Link(name=name, ino=ino):
                    names[name] = ino
                case Rename(old=old, new=new, ino=ino):
                    names.pop(old, None)
                    names[new] = ino
                case Unlink(name=name):
                    names.pop(name, None)
        return names


def _subsets(count: int, bits_max: int) -> Iterator[tuple[bool, ...]]:
    """Yield which of `count` changes arrived: all choices if few, else prefixes, all but one, only one."""
    if count <= bits_max:
        yield from itertools.product((False, True), repeat=count)
        return
    for at in range(count + 1):
        yield tuple(i < at for i in range(count))
    for at in range(count):
        yield tuple(i != at for i in range(count))
        yield tuple(i == at for i in range(count))
