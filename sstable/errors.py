"""What can be wrong with the bytes of a table."""


class CorruptTable(Exception):
    """Bytes that contradict their checksum, their order or the format."""

    def __init__(self, what: str, *, offset: int) -> None:
        super().__init__(f"{what} at byte {offset}")
        self.what = what
        self.offset = offset

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions cross process borders (compaction workers, Spark tasks) as their arguments.
        return _rebuild, (type(self), self.what, self.offset)


class UnsupportedTable(Exception):
    """A sound table that needs a newer version of this software, or a library that is not installed."""


def _rebuild(error: type[CorruptTable], what: str, offset: int) -> CorruptTable:
    return error(what, offset=offset)
