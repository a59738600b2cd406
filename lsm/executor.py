"""Who does a task: this thread, or a worker process."""

import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from lsm.clock import Clock
from lsm.filenames import table_name
from lsm.fs_types import FileSystem
from lsm.task_json import Task, decode_result, encode_task
from lsm.tasks import FlushTask, TaskResult, run_compaction, run_flush

logger = logging.getLogger("lsm")


class Executor(Protocol):
    """Does tasks, one at a time."""

    def run(self, task: Task) -> TaskResult:
        """Do a task to its end."""

    def close(self) -> None:
        """Give up whatever is needed for doing tasks."""

    def abandon(self) -> None:
        """Forget everything in a forked child."""


class Cancelled(Exception):
    """The store is closing; the task has removed what it made."""


class InlineExecutor:
    """Does tasks in the calling thread, letting others run between steps."""

    def __init__(self, fs: FileSystem, clock: Clock) -> None:
        self._fs = fs
        self._clock = clock
        self._is_closed = False

    def run(self, task: Task) -> TaskResult:
        """Do a task to its end."""
        if isinstance(task, FlushTask):
            return run_flush(self._fs, self._clock, task, self._between)
        return run_compaction(self._fs, self._clock, task, self._between)

    def close(self) -> None:
        """Make a running task stop at its next step."""
        self._is_closed = True

    def abandon(self) -> None:
        """Nothing is held."""

    def _between(self) -> None:
        if self._is_closed:
            raise Cancelled
        self._clock.sleep(0)  # gives the interpreter to whoever waits for it


class ProcessExecutor:
    """Does tasks in a worker process, started when the first one comes.

    A worker that cannot be started, or dies, is done without: the thread does the task itself.
    """

    def __init__(self, fs: FileSystem, inline: InlineExecutor) -> None:
        self._fs = fs
        self._inline = inline
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._is_closed = False

    def run(self, task: Task) -> TaskResult:
        """Do a task to its end."""
        with self._one_at_a_time:
            line = self._ask_worker(task)
        if line is None:
            self._remove_half_done(task)
            return self._inline.run(task)
        result, io = decode_result(line)
        self._fs.counters.add(io)
        return result

    def _ask_worker(self, task: Task) -> bytes | None:
        """Return the worker's answer, None if there is no worker that could give one."""
        try:
            process = self._started()
        except OSError as error:
            logger.warning("no worker process for %s, going on without: %s", self._fs.name, error)
            return None
        line = _ask(process, encode_task(self._fs.name, task))
        if line.endswith(b"\n"):
            return line
        with self._lock:
            if self._is_closed:
                raise Cancelled
            self._process = None
        _end(process)
        logger.warning("the worker process of %s ended with %s", self._fs.name, process.returncode)
        return None

    def _remove_half_done(self, task: Task) -> None:
        first = task.output.first_number
        for number in range(first, first + task.output.number_count):
            with suppress(FileNotFoundError):
                self._fs.unlink(table_name(number))

    def close(self) -> None:
        """End the worker, if need be in the middle of a task: the next opening removes what it leaves."""
        with self._lock:
            self._is_closed = True
            process, self._process = self._process, None
        if process is not None:
            _end(process)

    def abandon(self) -> None:
        """Let go of the worker's pipes in a forked child, where they would keep it waiting for work."""
        # No lock: it may be held by a thread that does not exist here.
        process, self._process = self._process, None
        if process is not None:
            process.returncode = 0  # it is not this process's child: nothing to wait for
            for pipe in filter(None, (process.stdin, process.stdout)):
                # Below the buffer, which may hold half a question of the parent's.
                getattr(pipe, "raw", pipe).close()

    def _started(self) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._is_closed:
                raise Cancelled
            if self._process is None:
                self._process = _start_worker()
            return self._process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()


def _ask(process: "subprocess.Popen[bytes]", question: bytes) -> bytes:
    """Return the worker's answer, empty if it is gone."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(question)
        process.stdin.flush()
        return process.stdout.readline()
    except (OSError, ValueError):
        return b""  # a broken pipe, or one that was closed under us


def _start_worker() -> "subprocess.Popen[bytes]":
    # The child finds this very package, however the parent came by it; it never runs the parent's main
    # module.
    here = str(Path(__file__).resolve().parent.parent)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "lsm.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        close_fds=True,
        start_new_session=True,  # Ctrl-C in a terminal is for the parent to handle
    )
