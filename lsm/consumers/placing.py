"""Putting a consumer at a place of the log that is still there once the log waits for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lsm.errors import OffsetOutOfRange
from lsm.log.offsets import earliest, latest, resolve

if TYPE_CHECKING:
    from lsm.consumers.record import Record
    from lsm.consumers.registry import Registry
    from lsm.log.offsets import Since
    from lsm.log.source import LogSource


def place(registry: Registry, source: LogSource, record: Record, where: Since) -> int:
    """Write `record` with the position that `where` means; return that position.

    Retention may let go of the place between the look and the write, so it is looked at again.  A trim that
    had begun before the write is waited for, in the writer; beside it, reading tells.
    """
    while True:
        position = resolve(source, where)
        registry.write(replace(record, position=position, epoch=source.version.epoch_of(position)))
        registry.wait_for_trim()
        source.refresh()
        if position >= earliest(source.version) - 1:
            return position
        if where != "earliest":
            raise OffsetOutOfRange(position, earliest(source.version), latest(source))
