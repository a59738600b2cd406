"""The manifest: the log of edits that says which files make up the store.  See FORMAT.md.

A manifest is written like a log segment (wal), one edit a record, numbered from 1.  CURRENT names the
manifest in force.  Every opening for writing starts a new manifest, so a file that may end in a torn edit
is never appended to.
"""

import zlib
from dataclasses import dataclass
from typing import Protocol

import wal
from lsm.clock import Clock
from lsm.edit_json import decode_edit, encode_edit
from lsm.errors import CorruptionError, ManifestCorrupt, UnsupportedFormat
from lsm.filenames import CURRENT, CURRENT_TEMPORARY, manifest_name
from lsm.fs_types import Cause, FileSystem
from lsm.version import BadEdit, Version, VersionEdit

MANIFEST_BYTES_MAX = 256 * 1024 * 1024
ROLL_BYTES = 64 * 1024
"""A manifest shorter than this is not replaced because of its length."""
_ROLL_RATIO = 4  # what is written again to begin anew is then a small part of what was written since
_WASTE_BYTES = 4096
_ADVICE = "restore the store from a checkpoint"


@dataclass(frozen=True, slots=True)
class ManifestContents:
    """A manifest as read: the version it leads to, and whether it was closed in order."""

    number: int
    version: Version
    is_closed: bool


def read_current(fs: FileSystem) -> int:
    """Return the number of the manifest in force."""
    data = _read_whole(fs, CURRENT, 64)
    text, _, crc = data.decode("ascii", "replace").rstrip("\n").partition(" ")
    if not text.isdigit() or len(text) > 18 or data != _current_line(int(text)):
        raise ManifestCorrupt(
            f"{fs.name}/{CURRENT}", f"does not match its checksum ({crc:.8})", offset=0, advice=_ADVICE
        )
    return int(text)


def is_in_force(fs: FileSystem, number: int) -> bool:
    """Tell whether a manifest is the one in force; False if that cannot be known."""
    try:
        return read_current(fs) == number
    except (OSError, CorruptionError):
        return False


def _current_line(number: int) -> bytes:
    text = f"{number:06d}"
    return f"{text} {zlib.crc32(text.encode()):08x}\n".encode()


def read_manifest(fs: FileSystem, number: int) -> ManifestContents:
    """Return what a manifest says.  A torn last edit was never in force and is passed over."""
    name = manifest_name(number)
    path = f"{fs.name}/{name}"
    data = _read_whole(fs, name, MANIFEST_BYTES_MAX)
    try:
        header = wal.decode_header(data)
        if header is None:
            raise wal.SegmentDamaged("manifest has no header", offset=0)
        if header.number != number:
            raise wal.SegmentDamaged(f"manifest is number {header.number} by its header", offset=0)
        records, end = wal.read_records(data, header)
    except wal.SegmentDamaged as error:
        raise ManifestCorrupt(path, error.what, offset=error.offset, advice=_ADVICE) from error
    except wal.SegmentUnsupported as error:
        raise UnsupportedFormat(f"{path}: {error}; upgrade this software") from error
    version = Version()
    for record in records:
        try:
            version = version.after(decode_edit(data[record.payload_start : record.end]))
        except (ValueError, BadEdit) as error:
            raise ManifestCorrupt(
                path, f"bad edit: {error}", offset=record.position, advice=_ADVICE
            ) from error
    if version.store_id != header.store_id:
        raise ManifestCorrupt(
            path, "manifest without its first edit", offset=wal.SEGMENT_HEADER_BYTES, advice=_ADVICE
        )
    return ManifestContents(number, version, end.ending is wal.Ending.CLOSED)


def _read_whole(fs: FileSystem, name: str, limit: int) -> bytes:
    path = f"{fs.name}/{name}"
    try:
        file = fs.open(name, Cause.MANIFEST)
    except FileNotFoundError as error:
        raise ManifestCorrupt(path, "file is missing", advice=_ADVICE) from error
    try:
        if file.size > limit:
            raise ManifestCorrupt(path, f"{file.size} bytes are too many", offset=limit, advice=_ADVICE)
        return file.read_upto(0, limit)
    finally:
        file.close()


class VersionHolder(Protocol):
    """Where the truth on disk is known from: a manifest that is written, or one that was read."""

    version: Version
    number: int

    @property
    def wants_roll(self) -> bool:
        """Tell whether it has grown so long that a new one would be shorter."""

    @property
    def is_wasteful(self) -> bool:
        """Tell, more exactly and at a cost, whether a new one would be much shorter."""

    def abandon(self) -> None:
        """Let go of the file as it is."""

    def append(self, edit: VersionEdit) -> Version:
        """Make an edit durable; return the version it leads to."""

    def close(self, edit: VersionEdit) -> None:
        """Make the last edit durable and end."""


class Manifest:
    """Owns the manifest that is being written.  `version` is what is durable; callers serialise `append`."""

    def __init__(self, fs: FileSystem, clock: Clock, version: Version, number: int) -> None:
        """Write `version` into a new manifest and put it in force."""
        self._fs = fs
        self._clock = clock
        self.version = version
        self.number = number
        header = wal.SegmentHeader(
            store_id=version.store_id, number=number, first_seq=1, epoch=version.epoch, time_us=clock.now_us()
        )
        file = fs.create(manifest_name(number), Cause.MANIFEST)
        try:
            self._segment = wal.SegmentWriter(file, header)
            self._write(version.as_edit())
            self._first_bytes = file.size
            self._put_in_force()
        except BaseException:
            file.close()
            raise

    @property
    def wants_roll(self) -> bool:
        """Tell whether the edits have grown much longer than the version they began with."""
        long_bytes = max(ROLL_BYTES, _ROLL_RATIO * self._first_bytes)
        # However much there is to say: what is too long would not be read again.
        return self._segment.file.size > min(long_bytes, MANIFEST_BYTES_MAX // 2)

    @property
    def is_wasteful(self) -> bool:
        """Tell whether a new manifest would be much shorter; finding out takes as long as writing one."""
        return self._segment.file.size > 2 * len(encode_edit(self.version.as_edit())) + _WASTE_BYTES

    def append(self, edit: VersionEdit) -> Version:
        """Make an edit durable; return the version it leads to."""
        version = self.version.after(edit)
        self._write(edit)
        self.version = version
        return version

    def close(self, edit: VersionEdit) -> None:
        """Append the last edit and the close marker."""
        try:
            self.append(edit)
            self._segment.close(self._clock.now_us())
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the file without a close marker, as a crash would."""
        self._segment.file.close()

    def _write(self, edit: VersionEdit) -> None:
        self._segment.append(self._segment.encode(encode_edit(edit), 1, self._clock.now_us()))
        self._segment.sync()

    def _put_in_force(self) -> None:
        # The manifest's name must be durable before CURRENT uses it, and CURRENT's content before its name.
        self._fs.sync_dir(Cause.MANIFEST)
        if self._fs.exists(CURRENT_TEMPORARY):
            self._fs.unlink(CURRENT_TEMPORARY)
        file = self._fs.create(CURRENT_TEMPORARY, Cause.MANIFEST)
        try:
            file.append(_current_line(self.number))
            file.sync()
        finally:
            file.close()
        self._fs.rename(CURRENT_TEMPORARY, CURRENT)
        self._fs.sync_dir(Cause.MANIFEST)
