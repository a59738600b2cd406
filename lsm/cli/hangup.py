"""Noticing that nobody reads the output any more while there is nothing to write."""

import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ending_with_the_reader() -> Iterator[None]:
    """Raise BrokenPipeError in the main thread when the reader of standard output goes away.

    A write would notice by itself; a command that follows a quiet log would not write for hours.
    """
    descriptor = _descriptor()
    if descriptor is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPIPE, _raise_broken_pipe)
    # A daemon: it waits for an event that may never come, and holds nothing.
    threading.Thread(
        target=_watch, args=(descriptor, threading.main_thread().ident), name="hangup", daemon=True
    ).start()
    try:
        yield
    finally:
        signal.signal(signal.SIGPIPE, before)


def _descriptor() -> int | None:
    try:
        return sys.stdout.fileno() if sys.stdout is not None else None
    except OSError:  # not a file at all
        return None


def _watch(descriptor: int, thread: int) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # errors and hang-ups are told whether they are asked for or not
    if poll.poll():
        # To that thread, not to the process: it interrupts whatever the thread is waiting in.
        signal.pthread_kill(thread, signal.SIGPIPE)


def _raise_broken_pipe(number: int, frame: FrameType | None) -> None:
    raise BrokenPipeError
