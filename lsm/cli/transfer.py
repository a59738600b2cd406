"""`lsm export` and `lsm import`."""

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

import lsm
from lsm.cli.exits import BadUsage
from lsm.cli.output import plural, say, show_json, size
from lsm.cli.parameters import AsJson, Range, Source, Target, key_option
from lsm.cli.progress import byte_progress
from lsm.cli.stores import store_to_read, store_to_write
from lsm.transfer import open_import


class FileKind(StrEnum):
    """Kinds of files."""

    PARQUET = "parquet"
    ARROW = "arrow"
    CSV = "csv"
    JSONL = "jsonl"


class Code(StrEnum):
    """How bytes appear in a file."""

    AUTO = "auto"
    TEXT = "text"
    HEX = "hex"
    BASE64 = "base64"


class Duplicates(StrEnum):
    """What becomes of a key that comes twice."""

    ERROR = "error"
    LAST = "last"


_FileName: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="File: .parquet, .arrow, .csv or .jsonl.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the file is like."""

    format: Annotated[FileKind | None, typer.Option(help="Kind of file, where its name does not say.")] = None
    key_format: Annotated[Code, typer.Option(help="How keys appear in the file.")] = Code.AUTO
    value_format: Annotated[Code, typer.Option(help="How values appear in the file.")] = Code.AUTO
    key_column: Annotated[str, typer.Option(metavar="NAME", help="Column of the keys.")] = "key"
    value_column: Annotated[str, typer.Option(metavar="NAME", help="Column of the values.")] = "value"

    def options(self, *, overwrite: bool = False) -> lsm.FileOptions:
        """Return this as the library takes it."""
        return lsm.FileOptions(
            kind=None if self.format is None else self.format.value,
            key_format=self.key_format.value,
            value_format=self.value_format.value,
            key_column=self.key_column,
            value_column=self.value_column,
            overwrite=overwrite,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys(Range):
    """Which keys are exported."""

    prefix: Annotated[bytes | None, key_option("Only keys that begin so.")] = None

    @property
    def is_all(self) -> bool:
        """Whether nothing is left out."""
        return self.start is None and self.stop is None and self.prefix is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """How rows are loaded."""

    duplicates: Annotated[
        Duplicates, typer.Option(help="A key that comes twice: an error, or the last one counts.")
    ] = Duplicates.ERROR
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete all keys that are not in the file.")
    ] = False


def export(
    source: Source,
    file: _FileName,
    keys: Keys,
    layout: Layout,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace FILE if it is there.")] = False,
    json: AsJson = False,
) -> None:
    """Write a keyspace to a file, as it is at this moment.  Works beside a writer.

    The file has its name only when it is whole.  In parquet and arrow, bytes are bytes; in csv they are text,
    or follow base64: where they are no text; in jsonl they are strings, or {"base64": "..."}.
    """
    options = layout.options(overwrite=force)
    started = time.monotonic()
    with store_to_read(source.path) as db, byte_progress("exporting") as advance:
        keyspace = db if source.keyspace is None else db.keyspace(source.keyspace, create=False)
        total = _user_bytes(db, source.keyspace or "default") if keys.is_all else None
        try:
            done = lsm.export_store(
                keyspace,
                file,
                keys.start,
                keys.stop,
                prefix=keys.prefix,
                options=options,
                progress=lambda done_bytes, _: advance(done_bytes, total),
            )
        except lsm.FileExists as error:
            raise BadUsage(f"{file} is there already; --force replaces it") from error
    seconds = time.monotonic() - started
    if json:
        show_json({"rows": done.rows, "size_bytes": done.size_bytes, "seconds": round(seconds, 3)})
        return
    say(f"{plural(done.rows, 'row')} exported to {file}, {size(done.size_bytes)}, in {seconds:.1f} s")


def import_(target: Target, file: _FileName, layout: Layout, loading: Loading, json: AsJson = False) -> None:
    """Load a file of keys and values: all of it or nothing; make the store if there is none.

    A csv has a header, and a jsonl one object a line.  Columns other than those of keys and values are
    ignored.  Rows may be in any order.
    """
    started = time.monotonic()
    with (
        byte_progress("importing") as advance,
        open_import(file, layout.options(), advance) as found,
        # Only now: a file that cannot be read makes no store.
        store_to_write(target.path, "c", target.option) as db,
    ):
        done = found.load_into(
            db,
            keyspace=target.keyspace or "default",
            replace=loading.replace,
            duplicates=loading.duplicates.value,
        )
    seconds = time.monotonic() - started
    if json:
        show_json({"rows": done.rows, "last_seq": done.last_seq, "seconds": round(seconds, 3)})
        return
    say(f"{plural(done.rows, 'row')} imported from {file} in {seconds:.1f} s")


def _user_bytes(db: lsm.DB, keyspace: str) -> int | None:
    """Return about how many bytes of keys and values there are: more, if some were overwritten."""
    for one in db.stats().keyspaces:
        if one.name == keyspace:
            return sum(level.user_bytes for level in one.levels) or None
    return None
