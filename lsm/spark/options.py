"""What users may say in `.option(...)`: names, values, and what is wrong with them.

Spark hands options over in lower case.  Each one is declared once, below; whoever adds a kind of read or
write adds its names to `KNOWN`, and a parser.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from lsm.arguments import after_prefix, as_user_keyspace_name
from lsm.errors import InvalidArgument
from lsm.options import MIB, parse_size
from lsm.pins import LEASE_SECONDS

T = TypeVar("T")

KEY, VALUE, SEQ, TIMESTAMP, STORE = "key", "value", "_seq", "_timestamp", "_store"
COLUMNS: Final = (KEY, VALUE, SEQ, TIMESTAMP, STORE)
FORMATS: Final = ("binary", "string", "long", "double", "json")
TARGET_BYTES: Final = 64 * MIB
"""What a partition reads by default.  Each costs Spark 10 to 30 ms, whatever is in it."""

PLACE: Final = ("path", "paths", "keyspace")
READ: Final = (
    "startKey",
    "endKey",
    "prefix",
    "columns",
    "includeSeq",
    "includeTimestamp",
    "includeStore",
    "keyFormat",
    "valueFormat",
    "version",
    "snapshot",
    "numPartitions",
    "targetPartitionBytes",
    "verifyChecksums",
    "leaseSeconds",
)
KNOWN: Final = PLACE + READ
# Spark adds some of its own to what users say of a table in its catalog.
_SPARKS_OWN: Final = re.compile(
    r"location|comment|is_managed_location|external|provider|owner|option\..*|serialization\..*|spark\..*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """What a batch read was asked for."""

    paths: tuple[str, ...]
    keyspace: str = "default"
    start: bytes | None = None
    stop: bytes | None = None
    columns: tuple[str, ...] = (KEY, VALUE)
    key_format: str = "binary"
    value_format: str = "binary"
    version: int | None = None
    snapshot: str | None = None
    partitions: int | None = None
    target_bytes: int = TARGET_BYTES
    verify: bool = True
    lease_seconds: float = LEASE_SECONDS


class Given:
    """The options of one load or save, by their names as users write them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values = {name.lower(): value for name, value in options.items()}

    def refuse_unknown(self, known: tuple[str, ...] = KNOWN, *, also: tuple[str, ...] = ()) -> None:
        """Raise if there is a name that nobody knows, and say which one may have been meant.

        Names of `also` are let pass, but not thought of.
        """
        by_lower = {name.lower(): name for name in known}
        passed = {name.lower() for name in also}
        for name in self._values:
            if name in by_lower or name in passed or _SPARKS_OWN.fullmatch(name):
                continue
            near = difflib.get_close_matches(name, by_lower, n=1)
            hint = f"did you mean {by_lower[near[0]]}?" if near else f"known are {', '.join(known)}"
            raise InvalidArgument(f"unknown option {name}; {hint}")

    def get(self, name: str, parse: Callable[[str, str], T], default: T) -> T:
        """Return one option, parsed."""
        text = self._values.get(name.lower())
        return default if text is None else parse(name, text)

    def paths(self) -> tuple[str, ...]:
        """Return where the stores are, at least one."""
        if "paths" in self._values:
            found = json.loads(self._values["paths"])
        else:
            found = [self._values["path"]] if self._values.get("path") else []
        if not found:
            raise InvalidArgument(
                'no path; say .load("path of a store"), or CREATE TABLE t USING lsm OPTIONS (path "...") '
                "without a list of columns: Spark would forget the options"
            )
        return tuple(map(_local, found))


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Return what a batch read was asked for, or raise what is wrong with it."""
    given = Given(options)
    given.refuse_unknown()
    start, stop = _range(given)
    partitions = given.get("numPartitions", whole_number(1, 100_000), 0)
    version = given.get("version", whole_number(0, 2**62), -1)
    snapshot = given.get("snapshot", text, "")
    if version >= 0 and snapshot:
        raise InvalidArgument("version and snapshot name two moments; give one of them")
    return ReadOptions(
        paths=given.paths(),
        keyspace=as_user_keyspace_name(given.get("keyspace", text, "default")),
        start=start,
        stop=stop,
        columns=_columns(given),
        key_format=given.get("keyFormat", one_of(FORMATS[:-1]), "binary"),
        value_format=given.get("valueFormat", one_of(FORMATS), "binary"),
        version=version if version >= 0 else None,
        snapshot=_local(snapshot) if snapshot else None,
        partitions=partitions or None,
        target_bytes=given.get("targetPartitionBytes", size, TARGET_BYTES),
        verify=given.get("verifyChecksums", boolean, True),
        lease_seconds=given.get("leaseSeconds", whole_number(1, 10**9), int(LEASE_SECONDS)),
    )


def _range(given: Given) -> tuple[bytes | None, bytes | None]:
    start: bytes | None = given.get("startKey", key_bytes, b"") or None
    stop = given.get("endKey", key_bytes_or_none, None)
    prefix = given.get("prefix", key_bytes, b"")
    if prefix:
        start = prefix if start is None else max(start, prefix)
        end = after_prefix(prefix)
        stop = end if stop is None else stop if end is None else min(stop, end)
    return start, stop


def _columns(given: Given) -> tuple[str, ...]:
    wanted: tuple[str, ...] = (KEY, VALUE)
    wanted = given.get("columns", names, wanted)
    for option, column in (("includeSeq", SEQ), ("includeTimestamp", TIMESTAMP), ("includeStore", STORE)):
        if given.get(option, boolean, False) and column not in wanted:
            wanted = (*wanted, column)
    return wanted


def names(option: str, value: str) -> tuple[str, ...]:
    """Parse names of columns with commas between."""
    found = tuple(name.strip().lower() for name in value.split(",") if name.strip())
    for name in found:
        if name not in COLUMNS:
            raise InvalidArgument(f"{option}: no column {name!r}; there are {', '.join(COLUMNS)}")
    if not found or len(set(found)) < len(found):
        raise InvalidArgument(f"{option}: name each column once, such as key,value; not {value!r:.60}")
    return found


def text(option: str, value: str) -> str:
    """Parse text, which is right as it is."""
    return value


def key_bytes(option: str, value: str) -> bytes:
    """Parse a key: text is taken as UTF-8, `hex:` begins any other bytes."""
    if not value.startswith("hex:"):
        return value.encode("utf-8", "surrogateescape")
    try:
        return bytes.fromhex(value[4:])
    except ValueError as error:
        raise InvalidArgument(
            f"{option}: after hex: come pairs of hexadecimal digits; not {value!r:.60}"
        ) from error


def key_bytes_or_none(option: str, value: str) -> bytes | None:
    """Parse a key that may be left out."""
    return key_bytes(option, value)


def boolean(option: str, value: str) -> bool:
    """Parse true or false."""
    if value.lower() not in ("true", "false"):
        raise InvalidArgument(f"{option} must be true or false; not {value!r:.60}")
    return value.lower() == "true"


def size(option: str, value: str) -> int:
    """Parse a number of bytes, such as 64MiB, at least one."""
    found = parse_size(value, name=option)
    if found < 1:
        raise InvalidArgument(f"{option} must be at least one byte; not {value!r:.60}")
    return found


def whole_number(low: int, high: int) -> Callable[[str, str], int]:
    """Return a parser of whole numbers within bounds."""

    def parse(option: str, value: str) -> int:
        if not re.fullmatch(r"\s*[0-9]{1,19}\s*", value) or not low <= int(value) <= high:
            raise InvalidArgument(
                f"{option} must be a whole number from {low:,} to {high:,}; not {value!r:.60}"
            )
        return int(value)

    return parse


def one_of(choices: tuple[str, ...]) -> Callable[[str, str], str]:
    """Return a parser of one of some words."""

    def parse(option: str, value: str) -> str:
        if value.lower() not in choices:
            near = difflib.get_close_matches(value.lower(), choices, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise InvalidArgument(f"{option} must be one of {', '.join(choices)}; not {value!r:.60}{hint}")
        return value.lower()

    return parse


def _local(path: str) -> str:
    """Return a path of the local file system; Spark's catalog writes them as file: URIs."""
    match = re.fullmatch(r"file:(?://(?:localhost)?)?(/.*)", path)
    if match is not None:
        return match[1]
    if re.match(r"[a-z0-9+.-]{2,}://", path, re.IGNORECASE):
        raise InvalidArgument(f"{path}: a store is a directory that every executor can open, not a URL")
    return path
