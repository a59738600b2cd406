"""Opening a store for writing: its files, the end of its log, and a fresh start from both.

Nothing old is appended to.  The unfinished end of the log is copied into a new segment and made durable
there before anything of it is served: after a failed sync the system may show bytes that the disk does not
hold.  The new manifest is the moment at which all of that comes into force; a crash before it leaves the
old store, a crash after it the new one.
"""

import errno
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import wal
from lsm.arguments import as_keyspace_name
from lsm.caches import BlockCache, TableCache
from lsm.clock import Clock, Entropy
from lsm.errors import (
    FollowerError,
    InvalidArgument,
    ManifestCorrupt,
    NotAStore,
    StoreNotFound,
    TableCorrupt,
)
from lsm.filenames import (
    BOOTSTRAP,
    CURRENT,
    CURRENT_TEMPORARY,
    LOCK,
    is_ours,
    parse,
    segment_name,
    table_name,
)
from lsm.fs_types import Cause, FileSystem
from lsm.log_columns import read_writes
from lsm.manifest import Manifest, read_current, read_manifest
from lsm.options import Options, OptionValue, options_from_json
from lsm.payload import KEYSPACE_MAX
from lsm.segments import SegmentContents, copy_records, create_segment, read_segment
from lsm.state import Generation, State
from lsm.version import KeyspaceMeta, SegmentMeta, Version

DEFAULT_KEYSPACE = 0
DEFAULT_NAME = "default"
OPEN_TABLES_MAX = 400
"""A map holds a descriptor, and 1,024 of those is a usual limit."""
_COUNTER_MAX = 2**62
COPY_BYTES_MAX = 1024 * 1024
"""A finished segment up to this size is continued in the new one instead of being flushed on its own."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A store ready for writing."""

    state: State
    segment: wal.SegmentWriter


def holds_store(fs: FileSystem) -> bool:
    """Tell whether a store is here; raise if what is here can be neither used nor replaced.

    A damaged store must never pass for an empty directory: only leftovers of a creation that did not come to
    its end do, and those hold no data.
    """
    names = [name for name in fs.list() if name != LOCK]
    if CURRENT in names:
        return True
    if BOOTSTRAP in names:
        raise FollowerError(f"{fs.name} is half a copy; lsm.follow() or `lsm log apply` makes it whole")
    numbered = [found for name in names if (found := parse(name)) is not None]
    if any(kind != "manifest" for kind, _ in numbered):
        raise ManifestCorrupt(
            f"{fs.name}/{CURRENT}",
            "file is missing, but other files of a store are here",
            advice="restore the store from a checkpoint",
        )
    foreign = [name for name in names if not is_ours(name)]
    if foreign:
        raise NotAStore(
            f"{fs.name} holds other files (such as {foreign[0]!r:.50}), no store; choose an empty directory"
        )
    return False


def create_store(fs: FileSystem, clock: Clock, entropy: Entropy, options: Options) -> None:
    """Put a new, empty store in force, in place of whatever was here.  Opening it does the rest.

    A crash leaves the old store or the new one; files of the old one are no more than leftovers of the new
    one.
    """
    number = _free_number(fs, Version())
    default = KeyspaceMeta(id=DEFAULT_KEYSPACE, name=DEFAULT_NAME)
    version = Version(
        store_id=entropy(16),
        options=options.to_json(),
        next_number=number + 1,
        next_keyspace=1,
        keyspaces={default.id: default},
    )
    Manifest(fs, clock, version, number).abandon()


def recover(fs: FileSystem, clock: Clock, changes: Mapping[str, OptionValue]) -> Opened:
    """Open the store that is here for writing."""
    contents = read_manifest(fs, read_current(fs))
    version = contents.version
    options = stored_options(fs, version).with_changes(changes)
    check_files(fs, version)
    version = replace(
        version,
        options=options.to_json(),
        next_number=_free_number(fs, version),
        is_closed=False,
        history_seq=_history_seq(version, options),
        segments=tuple(meta for meta in version.segments if not _is_empty(meta)),
    )
    log = [
        (meta, read_segment(fs, version, meta))
        for meta in version.segments
        if not _is_flushed(meta, version)
    ]
    refuse_lost_edit(fs, contents.version)
    segment, version, kept = _continue_log(fs, clock, version, log)
    try:
        state = _put_in_force(fs, clock, version, options)
        _replay(state, kept, log, segment)
    except BaseException:
        segment.file.close()
        raise
    return Opened(state, segment)


