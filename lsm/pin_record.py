"""What a pin holds, written down in it: whoever knows its name can read it, also after a crash of its maker.

Not synced: a pin is an aid, and a store that was not shut down properly can be pinned again.
"""

import json
import zlib
from collections.abc import Mapping

from lsm.errors import typed_errors
from lsm.fs import open_directory
from lsm.fs_pins import pin_directory, pin_name
from lsm.fs_types import Cause
from lsm.pins import Pinned, PinnedRun
from sstable import TableMeta

_NAME = "PINNED"
_CRC_DIGITS = 8


def write_pinned(pinned: Pinned) -> str:
    """Write a pin down in itself; return the name by which `find_pinned` finds it."""
    runs = [
        {
            "is_linked": run.directory == pinned.directory,
            "name": run.name,
            "tables": [table.to_json() for table in run.tables],
        }
        for run in pinned.runs
    ]
    text = json.dumps({"store_id": pinned.store_id.hex(), "seq": pinned.seq, "runs": runs}).encode()
    fs = open_directory(pinned.directory, create=False, read_only=False)
    try:
        with typed_errors(pinned.directory, "writing down a pin"):
            file = fs.create(_NAME, Cause.READ)
            try:
                file.append(b"%08x" % zlib.crc32(text) + text)
            finally:
                file.close()
    finally:
        fs.close()
    return pin_name(pinned.store, pinned.directory)


def find_pinned(store: str, name: str) -> Pinned | None:
    """Return a pin that was written down, and say that it is in use; None if it is gone or not whole."""
    directory = pin_directory(store, name)
    try:
        fs = open_directory(directory, create=False, read_only=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        file = fs.open(_NAME, Cause.READ)
        try:
            data = file.pread(0, file.size)
        finally:
            file.close()
    except FileNotFoundError:
        return None
    finally:
        fs.close()
    crc, text = data[:_CRC_DIGITS], data[_CRC_DIGITS:]
    if crc != b"%08x" % zlib.crc32(text):
        return None
    pinned = _pinned(store, directory, json.loads(text))
    return pinned if pinned.is_held() else None


def _pinned(store: str, directory: str, fields: Mapping[str, object]) -> Pinned:
    runs = fields["runs"]
    assert isinstance(runs, list)  # its checksum holds, so it is what was written
    return Pinned(
        store=store,
        directory=directory,
        store_id=bytes.fromhex(str(fields["store_id"])),
        seq=int(str(fields["seq"])),
        runs=tuple(
            PinnedRun(
                directory if run["is_linked"] else store,
                run["name"],
                tuple(map(TableMeta.from_json, run["tables"])),
            )
            for run in runs
        ),
    )
