"""Background work on an open store: choose a job, have it done, install what came out."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from compaction import CompactionPlan, Levels, bytes_while_written, plan_full
from lsm.executor import Executor
from lsm.filenames import segment_name, table_name
from lsm.filter_bits import flush_options, merge_options
from lsm.history import JobHistory, JobRecord
from lsm.retention import lagging, outside_limits, unpinned
from lsm.state import Generation, State
from lsm.tasks import CompactionTask, FlushTask, Output, TaskResult
from lsm.version import SegmentMeta, TableChange, VersionEdit
from lsm.work import Work, work_of_merge
from sstable import TableOptions


@dataclass(frozen=True, slots=True)
class Compaction:
    """A plan for one keyspace."""

    keyspace: int
    plan: CompactionPlan
    levels: Levels
    """What the plan was made for."""


@dataclass(slots=True)
class JobCounters:
    """How much the background has done."""

    flushes: int = 0
    compactions: int = 0
    moves: int = 0
    entries_in: int = 0
    entries_out: int = 0
    retries: int = 0
    loads: int = 0


class Jobs:
    """Knows what is to be done and how its result is installed; runs nothing by itself."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.counters = JobCounters()
        self.history = JobHistory()
        self.flushing = threading.Lock()  # generations are flushed one at a time, in order
        self.policy = state.options.shape().make_policy()

    def next_flush(self) -> Generation | None:
        """Return the oldest sealed generation: they are flushed in order."""
        with self._state.lock:
            return self._state.sealed[0] if self._state.sealed else None

    def flush(self, generation: Generation, executor: Executor) -> None:
        """Write a sealed generation to L0 and let its memory go."""
        state = self._state
        segment = next(meta for meta in state.version.segments if meta.number == generation.segment)
        numbers = len(state.version.keyspaces) + 2 * generation.log_bytes // state.options.table_bytes + 8
        keyspaces = state.version.keyspaces
        trees = [meta.levels for meta in keyspaces.values()]
        task = FlushTask(
            segment=segment,
            keyspaces=tuple(keyspaces),
            output=self._output(
                numbers,
                flush_options(state.options, trees, generation.log_bytes),
                state.options.shape().flush_table_bytes_max,
            ),
        )
        started = state.clock.monotonic()
        result = executor.run(task)
        with state.edit_lock:
            state.install(self._flush_edit(generation, result), flushed=generation)
        self._remove_tables(result)
        self.counters.flushes += 1
        self._count(result)
        self.history.add(
            JobRecord(
                kind="flush",
                started=started,
                seconds=state.clock.monotonic() - started,
                keyspace=None,
                from_level=None,
                to_level=0,
                read_bytes=generation.log_bytes,
                written_bytes=result.table_bytes,
                entries_in=result.entries_in,
                entries_out=result.entries_out,
            )
        )
        self.trim()

    def trim(self) -> bool:
        """Let go of the log segments that retention does not keep; False if there are none."""
        state = self._state
        if not self._outside_limits():
            return False
        with state.trim_lock:
            candidates, pins = self._outside_limits(), [*state.pins(), *list(state.own_pins)]
            # A position that lets segments go must outlive them.
            state.sync_log()
            for pin in lagging(state.version.segments, candidates, pins, state.open_log_bytes()):
                state.drop_pin(pin)
                pins.remove(pin)
            gone = unpinned(candidates, pins)
            if not gone:
                return False
            with state.edit_lock:
                state.install(VersionEdit(segments_removed=tuple(meta.number for meta in gone)))
        for meta in gone:
            if not meta.tables:
                state.remove_file(segment_name(meta.number))
        return True

    def tidy(self) -> None:
        """Let go of everything that is needed no more, after a compaction by hand."""
        self.trim()  # how much log is kept may depend on how large the tables are
        self._state.shorten_manifest()
        remove_obsolete(self._state)

    def _outside_limits(self) -> list[SegmentMeta]:
        state = self._state
        table_bytes = sum(table.size_bytes for table in state.version.tables().values())
        return outside_limits(
            state.version.segments,
            flushed_seq=state.version.flushed_seq,
            limits=state.options.log_limits(table_bytes),
            now_us=state.clock.now_us(),
        )

    def _flush_edit(self, generation: Generation, result: TaskResult) -> VersionEdit:
        keyspaces = self._state.version.keyspaces
        return VersionEdit(
            next_number=self._state.next_number,
            flushed_seq=generation.last_seq,
            tables_added=tuple(
                TableChange(keyspace=keyspace, level=0, table=meta)
                for keyspace, meta in result.tables
                if keyspace in keyspaces
            ),
            work=Work(
                user_bytes=result.user_bytes,
                log_bytes=generation.log_bytes,
                flushes=1,
                flush_bytes=result.table_bytes,
            ),
        )

    def next_compaction(self) -> Compaction | None:
        """Return the most pressing plan of all keyspaces."""
        state = self._state
        with state.lock:
            busy = frozenset(state.busy)
        oldest = next(iter(self._kept_seqs()), None)
        found = [
            Compaction(meta.id, plan, meta.levels)
            for meta in state.version.keyspaces.values()
            if (plan := self.policy.choose(meta.levels, busy, state.clock.now_us(), oldest)) is not None
        ]
        return max(found, key=lambda compaction: compaction.plan.score, default=None)

    def next_full(
        self, keyspace: int, start: bytes | None, stop: bytes | None, last_seq: int
    ) -> Compaction | None:
        """Return a plan that brings a range of a keyspace into one level, or None if it is there.

        Tables of L0 with writes after `last_seq` are left out: a busy writer would keep it going for ever.
        """
        if keyspace not in self._state.version.keyspaces:
            return None
        levels = self._state.levels(keyspace)
        padding = ((),) * (self.policy.levels_max - len(levels))
        old = tuple(
            table for level in levels[:1] for table in level if table.seq_base + table.max_seq <= last_seq
        )
        oldest = next(iter(self._kept_seqs()), None)
        plan = plan_full((old, *levels[1:], *padding), start, stop, oldest_snapshot=oldest)
        return None if plan is None else Compaction(keyspace, plan, levels)

    def compact(self, compaction: Compaction, executor: Executor) -> None:
        """Carry out a plan; the caller has claimed its tables."""
        plan, state = compaction.plan, self._state
        started = state.clock.monotonic()
        if plan.kind == "move":
            result = TaskResult(tuple((compaction.keyspace, table) for table in plan.tables))
            self.counters.moves += 1
        else:
            result = executor.run(self._compaction_task(compaction))
            self.counters.compactions += 1
            self._count(result)
        with state.edit_lock:
            if compaction.keyspace in state.version.keyspaces:
                state.install(self._compaction_edit(compaction, result))
            elif plan.kind == "merge":
                self._remove_tables(result)  # dropped meanwhile
        self.history.add(
            JobRecord(
                kind=plan.kind,
                started=started,
                seconds=state.clock.monotonic() - started,
                keyspace=compaction.keyspace,
                from_level=plan.level,
                to_level=plan.output_level,
                read_bytes=plan.input_bytes if plan.kind == "merge" else 0,
                written_bytes=result.table_bytes if plan.kind == "merge" else 0,
                entries_in=result.entries_in,
                entries_out=result.entries_out,
                reason=plan.reason,
            )
        )

    def _compaction_task(self, compaction: Compaction) -> CompactionTask:
        plan, state = compaction.plan, self._state
        # Outputs are cut by size, before compression, and by what lies below; both add tables.
        size_bytes = sum(map(bytes_while_written, plan.tables))
        numbers = 2 * (size_bytes // state.options.table_bytes + len(plan.output_grandparents)) + 16
        return CompactionTask(
            keyspace=compaction.keyspace,
            runs=plan.inputs,
            deeper=plan.deeper,
            grandparents=plan.output_grandparents,
            oldest_tombstone_time=plan.oldest_tombstone_time,
            output=self._output(
                numbers, merge_options(state.options, compaction.levels, plan), state.options.table_bytes
            ),
        )

    def _compaction_edit(self, compaction: Compaction, result: TaskResult) -> VersionEdit:
        levels = {
            table.number: level
            for level, tables in enumerate(self._state.levels(compaction.keyspace))
            for table in tables
        }
        return VersionEdit(
            next_number=self._state.next_number,
            tables_removed=tuple(
                TableChange(keyspace=compaction.keyspace, level=levels[table.number], table=table)
                for table in compaction.plan.tables
            ),
            tables_added=tuple(
                TableChange(keyspace=keyspace, level=compaction.plan.output_level, table=meta)
                for keyspace, meta in result.tables
            ),
            work=work_of_merge(
                compaction.levels,
                compaction.plan,
                [meta for _, meta in result.tables],
                (result.entries_in, result.entries_out),
            ),
        )

    def _remove_tables(self, result: TaskResult) -> None:
        """Remove tables that were written for a keyspace which is no more."""
        for keyspace, meta in result.tables:
            if keyspace not in self._state.version.keyspaces:
                self._state.remove_file(table_name(meta.number))

    @contextmanager
    def claimed(self, compaction: Compaction) -> Iterator[bool]:
        """Keep other jobs off the tables of a plan; False if another job was faster."""
        numbers = compaction.plan.input_numbers
        with self._state.lock:
            keyspace = self._state.version.keyspaces.get(compaction.keyspace)
            is_current = keyspace is not None and keyspace.levels is compaction.levels
            is_ours = is_current and not (self._state.busy & numbers)
            if is_ours:
                self._state.busy |= numbers
        try:
            yield is_ours
        finally:
            if is_ours:
                with self._state.lock:
                    self._state.busy -= numbers
                    self._state.announce()

    def _output(self, number_count: int, options: TableOptions, table_bytes_max: int) -> Output:
        state = self._state
        return Output(
            store_id=state.version.store_id,
            first_number=self._reserve_numbers(number_count),
            number_count=number_count,
            options=options,
            table_bytes_max=table_bytes_max,
            snapshots=self._kept_seqs(),
        )

    def _kept_seqs(self) -> tuple[int, ...]:
        """Return the moments that tables must still be able to show, oldest first."""
        version = self._state.version
        with self._state.lock:
            kept = set(self._state.snapshots)
        if version.history_seq is not None:
            kept |= {meta.first_seq - 1 for meta in version.segments if meta.first_seq > version.history_seq}
        return tuple(sorted(kept))

    def _reserve_numbers(self, count: int) -> int:
        """Take file numbers durably.

        A worker may outlive a killed store for a moment; the next one must not give the same numbers away
        again.
        """
        state = self._state
        with state.edit_lock:
            first = state.new_number(count)
            if state.options.background == "process":
                state.append_edit(VersionEdit(next_number=state.next_number))
        return first

    def _count(self, result: TaskResult) -> None:
        self.counters.entries_in += result.entries_in
        self.counters.entries_out += result.entries_out


def remove_obsolete(state: State, *, even_if_held: bool = False) -> None:
    """Remove the files of tables that no version has and nobody can read any more."""
    with state.lock:
        held = (
            set()
            if even_if_held
            else {n for n in state.obsolete if n in state.busy or state.tables.is_held(n)}
        )
        numbers = sorted(state.obsolete - held)
        state.obsolete.difference_update(numbers)
    for number in numbers:
        state.remove_file(table_name(number))
