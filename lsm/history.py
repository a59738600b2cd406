"""The last jobs of the background, for whoever wants to see what it was busy with."""

import threading
from collections import deque
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeAlias

RECORDS_MAX = 4096

JobKind: TypeAlias = Literal["flush", "merge", "move", "load"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """One finished job."""

    number: int = 0
    """Counts from 1 since the store was opened; 0 before the history has it."""
    kind: JobKind
    started: float
    """When it began, by `time.monotonic()`."""
    seconds: float
    keyspace: int | None
    """None for a flush, which serves all of them."""
    from_level: int | None
    """The shallowest level it took tables from; None if they came from the log or from outside."""
    to_level: int
    read_bytes: int
    written_bytes: int
    entries_in: int
    entries_out: int
    reason: str = ""
    """Why the policy wanted it."""

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return asdict(self)


class JobHistory:
    """Remembers finished jobs, up to a number of them."""

    def __init__(self) -> None:
        self._records: deque[JobRecord] = deque(maxlen=RECORDS_MAX)
        self._lock = threading.Lock()  # jobs end side by side, and who has seen a number looks behind it
        self._last = 0

    def add(self, record: JobRecord) -> None:
        """Remember a job, under the next number."""
        with self._lock:
            self._last += 1
            self._records.append(replace(record, number=self._last))

    def since(self, number: int) -> list[JobRecord]:
        """Return the records after the one with that number, oldest first."""
        with self._lock:
            return [record for record in self._records if record.number > number]
