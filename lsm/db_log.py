"""What an open store offers around its log: changes, consumers, views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsm.changes import Change, check_offset, read_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lsm.state import State


class LogFace:
    """The part of a `DB` that concerns its log."""

    _state: State

    # Changes

    def changes(self, since: int = 0, *, follow: bool = False) -> Iterator[Change]:
        """Yield every change after sequence number `since`, in commit order, as the log has them.

        With `follow` it waits for more instead of ending.  The log is kept until it is flushed; asking for
        what is gone raises OffsetOutOfRange.
        """
        self._state.check_open()
        check_offset(self._state, since)
        return read_changes(self._state, since, follow=follow)

    # Consumers

    # Views
