"""Protocols gone wrong, each by its name: the bugs that others had, and those that we might have."""

import zlib
from types import SimpleNamespace

import pytest

import lsm.commit
import lsm.manifest
import lsm.recovery
import lsm.version
import wal.reader
import wal.record
import wal.writer
from compaction.retain import Retention
from lsm.filenames import CURRENT, CURRENT_TEMPORARY, segment_name, table_name
from lsm.fs_types import Cause
from lsm.payload import Writes, encode_one
from tests.reliability.histories import base
from tests.reliability.killing import all_stories, killed_by
from tests.reliability.sync_sites import labels, site_of, sites_of, skipping_functions
from tests.support.mutants import SyncCall, syncs_of

ROTATE, RECOVER = "lsm.commit.Committer._rotate", "lsm.recovery.recover"


def manifest_syncs_at_creation(call: SyncCall) -> bool:
    callers = [function for function, _ in site_of(call).frames]
    return call.name.startswith("MANIFEST") and "lsm.manifest.Manifest.__init__" in callers


def directory_sync_after_rename(call: SyncCall) -> bool:
    return call.kind == "sync_dir" and site_of(call) in _after_rename()


def _after_rename() -> set[object]:
    if not _AFTER_RENAME:
        found = labels(sites_of({name: all_stories()[name] for name in ("creation", "reopen, put")}))
        _AFTER_RENAME.update(
            site for label, site in found.items() if "_put_in_force" in label and label.endswith("#2")
        )
    return _AFTER_RENAME


_AFTER_RENAME: set[object] = set()

LEVELDB = {
    "189: manifest not synced before CURRENT names it": (
        manifest_syncs_at_creation,
        ["creation", "put, put"],
    ),
    "193: log not synced before rotation": (
        skipping_functions("sync", "wal.writer.SegmentWriter.close", ROTATE),
        ["lazy_writes_over_rotations", "many_sealed_segments"],
    ),
    "195: directory not synced between rename and unlink": (
        directory_sync_after_rename,
        ["creation", "reopen, put"],
    ),
    "196: directory not synced after a new file": (
        lambda call: call.kind == "sync_dir" and call.site.function.endswith(("create_segment", "_outputs")),
        ["flush, put", "many_sealed_segments"],
    ),
    "74: CURRENT not synced": (syncs_of(CURRENT_TEMPORARY), ["creation"]),
    "333: table not synced before the manifest names it": (syncs_of("*.sst"), ["flush, put"]),
}


@pytest.mark.parametrize("issue", LEVELDB)
def test_a_bug_of_leveldb_is_found(issue):
    assert killed_by(*LEVELDB[issue])


class LooseChecksum(int):
    """A checksum that equals every other."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = int.__hash__


def believe_every_checksum(monkeypatch):
    """LevelDB 251: garbage in an appended region is replayed as data."""
    careless = SimpleNamespace(crc32=lambda *parts: LooseChecksum(zlib.crc32(*parts)))
    monkeypatch.setattr(wal.reader, "zlib", careless)
    monkeypatch.setattr(wal.record, "zlib", careless)


def remove_before_the_edit(monkeypatch):
    append = lsm.manifest.Manifest.append

    def hasty(self, edit):
        names = [segment_name(number) for number in edit.segments_removed]
        names += [table_name(change.table.number) for change in edit.tables_removed]
        for name in names:
            self._fs.unlink(name)
        return append(self, edit)

    monkeypatch.setattr(lsm.manifest.Manifest, "append", hasty)


def split_batches(monkeypatch):
    write = lsm.commit.Committer.write

    def one_by_one(self, payload, count, writes, sync):
        for keyspace, keys, values in writes:
            for key, value in zip(keys, values, strict=True):
                write(self, encode_one(keyspace, key, value), 1, [Writes(keyspace, [key], [value])], sync)
        return 0

    monkeypatch.setattr(lsm.commit.Committer, "write", one_by_one)


def drop_every_tombstone(monkeypatch):
    monkeypatch.setattr(Retention, "_bottom", lambda self, ordered: True)


def use_numbers_again(monkeypatch):
    monkeypatch.setattr(lsm.recovery, "_free_number", lambda fs, version: max(2, version.next_number))


def keep_orphans(monkeypatch):
    monkeypatch.setattr(lsm.recovery, "_remove_orphans", lambda fs, state: None)


def write_current_in_place(monkeypatch):
    def in_place(self):
        self._fs.sync_dir(Cause.MANIFEST)
        if self._fs.exists(CURRENT):
            self._fs.unlink(CURRENT)
        file = self._fs.create(CURRENT, Cause.MANIFEST)
        file.append(lsm.manifest._current_line(self.number))
        file.sync()
        file.close()
        self._fs.sync_dir(Cause.MANIFEST)

    monkeypatch.setattr(lsm.manifest.Manifest, "_put_in_force", in_place)


def use_keyspace_ids_again(monkeypatch):
    after = lsm.version.Version.after

    def forgetful(self, edit):
        version = after(self, edit)
        object.__setattr__(version, "next_keyspace", max(version.keyspaces, default=-1) + 1)
        return version

    monkeypatch.setattr(lsm.version.Version, "after", forgetful)


def leave_segments_open(monkeypatch):
    def just_close(self, time_us):
        self.sync()
        self.file.close()

    monkeypatch.setattr(wal.writer.SegmentWriter, "close", just_close)


def forget_the_log(monkeypatch):
    """Recovery that starts a new segment without the records of the old one."""
    monkeypatch.setattr(lsm.recovery, "copy_records", lambda *_, **__: None)


WRONG = {
    believe_every_checksum: ["lazy_writes_over_rotations", "values_of_many_sectors", "put, put"],
    remove_before_the_edit: ["flush, put", "compact, put"],
    split_batches: ["batch, put", "dropped_with_data_in_log"],
    drop_every_tombstone: ["tombstones_over_three_levels"],
    use_numbers_again: ["creation", "many_sealed_segments"],
    keep_orphans: ["creation"],
    write_current_in_place: ["creation", "made_anew"],
    use_keyspace_ids_again: ["dropped_with_data_in_log"],
    leave_segments_open: ["many_sealed_segments"],
    forget_the_log: ["reopened_again_and_again"],
}


@pytest.mark.parametrize("spoil", WRONG, ids=lambda spoil: spoil.__name__)
def test_a_wrong_protocol_is_found(monkeypatch, spoil):
    base()  # The store that pairs of steps begin with is a sound one.
    spoil(monkeypatch)

    assert killed_by(None, WRONG[spoil])
