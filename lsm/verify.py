"""Checking a whole store: every byte of every file against its checksum, and the files against each other."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from compaction import check_levels
from lsm.consumers.files import KINDS, ConsumerFiles
from lsm.errors import CorruptionError, Error, NotAStore, typed_errors
from lsm.filenames import is_ours, parse, table_name
from lsm.fs import open_directory
from lsm.fs_types import FileSystem
from lsm.log_columns import read_writes
from lsm.manifest import read_current, read_manifest
from lsm.recovery import holds_store, missing, sound_version
from lsm.segments import read_segment
from lsm.version import Version
from sstable import CorruptTable, Table, TableMeta, UnsupportedTable

Progress = Callable[[int, int], None]
"""Told after each file how many bytes of how many are done."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    file: str
    what: str
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What a check found."""

    tables: int
    segments: int
    entries: int
    size_bytes: int
    problems: tuple[Problem, ...]
    foreign_files: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Tell whether nothing is wrong."""
        return not self.problems


def verify(path: str | os.PathLike[str], *, progress: Progress | None = None) -> VerifyReport:
    """Check the store at `path`, changing nothing; also works beside a writer."""
    name = os.fspath(path)
    try:
        fs = open_directory(name, create=False, read_only=True)
    except FileNotFoundError as error:
        raise missing(name) from error
    except NotADirectoryError as error:
        raise NotAStore(f"{name} is not a directory; a store is one") from error
    try:
        with typed_errors(name, "verifying"):
            return verify_on(fs, progress=progress)
    finally:
        fs.close()


def verify_on(fs: FileSystem, *, progress: Progress | None = None) -> VerifyReport:
    """Check the store in an open directory."""
    foreign = tuple(name for name in fs.list() if not is_ours(name))
    try:
        if not holds_store(fs):
            raise missing(fs.name)
        version = sound_version(fs, lambda: read_manifest(fs, read_current(fs)).version)
    except CorruptionError as error:
        return VerifyReport(0, 0, 0, 0, (Problem(error.path, error.what, error.offset),), foreign)
    tables = version.all_tables()
    total_bytes = sum(table.size_bytes for table in tables.values())
    done_bytes = 0
    problems = [*_level_problems(version), *_orphans(fs, version)]
    for table in tables.values():
        problems += _table_problems(fs, version, table)
        done_bytes += table.size_bytes
        if progress is not None:
            progress(done_bytes, total_bytes)
    problems += _log_problems(fs, version)
    problems += _consumer_problems(fs)
    entries = sum(table.entries for table in tables.values())
    return VerifyReport(len(tables), len(version.segments), entries, total_bytes, tuple(problems), foreign)


def _level_problems(version: Version) -> Iterator[Problem]:
    for meta in version.keyspaces.values():
        try:
            check_levels(meta.levels or ((),))
        except ValueError as error:
            yield Problem("manifest", f"levels of keyspace {meta.name!r}: {error}")


def _orphans(fs: FileSystem, version: Version) -> Iterator[Problem]:
    """Name tables that the manifest says are there and are not; leftovers are harmless and not reported."""
    present = {found for name in fs.list() if (found := parse(name)) is not None}
    for number in version.all_tables():
        if ("sst", number) not in present:
            yield Problem(f"{fs.name}/{table_name(number)}", "table is missing")


def _table_problems(fs: FileSystem, version: Version, meta: TableMeta) -> Iterator[Problem]:
    name = table_name(meta.number)
    path = f"{fs.name}/{name}"
    try:
        file = fs.open(name)
    except FileNotFoundError:
        return  # reported already
    except OSError as error:
        yield Problem(path, str(error))
        return
    try:
        table = Table(file, meta, name=path)
        if table.store_id != version.store_id:
            yield Problem(path, "table belongs to another store")
        table.verify()
    except CorruptTable as error:
        yield Problem(path, error.what, error.offset)
    except (UnsupportedTable, OSError) as error:
        yield Problem(path, str(error))
    finally:
        file.close()


def _log_problems(fs: FileSystem, version: Version) -> Iterator[Problem]:
    for meta in version.segments:
        if meta.tables:
            continue  # its entries are in tables, which were checked
        try:
            read_writes(read_segment(fs, version, meta), version)
        except CorruptionError as error:
            yield Problem(error.path, error.what, error.offset)
        except Error as error:
            yield Problem(fs.name, str(error))


def _consumer_problems(fs: FileSystem) -> Iterator[Problem]:
    files = ConsumerFiles(fs)
    for name in files.names():
        for kind in KINDS:
            try:
                files.read(name, kind)
            except CorruptionError as error:
                yield Problem(error.path, error.what)