def _put_in_force(fs: FileSystem, clock: Clock, version: Version, options: Options) -> State:
    number = version.next_number
    manifest = Manifest(fs, clock, replace(version, next_number=number + 1), number)
    try:
        state = State(fs, clock, options, manifest, open_tables(fs, version, options))
        _remove_orphans(fs, state)
    except BaseException:
        manifest.abandon()
        raise
    return state


def open_tables(fs: FileSystem, version: Version, options: Options, *, evicts: bool = True) -> TableCache:
    """Return the caches of a store, within its memory limit.

    Beside a writer nothing may be evicted: a table that was removed meanwhile could not be opened again.
    """
    return TableCache(
        fs,
        store_id=version.store_id,
        block_cache=BlockCache(options.cache_bytes),
        capacity_bytes=options.memory_limit // 8 if evicts else 1 << 62,
        tables_max=OPEN_TABLES_MAX if evicts else 1 << 62,
        use_map=options.mmap,
        verify=options.verify_checksums,
    )


def check_files(fs: FileSystem, version: Version) -> None:
    """Raise unless every table is there with its size; segments are checked when they are read."""
    names = set(fs.list())
    for table in version.all_tables().values():
        name = table_name(table.number)
        if name not in names:
            raise TableCorrupt(f"{fs.name}/{name}", "table is missing", advice="restore it from a checkpoint")
        size = fs.size_of(name)
        if size != table.size_bytes:
            raise TableCorrupt(
                f"{fs.name}/{name}", f"table has {size} bytes where {table.size_bytes} are due", offset=size
            )


def _free_number(fs: FileSystem, version: Version) -> int:
    """Return a file number above all that were ever used."""
    seen = [found[1] for name in fs.list() if (found := parse(name)) is not None]
    return max([version.next_number, *(number + 1 for number in seen)])


def _is_flushed(meta: SegmentMeta, version: Version) -> bool:
    return meta.last_seq is not None and meta.last_seq <= version.flushed_seq


def _is_empty(meta: SegmentMeta) -> bool:
    return meta.last_seq is not None and meta.last_seq < meta.first_seq


def _history_seq(version: Version, options: Options) -> int | None:
    """Return from when on tables keep the past, if they do: what is in them now is the present."""
    if not options.log_history:
        return None
    return version.flushed_seq if version.history_seq is None else version.history_seq


def refuse_lost_edit(fs: FileSystem, version: Version) -> None:
    """Raise if there is a log segment with data that the manifest should know and does not."""
    for number in sorted(unnamed_segments(fs, version)):
        raise ManifestCorrupt(
            f"{fs.name}/{segment_name(number)}",
            "log segment holds writes, but the manifest has lost the edit that names it",
            advice="restore the store from a checkpoint",
        )


def unnamed_segments(fs: FileSystem, version: Version) -> set[int]:
    """Return the log segments with data that the manifest should know and does not.

    The last edit of a manifest may be torn by a crash.  But a segment takes its first record only after the
    edit that names it is durable, so a segment with records beyond the known ones means that such an edit
    is damaged.
    """
    newest = max((meta.first_seq for meta in version.segments), default=0)
    known = {meta.number for meta in version.segments}
    found = set()
    for name in fs.list():
        kind, number = parse(name) or ("", 0)
        if kind == "log" and number not in known:
            first_seq = _first_seq_of(fs, version, number)
            if first_seq is not None and first_seq > newest:
                found.add(number)
    return found


def sound_version(fs: FileSystem, read: Callable[[], Version]) -> Version:
    """Return what the manifest says beside a writer, once it is sure that no edit of it is lost."""
    return check_named(fs, read(), read)


def check_named(fs: FileSystem, version: Version, read: Callable[[], Version]) -> Version:
    """Raise if an edit of the manifest is lost, beside a writer who goes on; return the version it is at."""
    suspects = unnamed_segments(fs, version)
    while suspects:
        # The log may have been rotated since the manifest was read.  What had records then must be named now;
        # what has come since is not asked for, or a busy writer would keep us here.
        later = read()
        left = suspects & unnamed_segments(fs, later)
        if left and later == version:
            refuse_lost_edit(fs, later)
        version, suspects = later, left
    return version


