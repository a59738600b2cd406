"""Group commit: many threads write, one of them at a time writes for all that wait."""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from wal.errors import LogError

CROWD_SECONDS_MAX = 0.0002
"""How long a group waits for writers that were in the last one: about as long as a sync takes."""


class PendingWrite:
    """One thread's write on its way into the log."""

    __slots__ = ("apply", "count", "done", "error", "first_seq", "payload", "sync", "wake")

    def __init__(self, payload: bytes, count: int, sync: bool, apply: Callable[[int], None]) -> None:
        self.payload = payload
        self.count = count
        self.sync = sync
        self.apply = apply  # called with the first sequence number once the write is in the log
        self.first_seq = 0
        self.done = False
        self.error: BaseException | None = None
        self.wake = threading.Lock()  # taken while its thread has to wait
        self.wake.acquire()


class WriteAbandoned(LogError):
    """The thread that wrote for this one was interrupted: nobody knows whether the write is in the log."""


def _sleep(write: PendingWrite) -> BaseException | None:
    """Wait to be woken; return an interrupt that came meanwhile.

    The turn may be handed to this thread at any moment, and must not be lost to an interrupt.
    """
    interrupt: BaseException | None = None
    while True:
        try:
            write.wake.acquire()
            return interrupt
        except BaseException as error:  # noqa: BLE001  # raised again by the caller
            interrupt = error


class CommitQueue:
    """Writes that wait, and the turn to write.

    Whoever has `turn` may write to the log.  A thread that finds it taken leaves its write in the queue and
    sleeps; it wakes up either with its write done, or with the turn handed to it.  Every holder of the turn
    ends with `pass_turn`, never by releasing it: a write that was queued meanwhile must not be forgotten.
    """

    def __init__(
        self, commit_group: Callable[[Sequence[PendingWrite]], None], *, group_bytes_max: int
    ) -> None:
        self.turn = threading.Lock()
        self.waiting: deque[PendingWrite] = deque()
        self._commit_group = commit_group
        self._group_bytes_max = group_bytes_max
        self.crowd = 0  # how many writers were there the last time; from 2 on, nobody should go alone
        self._is_gathering = False
        self._gathered = threading.Lock()  # taken, but for the moment in which the crowd is complete
        self._gathered.acquire()

    def commit(self, write: PendingWrite) -> None:
        """Return when `write` is committed, by this thread or by another; raise if it failed."""
        self.waiting.append(write)
        self._join_crowd()
        interrupt: BaseException | None = None
        has_turn = self.turn.acquire(False)
        if not has_turn:
            interrupt = _sleep(write)
        if not write.done:
            self._take_turn(write)
        elif has_turn:
            # Between the queue and the turn, another thread has written for this one and let the turn go.
            self.pass_turn()
        if interrupt is not None:
            raise interrupt
        if write.error is not None:
            raise write.error

    def pass_turn(self) -> None:
        """Hand the turn to the first that waits, or let it go."""
        while True:
            if self.waiting:
                self.waiting[0].wake.release()  # it now has the turn, which stays taken
                return
            self.turn.release()
            # A write may have come between the look and the release; its thread found the turn taken.
            if not self.waiting or not self.turn.acquire(False):
                return

    def _take_turn(self, own: PendingWrite) -> None:
        """Commit groups until the own write is among them."""
        try:
            while not own.done:
                self._commit_next(own)
        finally:
            self.pass_turn()

    def _commit_next(self, own: PendingWrite) -> None:
        self._wait_for_crowd()
        group = self._next_group()
        try:
            self._commit_group(group)
        except BaseException as error:  # noqa: BLE001  # every waiter must hear of it; raised by commit()
            for write in group:
                write.error = error if isinstance(error, Exception) or write is own else WriteAbandoned()
        finally:
            self.crowd = len(group) + len(self.waiting)
            for write in group:
                write.done = True
                if write is not own:
                    write.wake.release()

    def _wait_for_crowd(self) -> None:
        """Give the writers of the last group a moment to come back with their next write.

        They woke up just now.  Without this they would find the next group gone, and the writers would fall
        apart into two crowds that take turns, with groups half as large (bench: fillsync with threads).
        """
        if len(self.waiting) < self.crowd:
            self._is_gathering = True
            self._gathered.acquire(timeout=CROWD_SECONDS_MAX)
            self._is_gathering = False

    def _join_crowd(self) -> None:
        if self._is_gathering and len(self.waiting) >= self.crowd:
            with suppress(RuntimeError):  # another thread has just told
                self._gathered.release()

    def _next_group(self) -> list[PendingWrite]:
        """Take what waits, in order, up to the size that one write should have."""
        waiting = self.waiting
        group = [waiting.popleft()]
        size = len(group[0].payload)
        while waiting and size + len(waiting[0].payload) <= self._group_bytes_max:
            group.append(waiting.popleft())
            size += len(group[-1].payload)
        return group
