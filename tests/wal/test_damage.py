"""Every byte of a synced segment, flipped: noticed, or without any effect.  RELIABILITY: figures 9 and 10."""

from collections import Counter

import pytest

import wal
from tests.wal.memory import header, payloads, written

MASKS = (0x01, 0x80, 0xFF)
RECORDS = [b"payload %03d" % number + bytes(number) for number in range(40)]
GROUPS = [RECORDS[at : at + 4] for at in range(0, 40, 4)]


def outcome(data: bytes) -> str:
    """What a reader makes of a segment that was synced whole."""
    try:
        found_header = wal.decode_header(data)
    except wal.SegmentDamaged:
        return "detected"
    assert found_header == header()
    try:
        found, end = payloads(data)
    except wal.SegmentDamaged:
        return "detected"
    if end.ending is wal.Ending.CLOSED:
        return "harmless" if found == RECORDS else "silent"
    # Its owner knows that it was closed, and refuses one that no longer ends that way.
    assert found == RECORDS[: len(found)], "never a wrong payload"
    return "not closed" if found == RECORDS else f"lost {len(RECORDS) - len(found)}"


def flips(data: bytes) -> Counter[str]:
    found: Counter[str] = Counter()
    for position in range(len(data)):
        for mask in MASKS:
            flipped = bytearray(data)
            flipped[position] ^= mask
            found[outcome(bytes(flipped))] += 1
    return found


def test_no_flip_in_a_closed_segment_goes_unseen():
    data = bytes(written(GROUPS, closed=True).data)

    found = flips(data)
    print(f"{len(data)} bytes, {sum(found.values())} flips: {dict(found)}")

    assert set(found) == {"detected", "not closed", "harmless"}
    assert found["harmless"] == 16 * len(MASKS), "only the trailer, which nobody needs, may change unseen"
    assert found["not closed"] <= 100 * len(MASKS), "only the close marker itself"


def test_a_flip_in_a_synced_segment_that_was_not_closed_costs_at_most_the_last_group():
    data = bytes(written(GROUPS).data)

    found = flips(data)
    print(f"{len(data)} bytes, {sum(found.values())} flips: {dict(found)}")

    lost = {name for name in found if name.startswith("lost")}
    assert lost <= {f"lost {count}" for count in range(1, 5)}
    assert set(found) == {"detected"} | lost


@pytest.mark.parametrize("closed", [True, False])
def test_every_truncation_is_a_prefix(closed):
    data = bytes(written(GROUPS, closed=closed).data)
    whole = len(payloads(data)[0])
    for length in range(64, len(data)):
        found, end = payloads(data[:length])
        assert found == RECORDS[: len(found)]
        # Only the trailer may be missing from a segment that still counts as closed.
        assert end.ending is not wal.Ending.CLOSED or (length >= len(data) - 16 and len(found) == whole)


@pytest.mark.parametrize("fill", [b"\0", b"\xa5"], ids=["zeros", "garbage"])
def test_a_lost_sector_of_a_closed_segment_is_seen(fill):
    data = bytes(written(GROUPS, closed=True).data)
    for start in range(0, len(data) - 512, 128):
        lost = data[:start] + fill * 512 + data[start + 512 :]
        if start == 0 and fill == b"\0":
            assert wal.decode_header(lost) is None, "a header that was never written, says its owner"
            continue
        assert outcome(lost) in ("detected", "not closed") or outcome(lost).startswith("lost")


def test_two_swapped_sectors_of_a_closed_segment_are_seen():
    data = bytes(written(GROUPS, closed=True).data)
    for one in range(512, len(data) - 1024, 512):
        other = one + 512
        swapped = data[:one] + data[other : other + 512] + data[one:other] + data[other + 512 :]
        assert outcome(swapped) == "detected" or outcome(swapped).startswith("lost")
