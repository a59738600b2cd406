"""The manifest: edits in order, a torn last one passed over, everything else that is wrong refused."""

import json
from collections import Counter
from contextlib import suppress
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lsm
import wal
from lsm.edit_json import encode_edit
from lsm.fs_types import Cause
from lsm.manifest import Manifest, read_current, read_manifest
from lsm.options import Options
from lsm.version import KeyspaceMeta, Version, VersionEdit
from tests.lsm.stores import ManualClock, open_memory
from tests.lsm.versions import STORE_ID, change, table
from tests.support.faultfs import Fault, FaultFS, FaultRule, Operation
from tests.support.memfs import MemFS

VERSION = Version(
    store_id=STORE_ID,
    options=Options().to_json(),
    next_number=9,
    next_keyspace=1,
    keyspaces={0: KeyspaceMeta(id=0, name="default")},
)


def new_manifest(fs: MemFS, number: int = 1, version: Version = VERSION) -> Manifest:
    return Manifest(fs, ManualClock(), version, number)


def with_edits(count: int = 3, *, closed: bool = False) -> tuple[MemFS, list[Version]]:
    """Return a manifest with some edits, and the versions after each."""
    fs = MemFS()
    manifest = new_manifest(fs)
    versions = [manifest.version]
    for number in range(count):
        versions.append(manifest.append(VersionEdit(tables_added=(change(table(number)),))))
    if closed:
        manifest.close(VersionEdit(is_closed=True))
        versions.append(manifest.version)
    else:
        manifest.abandon()
    return fs, versions


def replaced(fs: MemFS, name: str, data: bytes) -> MemFS:
    return MemFS.from_image({**fs.image(), name: data})


def outcome(fs: MemFS) -> Version | str:
    try:
        return read_manifest(fs, 1).version
    except lsm.ManifestCorrupt:
        return "corrupt"


def test_a_manifest_reads_back_as_it_was_left():
    fs, versions = with_edits()

    assert read_current(fs) == 1
    assert read_manifest(fs, 1).version == versions[-1]


def test_a_closed_manifest_says_so():
    fs, _ = with_edits(closed=True)

    contents = read_manifest(fs, 1)

    assert contents.is_closed
    assert contents.version.is_closed


def test_an_edit_that_cannot_follow_leaves_no_trace():
    fs = MemFS()
    manifest = new_manifest(fs)
    with pytest.raises(lsm.Error):
        manifest.append(VersionEdit(keyspaces_dropped=(7,)))
    manifest.append(VersionEdit(flushed_seq=4))
    manifest.abandon()

    assert read_manifest(fs, 1).version.flushed_seq == 4


def test_a_torn_last_edit_was_never_in_force():
    fs, versions = with_edits(closed=False)
    data = fs.image()["MANIFEST-000001"]
    records = list(wal.read_records(data, wal.decode_header(data))[0])
    last = records[-1]

    found = {
        outcome(replaced(fs, "MANIFEST-000001", data[:cut])) == versions[-2]
        for cut in range(last.position, last.end)
    }

    assert found == {True}


def test_every_flip_in_a_closed_manifest_is_noticed_or_harmless():
    fs, versions = with_edits(closed=True)
    data = fs.image()["MANIFEST-000001"]
    found: Counter[str] = Counter()
    for position in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            flipped = bytearray(data)
            flipped[position] ^= mask
            result = outcome(replaced(fs, "MANIFEST-000001", bytes(flipped)))
            found["corrupt" if result == "corrupt" else "right" if result == versions[-1] else "wrong"] += 1
    print(dict(found))

    assert set(found) == {"corrupt", "right"}
    assert found["right"] <= 200 * 3, "at most the close marker and the trailer behind it"


