"""Every byte of a small store is damaged in every way: right answers, or an error that names the file.

Two stores are damaged: one that was closed, and the same one as a kill left it.  Of the second, the last
group of the log cannot be told from a torn write; that loss is documented, allowed and counted.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

import lsm
from lsm.db import DB
from lsm.filenames import CURRENT, LOCK, parse
from lsm.verify import verify_on
from tests.reliability.model import DEFAULT, Found
from tests.reliability.tiny import RESERVE_BYTES, let_go, open_tiny
from tests.support.memfs import MemFS

MASKS = (0x01, 0x80, 0xFF)
SECTOR = 512
FLIP_STRIDE, CUT_STRIDE = 11, 17  # of CI: prime, so that every field is hit in some file
NAMED = re.compile(r"CURRENT|MANIFEST-\d{6}|\d{6}\.(log|sst)")
Image = dict[str, bytes]


@dataclass(frozen=True)
class Damaged:
    """One store with one damage."""

    image: Image
    file: str
    what: str
    is_cut: bool = False  # the end of the file is gone, or reads as if it had never been written


@dataclass
class Figures:
    """What became of the cases."""

    cases: int = 0
    outcomes: Counter = field(default_factory=Counter)
    lost_groups: int = 0
    harmless: Counter = field(default_factory=Counter)
    unverified: list[str] = field(default_factory=list)

    def line(self, name: str) -> str:
        return (
            f"corruption of the {name} store: cases={self.cases} refused={self.outcomes['refused']} "
            f"right={self.outcomes['right']} lost_end={self.lost_groups} "
            f"harmless={sum(self.harmless.values())} wrong=0 foreign=0"
        )


def fill(db: DB) -> None:
    """Make tables on two levels in two keyspaces, with deletions."""
    db.keyspace("side")
    for number in range(9):
        db.put(b"k%d" % number, b"%d." % number + b"v" * 20)
        db.put(b"s%d" % number, b"side%d" % number)
    db.compact()
    with db.batch() as batch:
        batch.put(b"k0", b"new" * 6)
        batch.put(b"x", b"in the side", keyspace="side")
        batch.delete(b"k1")
    db.flush()


@cache
def store(is_closed: bool) -> tuple[Image, list[Found]]:
    """Return the files of a store and what it held after each write of its newest segment, last one first."""
    fs = MemFS(reserve_bytes_max=RESERVE_BYTES)
    db = open_tiny(fs, sealed_max=12, l0_tables_max=8, table_bytes_max=700)
    fill(db)
    held: dict[int, list[Found]] = {}
    for number in range(15):  # two finished segments, and one that is written
        before = everything(db)
        db.put(b"l%02d" % number, b"log%d" % number + b"w" * 12)
        held.setdefault(db._committer.segment.header.number, [before]).insert(0, everything(db))
    states = held[max(held)]
    if is_closed:
        db.close()
        return fs.image(), states[:1]
    image = fs.image()
    let_go(db)
    return image, states


def everything(db: DB) -> Found:
    """Return what a store holds, by scan and by get; the two must agree."""
    contents = {}
    for name in db.keyspaces():
        space = db if name == DEFAULT else db.keyspace(name, create=False)
        contents[name] = dict(space.scan())
        for key in (*contents[name], b"k1", b"k5", b"l03", b"l12", b"none"):
            assert space.get(key) == contents[name].get(key)
    return Found(db.seq, contents)


# Damages


def flips(image: Image, stride: int) -> Iterator[Damaged]:
    for file, data in image.items():
        for at in range(0, len(data), stride):
            for mask in MASKS:
                flipped = data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]
                yield Damaged({**image, file: flipped}, file, f"byte {at} ^ {mask:#x}")


def cuts(image: Image, stride: int) -> Iterator[Damaged]:
    for file, data in image.items():
        for size in range(0, len(data), stride):
            yield Damaged({**image, file: data[:size]}, file, f"cut to {size}", is_cut=True)


def sectors(image: Image, stride: int) -> Iterator[Damaged]:
    for file, data in image.items():
        for at in range(0, len(data), SECTOR):
            size = min(SECTOR, len(data) - at)
            zeroed = data[:at] + bytes(size) + data[at + size :]
            if zeroed != data:
                is_cut = not any(zeroed[at:])
                yield Damaged({**image, file: zeroed}, file, f"sector {at // SECTOR} zeroed", is_cut=is_cut)


def whole_files(image: Image, stride: int) -> Iterator[Damaged]:
    for file, data in image.items():
        yield Damaged({name: held for name, held in image.items() if name != file}, file, "removed")
        for garbage in (b"\0", b"\xa5", bytes(4096), b"\xa5" * 4096):
            what = f"{len(garbage)} of {garbage[:1]!r} appended"
            yield Damaged({**image, file: data + garbage}, file, what)
        for other in image:
            if other > file and (parse(file) or [""])[0] == (parse(other) or [" "])[0]:
                yield Damaged({**image, file: image[other], other: data}, file, f"swapped with {other}")
                yield Damaged({**image, file: image[other]}, file, f"replaced by {other}")


DAMAGES: dict[str, Callable[[Image, int], Iterator[Damaged]]] = {
    "flips": flips,
    "cuts": cuts,
    "sectors": sectors,
    "whole files": whole_files,
}


# The check of one case


def outcome(case: Damaged, flag: str, legal: list[Found]) -> str:
    """Open and read everything: "right", "lost" (the last group) or "refused"; anything else is a failure."""
    fs = MemFS.from_image(case.image, reserve_bytes_max=RESERVE_BYTES)
    where = f"{case.file}, {case.what}, flag {flag!r}"
    try:
        db = open_tiny(fs, flag)
        try:
            found = everything(db)
        finally:
            let_go(db)
    except lsm.CorruptionError as error:
        if not NAMED.search(str(error)):
            raise AssertionError(f"{where}: names no file: {error}") from error
        return "refused"
    except lsm.UnsupportedFormat as error:
        if case.file not in str(error):
            raise AssertionError(f"{where}: names no file: {error}") from error
        return "refused"
    except AssertionError as error:
        raise AssertionError(f"{where}: scan and get differ") from error
    except Exception as error:
        raise AssertionError(f"{where}: a foreign exception {error!r}") from error
    assert found in legal, f"{where}: holds {found}, legal are {legal}"
    return "right" if found == legal[0] else "lost"


def check(case: Damaged, states: list[Found], figures: Figures) -> None:
    """Check one damage: reading, writing and verifying."""
    figures.cases += 1
    legal = states[:1]
    if case.file == newest_log(case.image):
        # A flip can only pass for a torn write in the last group.  A log that was cut has lost the proof
        # that there was more, too.
        legal = states if case.is_cut else states[:2]
    results = {flag: outcome(case, flag, legal) for flag in ("r", "w")}
    for result in results.values():
        figures.outcomes[result] += 1
    figures.lost_groups += "lost" in results.values()
    is_sound = verdict(case)
    if is_sound and "refused" in results.values():
        figures.unverified.append(f"{case.file}, {case.what}: {results}")
    elif is_sound and set(results.values()) == {"right"}:
        figures.harmless[case.file] += 1


def newest_log(image: Image) -> str:
    return max((name for name in image if name.endswith(".log")), default="")


def verdict(case: Damaged) -> bool:
    """Tell whether verify finds nothing wrong; it may refuse, but only with an error of ours."""
    try:
        return verify_on(MemFS.from_image(case.image)).is_sound
    except lsm.Error:
        return False
    except Exception as error:
        raise AssertionError(f"{case.file}, {case.what}: verify raises {error!r}") from error


def run_matrix(is_closed: bool, kind: str, stride: int) -> Figures:
    image, states = store(is_closed)
    figures = Figures()
    for case in DAMAGES[kind](image, stride):
        check(case, states, figures)
    return figures


def test_the_stores_have_something_of_everything():
    for is_closed in (True, False):
        image, states = store(is_closed)
        kinds = Counter((parse(name) or (name,))[0] for name in image)
        assert kinds["sst"] >= 3 and kinds["log"] >= 2 and kinds["manifest"] == 1
        assert {CURRENT, LOCK} <= image.keys()
        assert states[0].seq > 30 and (len(states) > 2) is not is_closed
        assert outcome(Damaged(image, LOCK, "nothing"), "w", states[:1]) == "right"
        assert outcome(Damaged(image, LOCK, "nothing"), "r", states[:1]) == "right"


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "crashed"])
@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_seen_or_does_no_harm(is_closed, kind, capsys):
    figures = run_matrix(is_closed, kind, {"flips": FLIP_STRIDE, "cuts": CUT_STRIDE}.get(kind, 1))
    report(figures, is_closed, kind, capsys)


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "crashed"])
def test_a_reader_refuses_a_manifest_that_lost_its_end(is_closed):
    image, states = store(is_closed)
    name = next(name for name in image if name.startswith("MANIFEST"))
    for size in range(len(image[name]) // 2, len(image[name]), 7):
        case = Damaged({**image, name: image[name][:size]}, name, f"cut to {size}")
        outcome(case, "r", states[:1])


@pytest.mark.slow
@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "crashed"])
@pytest.mark.parametrize("kind", ["flips", "cuts"])
def test_damage_of_every_byte(is_closed, kind, capsys):
    report(run_matrix(is_closed, kind, 1), is_closed, kind, capsys)


def report(figures: Figures, is_closed: bool, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{kind}: {figures.line('closed' if is_closed else 'crashed')}")
    assert not figures.unverified, f"verify saw nothing wrong: {figures.unverified[:5]}"
    if is_closed:
        assert figures.lost_groups == 0


# Things that are no files


def real_store(path: Path) -> Found:
    with lsm.open(path, background="manual", memtable_bytes_max=4096, sync="os") as db:
        fill(db)
        db.put(b"l03", b"only in the log")
        return everything(db)


def open_and_read(path: Path, flag: str) -> None:
    with lsm.open(path, flag, background="manual") as db:
        everything(db)
        list(db.changes("earliest"))  # the part of the log that only its readers need


@pytest.mark.parametrize("what", ["symlink", "fifo", "directory"])
@pytest.mark.parametrize("kind", ["CURRENT", "MANIFEST", ".sst", ".log"])
def test_something_else_in_place_of_a_file(tmp_path, what, kind):
    path = tmp_path / "store"
    real_store(path)
    victim = sorted(entry for entry in path.iterdir() if kind in entry.name)[0]
    content = victim.read_bytes()
    outside = tmp_path / "outside"
    victim.rename(outside)
    if what == "symlink":
        victim.symlink_to(outside)
    elif what == "fifo":
        os.mkfifo(victim)
    else:
        victim.mkdir()

    for flag in ("r", "w", "c"):
        with pytest.raises(lsm.Error):
            open_and_read(path, flag)
    with suppress(lsm.Error):
        assert not lsm.verify(path).is_sound
    assert outside.read_bytes() == content  # nothing was followed
