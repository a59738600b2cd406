"""Columns and sections start at multiples of 8 bytes, so that numpy and Arrow can use them in place."""

ALIGNMENT = 8


def aligned(size: int) -> int:
    """The next multiple of 8."""
    return size + -size % ALIGNMENT


def padding(size: int) -> bytes:
    """Zero bytes that follow `size` bytes."""
    return bytes(-size % ALIGNMENT)