def test_a_flip_in_a_live_manifest_costs_at_most_the_last_edit():
    fs, versions = with_edits()
    data = fs.image()["MANIFEST-000001"]
    found = set()
    for position in range(len(data)):
        flipped = bytearray(data)
        flipped[position] ^= 0x10
        result = outcome(replaced(fs, "MANIFEST-000001", bytes(flipped)))
        found.add(result if result == "corrupt" else versions.index(result))

    assert found == {"corrupt", len(versions) - 2}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"000001",
        b"000001 00000000\n",
        b"1 00000000\n",
        b"../../etc/passwd",
        b"\xff\xfe",
        b"0" * 64,
        b"0" * 1000,
        b"-00001 00000000\n",
        "٠٠٠٠٠١ 00000000\n".encode(),
    ],
)
def test_a_damaged_current_is_refused(data):
    fs, _ = with_edits()

    with pytest.raises(lsm.ManifestCorrupt, match="CURRENT"):
        read_current(replaced(fs, "CURRENT", data))


@pytest.mark.parametrize("position", range(16))
def test_every_flip_of_current_is_noticed(position):
    fs, _ = with_edits()
    data = bytearray(fs.image()["CURRENT"])
    data[position] ^= 1

    with pytest.raises(lsm.ManifestCorrupt):
        read_current(replaced(fs, "CURRENT", bytes(data)))


def test_a_missing_manifest_is_named():
    fs, _ = with_edits()
    fs.unlink("MANIFEST-000001")

    with pytest.raises(lsm.ManifestCorrupt, match="MANIFEST-000001: file is missing"):
        read_manifest(fs, 1)


def test_a_manifest_under_another_number_is_refused():
    fs, _ = with_edits()
    data = fs.image()["MANIFEST-000001"]

    with pytest.raises(lsm.ManifestCorrupt, match="number 1 by its header"):
        read_manifest(replaced(fs, "MANIFEST-000002", data), 2)


@pytest.mark.parametrize("data", [b"", bytes(64), bytes(5000), b"not a manifest at all" * 10])
def test_another_file_in_place_of_the_manifest_is_refused(data):
    fs, _ = with_edits()

    with pytest.raises(lsm.ManifestCorrupt):
        read_manifest(replaced(fs, "MANIFEST-000001", data), 1)


def hostile(edit: bytes) -> MemFS:
    """Return a store whose manifest ends in an edit that has a right checksum and makes no sense."""
    fs = MemFS()
    new_manifest(fs).abandon()
    data = fs.image()["MANIFEST-000001"]
    fs.unlink("MANIFEST-000001")
    header = wal.decode_header(data)
    segment = wal.SegmentWriter(fs.create("MANIFEST-000001", Cause.MANIFEST), header)
    for record in wal.read_records(data, header)[0]:
        segment.append_record(data[record.payload_start : record.end], 1, 0)
    segment.append_record(edit, 1, 0)
    segment.sync()
    return fs


@pytest.mark.parametrize(
    "edit",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"keyspaces_dropped": [99]}',
        b'{"tables_removed": [{}]}',
        b"[" * 50_000,
        encode_edit(VersionEdit(tables_added=(change(table(1), keyspace=44),))),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused_with_its_offset(edit):
    with pytest.raises(lsm.ManifestCorrupt) as caught:
        read_manifest(hostile(edit), 1)

    assert caught.value.offset > wal.SEGMENT_HEADER_BYTES


OPENING = {
    "no default keyspace": {"keyspaces_dropped": [0]},
    "options of another type": {"options": {"memory_limit": "zzz"}},
    "option out of range": {"options": {"level_ratio": 1}},
    "two keyspaces of one name": {"keyspaces_added": [{"id": 5, "name": "x"}, {"id": 6, "name": "x"}]},
    "a name that is no text": {"keyspaces_added": [{"id": 5, "name": "\ud800"}]},
    "a name too long": {"keyspaces_added": [{"id": 5, "name": "x" * 5000}]},
    "a keyspace that the log cannot name": {"keyspaces_added": [{"id": 2**40, "name": "x"}]},
    "a keyspace above the counter": {"keyspaces_added": [{"id": 500, "name": "x"}]},
    "a number at the end": {"next_number": 2**63 - 1},
    "a sequence number at the end": {"flushed_seq": 2**63 - 1},
    "a segment that is not there": {"segments_added": [{"number": 77, "first_seq": 1}]},
    "a table that is not there": json.loads(encode_edit(VersionEdit(tables_added=(change(table(77)),)))),
    "another store": {"store_id": "00" * 16},
}


