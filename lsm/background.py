"""The background: lanes of threads that call `step`, and what happens when a job fails.

A flush must not wait behind a long compaction, so each has a lane of its own.  A test calls `step` by hand.
"""

import errno
import logging
import threading
from collections.abc import Callable

from lsm.adoption.inbox import adopt_inbox
from lsm.commit_whole import StoreCommitter
from lsm.errors import BackgroundError, ClosedError, CorruptionError, DiskFull, Error
from lsm.executor import Cancelled, Executor, InlineExecutor, ProcessExecutor
from lsm.jobs import Compaction, Jobs, remove_obsolete
from lsm.pressure import STEP_BYTES, Throttle
from lsm.state import State
from wal import SEGMENT_BYTES_MAX

logger = logging.getLogger("lsm")

_IDLE_SECONDS = 1.0
_RETRY_SECONDS = 1.0
_INBOX_SECONDS = 0.5
_SMALL_BYTES = 1024 * 1024
"""Work below this is done at once in the thread: a worker process would cost more than it saves."""


class Background:
    """Flushes and compacts an open store."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.jobs = Jobs(state)
        self.mode = state.options.background
        self.throttle = Throttle(state, self._work if self.mode == "manual" else None)
        self._inline = InlineExecutor(state.fs, state.clock)
        self._executors: list[Executor] = [self._inline]
        self._compactor = self._new_executor()
        self._threads: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._inbox_lock = threading.Lock()  # jobs are taken one at a time
        self._committer: StoreCommitter | None = None

    def start(self, committer: StoreCommitter) -> None:
        """Begin to work for a committer's store."""
        self._committer = committer
        if self.mode != "manual":
            self._start_lane("lsm-flush", self._flush_step, self._new_executor())
            self._start_lane("lsm-compact", self._compact_step, self._compactor)
            self._start("lsm-inbox", self._inbox_loop)
        if self._state.options.sync != "always" or self.mode != "manual":
            self._start("lsm-sync", self._sync_loop)

    def stop(self) -> None:
        """End the lanes; a job in the middle is given up and leaves nothing behind."""
        self._stopping.set()
        self.throttle.is_stopping = True
        for executor in self._executors:
            executor.close()
        with self._state.lock:
            self._state.announce()
        if self._committer is not None:
            self._committer.wants_sync.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def abandon(self) -> None:
        """Forget everything in a forked child, where no lane runs."""
        for executor in self._executors:
            executor.abandon()

    def step(self) -> bool:
        """Do the most pressing job to its end; False if there was none."""
        return self._work() or self.adopt_inbox() > 0

    def _work(self) -> bool:
        """Flush or compact.  A writer that is held back may do this: it needs no turn."""
        return self._flush_step(self._inline) or self._compact_step(self._inline)

    def adopt_inbox(self) -> int:
        """Take over what others have left in the store's inbox; return how many jobs there were."""
        assert self._committer is not None
        if self._state.failure is not None or self._state.version.follows:
            return 0
        with self._inbox_lock:
            return adopt_inbox(self._state, self._committer, self)

    def compact_range(self, keyspace: int, start: bytes | None, stop: bytes | None) -> None:
        """Bring a range of a keyspace into as few tables as it needs."""
        executor, last_seq = self._compactor, self._state.version.flushed_seq
        changes = self._state.changes
        while (compaction := self.jobs.next_full(keyspace, start, stop, last_seq)) is not None:
            with self.jobs.claimed(compaction) as is_ours:
                if is_ours:
                    self.jobs.compact(compaction, executor)
                    self._after_job()
                    continue
            self._wait_for_change(changes)  # another job has some of the tables: look again when it is done
            changes = self._state.changes
            self._check()

    def wait_for_flush(self) -> None:
        """Return when nothing sealed is left."""
        while self.jobs.next_flush() is not None:
            self._check()
            if self.mode == "manual":
                self._flush_step(self._inline)
                continue
            with self._state.lock:
                if self._state.sealed:
                    self._state.changed.wait(0.1)

    def settle(self, timeout: float | None) -> bool:
        """Return when nothing is to be flushed or compacted; False if that took longer than `timeout`."""
        state, clock = self._state, self._state.clock
        until = None if timeout is None else clock.monotonic() + timeout
        while True:
            self._check()
            version, is_busy = state.version, self._is_busy()
            if not is_busy and self.jobs.next_compaction() is None:
                # A job that ended meanwhile may have made another one necessary.
                if state.version is version and not self._is_busy():
                    return True
                continue
            if until is not None and clock.monotonic() >= until:
                return False
            if self.mode == "manual":
                self._work()
                continue
            with state.lock:
                if state.version is version and is_busy == self._is_busy():
                    state.changed.wait(0.05)

    def _is_busy(self) -> bool:
        # A flush that is installed goes on for a moment: it is noted in the history, and lets go of log.
        with self._state.lock:
            return bool(self._state.sealed or self._state.busy) or self.jobs.flushing.locked()

    def wait_for_room(self, log_bytes: int) -> None:
        """Hold a writer back while flush and compaction are behind."""
        assert self._committer is not None
        pressure = self.throttle.wait()
        self._committer.look_again(log_bytes + STEP_BYTES if pressure.level > 0 else SEGMENT_BYTES_MAX)

    def _check(self) -> None:
        failure = self._state.failure or self.throttle.trouble
        if self._stopping.is_set() or isinstance(failure, ClosedError):
            raise ClosedError(f"{self._state.fs.name} was closed")
        if isinstance(failure, DiskFull):
            raise DiskFull(self._state.fs.name, "flushing or compacting") from failure
        if failure is not None:
            raise BackgroundError(errno.EIO, f"background work has failed: {failure}") from failure

    def _new_executor(self) -> Executor:
        executor = ProcessExecutor(self._state.fs, self._inline) if self.mode == "process" else self._inline
        self._executors.append(executor)
        return executor

    def _start_lane(self, name: str, step: Callable[[Executor], bool], executor: Executor) -> None:
        self._start(name, lambda: self._lane_loop(name, step, executor))

    def _start(self, name: str, run: Callable[[], None]) -> None:
        thread = threading.Thread(target=run, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _lane_loop(self, name: str, step: Callable[[Executor], bool], executor: Executor) -> None:
        changes = self._state.changes
        while not self._stopping.is_set():
            try:
                worked = step(executor)
            except Cancelled:
                return
            except Exception as error:  # noqa: BLE001  # whatever it is, it must not disappear
                self._job_failed(name, error)
                self._stopping.wait(_RETRY_SECONDS)
                continue
            self.throttle.troubles.pop(name, None)
            if not worked:
                self._wait_for_change(changes)
            changes = self._state.changes

    def _wait_for_change(self, changes: int) -> None:
        """Wait a moment for something to do, unless something has changed since `changes` were counted."""
        with self._state.lock:
            if self._state.changes == changes:
                self._state.changed.wait(_IDLE_SECONDS)

    def _flush_step(self, executor: Executor) -> bool:
        with self.jobs.flushing:
            generation = self.jobs.next_flush()
            if generation is None or self._state.failure is not None:
                return False
            self.jobs.flush(generation, self._inline if generation.log_bytes < _SMALL_BYTES else executor)
        self._after_job()
        return True

    def _compact_step(self, executor: Executor) -> bool:
        if self._state.failure is not None:
            return False
        compaction = self.jobs.next_compaction()
        if compaction is None:
            if not self.jobs.trim():
                remove_obsolete(self._state)
            return False
        with self.jobs.claimed(compaction) as is_ours:
            if is_ours:
                self.jobs.compact(compaction, self._executor_for(compaction, executor))
        self._after_job()
        return True

    def _executor_for(self, compaction: Compaction, executor: Executor) -> Executor:
        return self._inline if compaction.plan.input_bytes < _SMALL_BYTES else executor

    def _after_job(self) -> None:
        remove_obsolete(self._state)
        if self._committer is not None:
            self._committer.pause_at = 0  # the pressure has changed: the next write looks

    def _job_failed(self, lane: str, error: Exception) -> None:
        """Keep what failed visible: out of space is waited out, anything else ends writing."""
        logger.error("background work on %s failed: %s", self._state.fs.name, error)
        self.jobs.counters.retries += 1
        if isinstance(error, DiskFull) or getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
            self.throttle.troubles[lane] = DiskFull(self._state.fs.name, "flushing or compacting")
        elif isinstance(error, CorruptionError):
            self._state.fail(error)
        else:
            self._state.fail(
                BackgroundError(errno.EIO, f"background work failed: {type(error).__name__}: {error}")
            )

    def _inbox_loop(self) -> None:
        """Look into the inbox now and then; what fails is tried again."""
        while not self._stopping.wait(_INBOX_SECONDS):
            try:
                self.adopt_inbox()
            except (Cancelled, ClosedError):
                return
            except (Error, OSError):
                logger.exception("taking over what is in the inbox of %s failed", self._state.fs.name)

    def _sync_loop(self) -> None:
        """Sync the log beside the writers: every interval, or when a lot has gathered."""
        committer = self._committer
        assert committer is not None
        every = (
            self._state.options.sync_interval_ms / 1000 if self._state.options.sync == "interval" else None
        )
        while not self._stopping.is_set():
            committer.wants_sync.wait(every)
            committer.wants_sync.clear()
            if self._stopping.is_set() or self._state.failure is not None:
                continue
            try:
                committer.sync()
            except Error:
                logger.exception("syncing the log of %s failed", self._state.fs.name)