def _first_seq_of(fs: FileSystem, version: Version, number: int) -> int | None:
    """Return where an unnamed segment of this store starts, None if it holds no whole record."""
    try:
        file = fs.open(segment_name(number), Cause.LOG)
    except FileNotFoundError:
        return None  # removed by a writer beside us
    try:
        data = file.read_upto(0, file.size)
    finally:
        file.close()
    try:
        header = wal.decode_header(data)
        if header is None or header.store_id != version.store_id or header.number != number:
            return None
        records, _ = wal.read_records(data, header)
    except wal.LogError:
        return None
    return header.first_seq if len(records) else None


def _check_version(version: Version) -> None:
    """Raise if a manifest says what no store would have written, however right its checksums are."""
    names = [as_keyspace_name(meta.name) for meta in version.keyspaces.values()]
    if DEFAULT_KEYSPACE not in version.keyspaces or len(set(names)) < len(names):
        raise InvalidArgument("the default keyspace is missing, or a name stands for two keyspaces")
    if not max(version.keyspaces) < version.next_keyspace <= KEYSPACE_MAX + 1:
        raise InvalidArgument(f"keyspace numbers up to {max(version.keyspaces)} cannot be")
    if max(version.next_number, version.flushed_seq) > _COUNTER_MAX:
        raise InvalidArgument("a counter is beyond all reason")


def stored_options(fs: FileSystem, version: Version) -> Options:
    """Return the options kept in the manifest."""
    try:
        _check_version(version)
        return options_from_json(version.options)
    except InvalidArgument as error:
        raise ManifestCorrupt(fs.name, f"manifest makes no sense: {error}") from error


def _continue_log(
    fs: FileSystem, clock: Clock, version: Version, log: list[tuple[SegmentMeta, SegmentContents]]
) -> tuple[wal.SegmentWriter, Version, list[SegmentMeta]]:
    """Start the new segment; return it, the version that has it, and the segments that are kept beside it."""
    kept = [meta for meta, _ in log]
    segments = list(version.segments)
    next_seq = log[-1][1].end.next_seq if log else version.flushed_seq + 1
    source: SegmentContents | None = None
    if log and _is_continued(*log[-1]):
        source = log[-1][1]
        next_seq = source.header.first_seq
        segments.remove(kept.pop())
    new = create_segment(fs, clock, version, version.next_number, next_seq)
    if source is not None:
        copy_records(source, new)
    segments.append(SegmentMeta(number=new.header.number, first_seq=next_seq))
    return new, replace(version, segments=tuple(segments), next_number=version.next_number + 1), kept


def _is_continued(meta: SegmentMeta, contents: SegmentContents) -> bool:
    return meta.last_seq is None or len(contents.data) <= COPY_BYTES_MAX


def _remove_orphans(fs: FileSystem, state: State) -> None:
    """Remove our own files that the manifest does not name: leftovers of unfinished work."""
    version = state.version
    named = {("log", meta.number) for meta in version.segments}
    named |= {("sst", number) for number in version.all_tables()}
    named |= {("manifest", state.manifest.number)}
    for name in fs.list():
        found = parse(name)
        if name == CURRENT_TEMPORARY or (found is not None and found not in named):
            fs.unlink(name)


def _replay(
    state: State,
    kept: list[SegmentMeta],
    log: list[tuple[SegmentMeta, SegmentContents]],
    segment: wal.SegmentWriter,
) -> None:
    """Bring back to memory what is only in the log: finished segments as sealed generations."""
    numbers = {meta.number for meta in kept}
    for meta, contents in log:
        _load(state, contents)
        if meta.number in numbers:
            last_seq = contents.end.next_seq - 1
            generation = Generation(meta.number, meta.first_seq, last_seq, len(contents.data))
            with state.lock:
                state.seal(generation)
    state.visible_seq = segment.next_seq - 1
    with state.lock:
        for space in state.spaces.values():
            state.refresh_view(space)


def _load(state: State, contents: SegmentContents) -> None:
    for keyspace, (keys, values) in read_writes(contents, state.version).items():
        if keyspace in state.spaces:
            state.spaces[keyspace].memtable.top.entries.update(zip(keys, values, strict=True))


def missing(path: str) -> StoreNotFound:
    """Return the error for a path without a store."""
    return StoreNotFound(errno.ENOENT, f'no store at {path}; lsm.open(path, "c") creates one')
