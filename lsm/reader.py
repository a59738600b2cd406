"""Reading a store from beside its writer: any number of processes, no lock, no file made.

A reader takes the manifest, opens every table of that version at once, since files that are removed
meanwhile stay readable, and replays the end of the log.  If the writer moved on in between and something is
gone, it starts over.
"""

from dataclasses import dataclass

from compaction import Levels
from lsm.caches import TableCache
from lsm.clock import Clock
from lsm.errors import CorruptionError, ReadOnlyError
from lsm.filenames import manifest_name
from lsm.fs_types import FileSystem
from lsm.log.samples import SeenSamples
from lsm.log_columns import read_writes
from lsm.manifest import read_current, read_manifest
from lsm.options import OptionValue
from lsm.recovery import check_named, open_tables, stored_options
from lsm.retries import Tries
from lsm.segments import read_segment
from lsm.state import Generation, State
from lsm.version import SegmentMeta, Version, VersionEdit

_TRIES = 100


@dataclass(slots=True)
class ReadManifest:
    """A version that was read and that nobody here may change."""

    version: Version
    number: int = 0
    wants_roll: bool = False
    is_wasteful: bool = False

    def abandon(self) -> None:
        """Nothing is held."""

    def append(self, edit: VersionEdit) -> Version:
        """Refuse."""
        raise ReadOnlyError(f"read-only: {edit}")

    def close(self, edit: VersionEdit) -> None:
        """Refuse."""
        self.append(edit)


class LiveReader:
    """Follows a store that another process may be writing."""

    def __init__(self, fs: FileSystem, clock: Clock, changes: dict[str, OptionValue]) -> None:
        self._fs = fs
        self._clock = clock
        self._changes = changes
        self.samples = SeenSamples()

    def open(self) -> State:
        """Return the store as it is durable now."""
        version = self.read_version()
        options = stored_options(self._fs, version).with_changes(self._changes)
        tables = open_tables(self._fs, version, options, evicts=False)
        state = State(self._fs, self._clock, options, ReadManifest(version), tables)
        self.refresh(state)
        return state

    def refresh(self, state: State) -> None:
        """Move the store's views to what is durable now."""
        tries = Tries(self._clock)
        while True:
            version = self.read_version()
            try:
                # The files first, as they may go at any moment; what they were named by can be checked after.
                found = self._load(state.tables, version)
                check_named(self._fs, version, self.read_version)
                break
            except CorruptionError:
                if not tries.is_worth_another(version):
                    raise
        self._install(state, version, *found)

    def stamp(self) -> tuple[int, int] | None:
        """Return what differs whenever the manifest does; None if it is being replaced right now."""
        try:
            number = read_current(self._fs)
            return number, self._fs.size_of(manifest_name(number))
        except (CorruptionError, FileNotFoundError):
            return None

    def read_version(self) -> Version:
        """Return what the manifest in force says now."""
        for attempt in range(_TRIES):
            try:
                return read_manifest(self._fs, read_current(self._fs)).version
            except CorruptionError:
                # The writer may have put another manifest in force between the two reads.
                if attempt == _TRIES - 1:
                    raise
                self._clock.sleep(0.001)
        raise AssertionError("unreachable")

    def _load(self, tables: TableCache, version: Version) -> tuple[list[Generation], int]:
        for meta in version.keyspaces.values():
            _open_all(meta.levels, tables)
        generations = []
        last_seq = version.flushed_seq
        for segment in version.segments:
            if segment.last_seq is None or segment.last_seq > version.flushed_seq:
                generation = self._read_generation(version, segment)
                generations.append(generation)
                last_seq = generation.last_seq
        return generations, last_seq

    def _read_generation(self, version: Version, segment: SegmentMeta) -> Generation:
        # Synced before it is believed: a reader must never show what a crash could still undo.
        contents = read_segment(self._fs, version, segment, durably=segment.last_seq is None)
        if segment.last_seq is None:
            self.samples.note(segment, contents.records, 0)
        generation = Generation(
            segment.number, segment.first_seq, contents.end.next_seq - 1, len(contents.data)
        )
        for keyspace, (keys, values) in read_writes(contents, version).items():
            generation.memtable(keyspace).top.entries.update(zip(keys, values, strict=True))
        for memtable in generation.memtables.values():
            memtable.seal(generation.last_seq)
        return generation

    @staticmethod
    def _install(state: State, version: Version, generations: list[Generation], last_seq: int) -> None:
        with state.lock:
            old, new = state.version.all_tables(), version.all_tables()
            state.tables.discard({number for number, table in old.items() if new.get(number) != table})
            state.manifest.version = version
            state.sealed = generations
            state.visible_seq = last_seq
            state.sync_spaces()
            for space in state.spaces.values():
                state.refresh_view(space)


def _open_all(levels: Levels, tables: TableCache) -> None:
    for level in levels:
        for meta in level:
            tables.handle(meta).table()
