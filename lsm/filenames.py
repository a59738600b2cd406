"""Names of a store's files.  Names are made from numbers, never read from disk and followed."""

import re
from typing import Literal, TypeAlias, cast

CURRENT = "CURRENT"
CURRENT_TEMPORARY = "CURRENT.tmp"
LOCK = "LOCK"
PINS = "pins"
"""A directory: what readers in other processes hold."""
INBOX = "inbox"
"""A directory: tables that others have written, waiting to be taken over."""
BOOTSTRAP = "BOOTSTRAP"
"""Stands beside the files of a copy that is being made."""

ConsumerFile: TypeAlias = Literal["json", "json.tmp", "dropped", "dropped.tmp", "lock"]
"""What a file of a consumer is for; it ends the name."""

_CONSUMER = re.compile(r"consumer-((?:[0-9a-f]{2}){1,128})\.(json|json\.tmp|dropped|dropped\.tmp|lock)")
_NUMBERED = re.compile(r"(?:(MANIFEST)-([0-9]{6,18})|([0-9]{6,18})\.(log|sst))")


def segment_name(number: int) -> str:
    """Return the name of a log segment."""
    return f"{number:06d}.log"


def table_name(number: int) -> str:
    """Return the name of a table."""
    return f"{number:06d}.sst"


def manifest_name(number: int) -> str:
    """Return the name of a manifest."""
    return f"MANIFEST-{number:06d}"


def consumer_name(consumer: str, kind: ConsumerFile) -> str:
    """Return the name of a file of a consumer: in hexadecimal, so that any name can be one."""
    return f"consumer-{consumer.encode().hex()}.{kind}"


def parse_consumer(name: str) -> tuple[str, ConsumerFile] | None:
    """Return the consumer and the kind of one of its files, or None for any other name."""
    match = _CONSUMER.fullmatch(name)
    if match is None:
        return None
    try:
        return bytes.fromhex(match[1]).decode(), cast(ConsumerFile, match[2])
    except UnicodeDecodeError:
        return None


def parse(name: str) -> tuple[str, int] | None:
    """Return ("log" | "sst" | "manifest", number) of a numbered file, or None for any other name."""
    match = _NUMBERED.fullmatch(name)
    if match is None:
        return None
    kind, number = ("manifest", match[2]) if match[1] else (match[4], match[3])
    canonical = {"manifest": manifest_name, "log": segment_name, "sst": table_name}[kind](int(number))
    return (kind, int(number)) if canonical == name else None


def is_ours(name: str) -> bool:
    """Tell whether a store would make a file of this name."""
    if name in (CURRENT, CURRENT_TEMPORARY, LOCK, PINS, INBOX, BOOTSTRAP):
        return True
    return parse(name) is not None or parse_consumer(name) is not None
