"""Damage in a synced log is seen: always after a clean close, and up to the last group after a crash."""

from functools import cache

import lsm
import lsm.segments
import wal.reader
from tests.reliability.model import DEFAULT, Found
from tests.reliability.reading import read_all
from tests.reliability.scoreboard import announce
from tests.reliability.story import Story
from tests.reliability.tiny import RESERVE_BYTES, held, open_tiny
from tests.support.memfs import MemFS

MASKS = (0x01, 0x80, 0xFF)


@cache
def told(is_closed: bool) -> Story:
    """Return a store with two finished segments and one that was being written, or was closed."""
    story = Story()
    with story.told():
        story.open(sealed_max=9)
        for number in range(11):
            story.put(b"abcdefgh"[number % 8 : number % 8 + 1])
        story.batch((DEFAULT, b"a", True), (DEFAULT, b"b", False))
        if is_closed:
            story.close()
    return story


Unseen = list[tuple[str, int, Found]]


def unseen_flips(is_closed: bool, stride: int = 1) -> tuple[int, Unseen]:
    """Flip bytes of every segment; return how many flips there were, and those that changed what is read."""
    story = told(is_closed)
    image, flips, unseen = story.disk.image(), 0, []
    for name in segments(image):
        for at in range(0, len(image[name]), stride):
            for mask in MASKS:
                flips += 1
                flipped = image[name][:at] + bytes([image[name][at] ^ mask]) + image[name][at + 1 :]
                found = opened_with({**image, name: flipped})
                if found not in (None, story.model.now):
                    unseen.append((name, at, found))
    return flips, unseen


def unseen_cuts() -> Unseen:
    """Cut finished segments off at every byte; return the cuts that changed what is read."""
    story = told(False)
    image = story.disk.image()
    found = {
        (name, size): opened_with({**image, name: image[name][:size]})
        for name in segments(image)[:-1]
        for size in range(len(image[name]))
    }
    return [(*where, held) for where, held in found.items() if held not in (None, story.model.now)]


def segments(image: dict[str, bytes]) -> list[str]:
    return sorted(name for name in image if name.endswith(".log"))


def opened_with(image: dict[str, bytes]) -> Found | None:
    """Return what the store holds, None if it refuses to open."""
    try:
        db = open_tiny(MemFS.from_image(image, reserve_bytes_max=RESERVE_BYTES), "w")
    except lsm.CorruptionError:
        return None
    with held(db):
        return read_all(db, every_path=False)


def test_after_a_clean_close_every_flip_is_seen(capsys):
    flips, unseen = unseen_flips(is_closed=True)

    announce(capsys, f"log flips, closed store: flips={flips} unseen={len(unseen)}")
    assert not unseen


def test_after_a_crash_only_the_last_group_can_pass_for_a_torn_write(capsys):
    story = told(False)
    flips, unseen = unseen_flips(is_closed=False)
    image = story.disk.image()
    newest = segments(image)[-1]
    last_group = story.model.at(story.model.issued - 1, story.model.edited)

    announce(capsys, f"log flips, crashed store: flips={flips} unseen={len(unseen)}, all in the last group")
    assert {(name, found.seq) for name, _, found in unseen} == {(newest, last_group.seq)}
    assert all(found == last_group for _, _, found in unseen)
    positions = sorted({at for _, at, _ in unseen})
    assert positions[-1] - positions[0] < 120, "the record of the last batch, no more"


def test_a_finished_segment_that_was_cut_is_refused():
    assert not unseen_cuts()


def test_a_reader_that_tolerates_a_torn_end_anywhere_is_found(monkeypatch):
    monkeypatch.setattr(lsm.segments, "_check_end", lambda meta, end: None)

    assert unseen_cuts()


def test_a_reader_that_does_not_look_at_later_records_is_found(monkeypatch):
    last_seq = told(False).model.seq_of(told(False).model.issued - 1)
    monkeypatch.setattr(wal.reader, "_refuse_damage", lambda *_: None)

    assert any(found.seq < last_seq for _, _, found in unseen_flips(is_closed=False, stride=7)[1])
