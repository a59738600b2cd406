"""What can be wrong with a log, seen from inside one segment."""


class LogError(Exception):
    """Base of the log's own errors."""


class SegmentDamaged(LogError):
    """Bytes that were durable once no longer say what they said."""

    def __init__(self, what: str, *, offset: int, last_good_seq: int = 0) -> None:
        super().__init__(f"{what} at byte {offset}")
        self.what = what
        self.offset = offset
        self.last_good_seq = last_good_seq


class SegmentUnsupported(LogError):
    """A segment written by a newer format version."""
