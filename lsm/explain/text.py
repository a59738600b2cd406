"""Small pieces of text that all explanations share."""

from collections.abc import Callable

ShowKey = Callable[[bytes], str]
"""How keys are written: as Python does, or as the command line does."""

_UNITS = ("KiB", "MiB", "GiB", "TiB")
_KEY_BYTES = 40


def python_key(key: bytes) -> str:
    """Return a key as Python writes bytes, cut if it is long: printable ASCII, whatever is in it."""
    return repr(key) if len(key) <= _KEY_BYTES else f"{key[:_KEY_BYTES]!r}..."


def size(count: float) -> str:
    """Return a number of bytes for people."""
    if abs(count) < 1024:
        return f"{count:.0f} B"
    power = min((int(abs(count)).bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**power:.1f} {_UNITS[power - 1]}"


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return a count with its noun."""
    return f"1 {noun}" if count == 1 else f"{count:,} {plural_noun or noun + 's'}"
