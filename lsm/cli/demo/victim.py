"""The writer process as the demo sees it: how far it says it is, and its death."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType

import lsm
from lsm.cli.demo.history import Lost

_LOOK_SECONDS = 0.0005
_TABLE_SECONDS_MAX = 2.0


class Victim:
    """A writer in a process of its own.  Leaving the `with` block kills it if it still lives."""

    def __init__(self, store: Path, seed: int, first: int) -> None:
        self._store = store
        self.acknowledged = first
        """Operations that the writer has said are done."""
        package = str(Path(lsm.__file__).resolve().parent.parent)
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lsm.cli.demo.writer", os.fspath(store), str(seed), str(first)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            start_new_session=True,  # Ctrl-C is for the demo, which then ends this process
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    def write_until(self, acknowledged: int, seconds_max: float) -> None:
        """Let it write until it has acknowledged so many operations, or for so long from its first one."""
        first, started = self.acknowledged, time.monotonic()
        while self.acknowledged < acknowledged and time.monotonic() - started < seconds_max:
            if self.acknowledged == first:
                started = time.monotonic()
            time.sleep(_LOOK_SECONDS)
            self._check_alive()

    def wait_for_new_table(self) -> str | None:
        """Return the name of a table the moment it appears, when it is still being written."""
        known = tables_in(self._store)
        started = time.monotonic()
        while time.monotonic() - started < _TABLE_SECONDS_MAX:
            new = tables_in(self._store) - known
            if new:
                return min(new)
            self._check_alive()
            time.sleep(_LOOK_SECONDS)
        return None

    def kill(self) -> int:
        """End it with SIGKILL; return how many operations it had acknowledged by then."""
        self._process.kill()
        status = self._process.wait()
        self._listener.join()
        if status != -signal.SIGKILL:
            raise Lost(f"the writer ended by itself with exit code {status}")
        return self.acknowledged

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as acknowledgements:
            for line in acknowledgements:
                if line.endswith(b"\n"):
                    self.acknowledged = int(line) + 1

    def _check_alive(self) -> None:
        status = self._process.poll()
        if status is not None:
            raise Lost(f"the writer ended by itself with exit code {status}")

    def __enter__(self) -> "Victim":
        """Return the process."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Make sure that it is gone."""
        self._process.kill()
        self._process.wait()
        self._listener.join()


def tables_in(store: Path) -> set[str]:
    """Return the names of the tables in a store's directory."""
    try:
        return {name for name in os.listdir(store) if name.endswith(".sst")}
    except FileNotFoundError:
        return set()
