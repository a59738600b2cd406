"""Refreshing a view in the background: a thread that waits for the log to grow, and ends with the store."""

from __future__ import annotations

import logging
import threading
import weakref
from typing import TYPE_CHECKING

from lsm.errors import ClosedError, OffsetOutOfRange, ViewFailed

if TYPE_CHECKING:
    from lsm.state import State
    from lsm.views.view import View

logger = logging.getLogger("lsm")

_WAIT_SECONDS = 0.5
_RETRY_SECONDS = 1.0
_GATHER_SECONDS = 0.005
"""A moment for more to come: a chunk of many changes costs hardly more than one of a single change."""
_JOIN_SECONDS = 10.0


class Refresher:
    """Keeps one view in step.  What goes wrong is logged and stays visible in `view.error`.

    A view whose fold has raised, or whose history is gone, rests until somebody refreshes it by hand or
    registers it again; anything else is tried again.
    """

    def __init__(self, view: View, state: State, end: threading.Event) -> None:
        self._view = weakref.ref(view)  # the thread must not keep a forgotten store open
        self._name = view.name
        self._state = state
        self._end = end
        self._thread = threading.Thread(target=self._run, name=f"lsm-view-{view.name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End, when the change that is being folded is done."""
        self._end.set()
        with self._state.lock:
            self._state.changed.notify_all()
        if self._thread is not threading.current_thread() and self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)
            if self._thread.is_alive():
                logger.warning("the fold of view %r does not return; its thread is left behind", self._name)

    def _run(self) -> None:
        last_seq = -1
        while not self._end.is_set():
            seq = self._state.visible_seq
            if seq == last_seq:
                self._wait(last_seq)
                continue
            self._end.wait(_GATHER_SECONDS)
            last_seq = self._state.visible_seq
            try:
                if not self._refresh():
                    return
            except ClosedError:
                return
            except Exception:
                logger.exception("refreshing view %r failed; it is tried again", self._name)
                self._end.wait(_RETRY_SECONDS)
                last_seq = -1

    def _refresh(self) -> bool:
        """Refresh once; False if there is nothing more to do for this thread."""
        view = self._view()
        if view is None:
            return False
        if isinstance(view.error, ViewFailed | OffsetOutOfRange):
            return True
        try:
            view.refresh()
        except (ViewFailed, OffsetOutOfRange) as error:
            logger.error("view %r rests: %s", self._name, error)
        return True

    def _wait(self, last_seq: int) -> None:
        state = self._state
        with state.lock:
            state.tailers += 1
            try:
                if state.visible_seq == last_seq and not self._end.is_set():
                    state.changed.wait(_WAIT_SECONDS)
            finally:
                state.tailers -= 1