@pytest.mark.parametrize("fields", OPENING.values(), ids=OPENING)
def test_a_hostile_manifest_opens_or_is_refused_but_nothing_else(fields):
    fs = hostile(json.dumps(fields).encode())
    with suppress(lsm.Error):
        db = open_memory(fs)
        db[b"k"] = b"v"
        for name in db.keyspaces():
            db.keyspace(name)[b"k"] = b"v"
        db.flush()
        assert db[b"k"] == b"v"
        db.close()
        assert open_memory(fs)[b"k"] == b"v"


def test_options_in_the_manifest_that_make_no_sense_are_corruption():
    with pytest.raises(lsm.ManifestCorrupt, match="memory_limit"):
        open_memory(hostile(b'{"options": {"memory_limit": "zzz"}}'))


@given(st.integers(1, 400))
def test_a_cut_manifest_is_an_earlier_version_or_refused(shorter):
    fs, versions = with_edits()
    data = fs.image()["MANIFEST-000001"]

    assert outcome(replaced(fs, "MANIFEST-000001", data[:-shorter])) in [*versions, "corrupt"]


def test_a_long_history_rolls_into_a_short_manifest(monkeypatch):
    monkeypatch.setattr("lsm.manifest.ROLL_BYTES", 2000)
    fs = MemFS()
    with open_memory(fs) as db:
        for number in range(30):
            db.keyspace(f"k{number}")
            db.drop_keyspace(f"k{number}")
        db[b"k"] = b"v"
        manifests = [name for name in fs.list() if name.startswith("MANIFEST")]

        assert len(manifests) == 1
        assert fs.size_of(manifests[0]) < 4000
    assert open_memory(fs)[b"k"] == b"v"


def test_a_manifest_never_grows_too_long_to_be_read(monkeypatch):
    monkeypatch.setattr("lsm.manifest.MANIFEST_BYTES_MAX", 40_000)
    fs = MemFS()
    with open_memory(fs) as db:
        for number in range(100):
            db.keyspace(f"k{number:0100}")  # the first one of the next manifest is longer each time
        for number in range(100):
            db[b"k"] = b"%d" % number
            db.flush()
    with open_memory(fs) as db:
        assert db[b"k"] == b"99"


def test_compacting_by_hand_leaves_a_short_manifest():
    fs = MemFS()
    with open_memory(fs) as db:
        for number in range(100):
            db[b"%d" % number] = b"v"
            db.flush()
        long = sum(fs.size_of(name) for name in fs.list() if name.startswith("MANIFEST"))
        db.clear()
        db.compact()
        left = sum(fs.size_of(name) for name in fs.list() if name.startswith("MANIFEST"))
        db[b"after"] = b"it works"
    assert left < long / 3
    with open_memory(fs) as db:
        assert dict(db) == {b"after": b"it works"}


@pytest.mark.parametrize("fault", [Fault.EIO, Fault.ENOSPC])
@pytest.mark.parametrize("operation", ["create", "append", "sync", "close", "sync_dir", "rename"])
def test_what_is_acknowledged_after_a_new_manifest_has_failed_is_not_lost(operation, fault):
    for nth in count():
        disk = MemFS()
        fs = FaultFS(disk)
        db = open_memory(fs)
        for number in range(40):
            db[b"%d" % number] = b"v"
            db.flush()
        fs.rule = FaultRule(operation=Operation(operation), fault=fault, nth=nth)
        with suppress(OSError):
            db._background.jobs.tidy()
        fs.heal()
        if not fs.injected:
            break
        acknowledged = {b"%d" % number: b"v" for number in range(40)}
        with suppress(lsm.Error):
            for key in (b"after", b"more"):
                db[key] = b"v"
                acknowledged[key] = b"v"
                db.flush()
        with open_memory(MemFS.from_image(disk.image())) as copy:
            assert dict(copy) == acknowledged
        if len(acknowledged) > 40:
            assert sum(name.startswith("MANIFEST") for name in fs.list()) == 1
        elif fault is Fault.ENOSPC:
            db.resume()
            db[b"again"] = b"v"
            assert dict(open_memory(MemFS.from_image(disk.image()))) == {**acknowledged, b"again": b"v"}
    assert nth > 0
