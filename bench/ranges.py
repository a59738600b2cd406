"""Lists and ranges on the command line: "4,8,10", "4..16", "1MiB..64MiB"."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import lsm
from bench.peers.engines import UnknownName

T = TypeVar("T", int, float)

VALUES_MAX = 1000
"""More of them are a slip of the finger."""
_DOTS = ".."


def split(text: str) -> list[str]:
    """Return the parts of text between commas; empty ones do not count."""
    return [part.strip() for part in text.split(",") if part.strip()]


def parse_names(text: str, kind: str, known: Sequence[str]) -> list[str]:
    """Return names, each once; an unknown one is an error that suggests the nearest."""
    names = list(dict.fromkeys(split(text)))
    for name in names:
        if name not in known:
            raise UnknownName(kind, name[:40], known)
    return names


def parse_counts(text: str, name: str) -> list[int]:
    """Return whole numbers; a range has all of them from the first to the last."""
    return _parsed(text, name, int, lambda last: last + 1)


def parse_decimals(text: str, name: str) -> list[float]:
    """Return numbers; a range goes in steps of 1."""
    return _parsed(text, name, float, lambda last: last + 1.0)


def parse_sizes(text: str, name: str) -> list[int]:
    """Return sizes such as "4MiB" in bytes; in a range each is twice the one before."""

    def size(part: str) -> int:
        return lsm.Options().with_changes({"memtable_bytes_max": part}).memtable_bytes_max

    return _parsed(text, name, size, lambda last: 2 * last if last else 1)


def _parsed(text: str, name: str, convert: Callable[[str], T], following: Callable[[T], T]) -> list[T]:
    found: dict[T, None] = {}
    for part in split(text):
        first, dots, last = part.partition(_DOTS)
        try:
            low = convert(first.strip())
            high = convert(last.strip()) if dots else low
        except lsm.InvalidArgument as error:
            raise ValueError(f"{name}: {error}") from error
        except ValueError as error:
            raise ValueError(
                f"{name}: a list such as 4,8,10 or a range such as 4..16; not {part!r:.40}"
            ) from error
        if not low <= high:  # not a number is not, either
            raise ValueError(f"{name}: {part!r:.40} ends before it begins")
        at = low
        for _ in range(VALUES_MAX):
            found[at] = None
            if (at := following(at)) > high:
                break
        else:
            raise ValueError(f"{name}: {part!r:.40} has more than {VALUES_MAX:,} values")
    return list(found)


def size_text(size_bytes: int) -> str:
    """Return a size for people."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.4g} {name}"
    return f"{size_bytes} B"
