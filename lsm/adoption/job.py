"""One job in the inbox of a store: a directory with staged tables and a few small files.

Who has written the tables puts `JOB` beside them, which says what is to be done.  A writer takes it by
giving it another name, `TAKEN-number`, and answers with `DONE`.  Who has put it there may take it back as
long as nobody has taken it.  Each name is given by one rename, so there is no moment between.
"""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any, Final
from zlib import crc32

from lsm.arguments import as_user_keyspace_name
from lsm.errors import InvalidArgument
from lsm.fs_types import Cause, FileSystem, check_name

# On disk: changing a line below needs a new format version.
FORMAT: Final = 1
JOB: Final = "JOB"
DONE: Final = "DONE"
WITHDRAWN: Final = "WITHDRAWN"
_TEMPORARY: Final = ".tmp"
_TAKEN: Final = re.compile(r"TAKEN-(0|[1-9][0-9]{0,17})")
_NOTE_BYTES_MAX: Final = 64 * 1024 * 1024
_NUMBER_MAX: Final = 2**62


class BadNote(InvalidArgument):
    """A file of a job that nobody of ours has written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be loaded: tables in the same directory, disjoint and in any order."""

    store_id: str
    keyspace: str
    names: tuple[str, ...]
    replaces: bool = False
    transaction: tuple[str, int] | None = None

    @staticmethod
    def decode(data: bytes) -> "Job":
        """Return what a file says, or raise BadNote."""
        fields = _fields(data)
        try:
            transaction = fields["transaction"]
            if transaction is not None:
                name, number = transaction
                transaction = (_text(name), _number(number))
            return Job(
                store_id=_text(fields["store_id"]),
                keyspace=as_user_keyspace_name(fields["keyspace"]),
                names=tuple(check_name(_text(name)) for name in fields["names"]),
                replaces=fields["replaces"] is True,
                transaction=transaction,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadNote(f"a job makes no sense: {error}") from error

    def encode(self) -> bytes:
        """Return the bytes of its file."""
        return _line(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a job; an `error` says why it was refused."""

    first_seq: int = 0
    last_seq: int = 0
    is_new: bool = False
    error: str = ""

    @staticmethod
    def decode(data: bytes) -> "Outcome":
        """Return what a file says, or raise BadNote."""
        fields = _fields(data)
        try:
            return Outcome(
                first_seq=_number(fields["first_seq"]),
                last_seq=_number(fields["last_seq"]),
                is_new=fields["is_new"] is True,
                error=_text(fields["error"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadNote(f"an outcome makes no sense: {error}") from error

    def encode(self) -> bytes:
        """Return the bytes of its file."""
        return _line(asdict(self))


def taken_name(number: int) -> str:
    """Return the name of a job that a writer has taken under a number."""
    return f"TAKEN-{number}"


def parse_taken(name: str) -> int | None:
    """Return the number a job was taken under, None for any other name."""
    match = _TAKEN.fullmatch(name)
    return None if match is None else int(match[1])


def leave(directory: FileSystem, job: Job) -> None:
    """Leave a job for the writer, durably, whose tables are there and durable but for their names."""
    directory.sync_dir()  # a job that survives a crash must not name tables that did not
    write_note(directory, JOB, job.encode())


def write_note(directory: FileSystem, name: str, data: bytes) -> None:
    """Put a file in force, whole and durably."""
    temporary = name + _TEMPORARY
    if directory.exists(temporary):
        directory.unlink(temporary)
    file = directory.create(temporary, Cause.OTHER)
    try:
        file.append(data)
        file.sync()
    finally:
        file.close()
    directory.rename(temporary, name)
    directory.sync_dir()


def read_note(directory: FileSystem, name: str) -> bytes:
    """Return what a file holds."""
    file = directory.open(name, Cause.OTHER)
    try:
        return file.read_upto(0, _NOTE_BYTES_MAX)
    finally:
        file.close()


def _line(fields: dict[str, object]) -> bytes:
    text = json.dumps({"format": FORMAT, **fields}).encode()
    return b"%08x %s\n" % (crc32(text), text)


def _fields(data: bytes) -> dict[str, Any]:
    check, _, text = data.removesuffix(b"\n").partition(b" ")
    if check != b"%08x" % crc32(text):
        raise BadNote("a file of a job is damaged")
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise BadNote(f"a file of a job is no JSON: {error}") from error
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise BadNote("a file of a job has a format of newer software; upgrade this one")
    return fields


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value


def _number(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _NUMBER_MAX:
        raise TypeError(f"{value!r:.40} is no number")
    return value
