"""A view's entry: which state is served, which is being built, and how far each has come.

The entry lies in the keyspace of the consumers, under `view:` and the name, where retention finds its
`position`.  It is committed in one batch with the state it speaks of, so it is never ahead or behind.
"""

import json
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

from lsm.arguments import as_name
from lsm.errors import UnsupportedFormat

BOOKS = "lsm:consumers"
"""The keyspace of all positions in the log that the store keeps."""

NAME_BYTES_MAX = 64
FORMAT = 1

Origin: TypeAlias = Literal["log", "bootstrap"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One state of a view: where it lies, what made it, and how far it has come."""

    generation: int
    version: int
    source: str | None  # the keyspace that is folded, None for all
    origin: Origin
    since: int  # folded is everything after this, or what the bootstrap at this moment held
    position: int  # the last sequence number that is folded
    is_seeding: bool = False  # a bootstrap is not yet wholly in: it cannot be gone on with

    def is_made_by(self, version: int, source: str | None) -> bool:
        """Tell whether this version of the fold made it, from this keyspace."""
        return self.version == version and self.source == source


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is known of a view."""

    n: int = 0
    time: int = 0
    store_id: str = ""
    epoch: int = 0
    max_lag_bytes: int | None = None
    floor: int = 0  # what the log is needed from while there is no state at all
    serving: Phase | None = None
    building: Phase | None = None

    @property
    def position(self) -> int:
        """The sequence number after which the log is still needed."""
        needed = [phase.position for phase in (self.serving, self.building) if phase is not None]
        return min(needed, default=self.floor)

    def advanced(self, phase: Phase) -> "Entry":
        """Return the entry after a phase of it has come further."""
        if self.serving is not None and self.serving.generation == phase.generation:
            return replace(self, serving=phase)
        return replace(self, building=phase)

    def switched(self, phase: Phase) -> "Entry":
        """Return the entry once readers see `phase`."""
        return replace(self, serving=phase, building=None)


def check_name(name: object) -> str:
    """Return a view's name, or raise what is wrong with it."""
    return as_name(name, "view", NAME_BYTES_MAX)


KEY_PREFIX = b"view:"


def entry_key(name: str) -> bytes:
    """Return the key of a view's entry."""
    return KEY_PREFIX + name.encode()


def state_name(view: str, generation: int) -> str:
    """Return the keyspace that one state of a view lies in."""
    return f"lsm:view:{view}#{generation}"


def generation_of(view: str, keyspace: str) -> int | None:
    """Return which state of a view a keyspace holds, None if it is none of its."""
    prefix = state_name(view, 0).removesuffix("0")
    number = keyspace.removeprefix(prefix)
    return int(number) if keyspace.startswith(prefix) and number.isdecimal() else None


def encode_entry(entry: Entry) -> bytes:
    """Return an entry as it is stored."""
    fields = {
        "format": FORMAT,
        "n": entry.n,
        "position": entry.position,
        "pin": True,
        "max_lag_bytes": entry.max_lag_bytes,
        "store_id": entry.store_id,
        "epoch": entry.epoch,
        "time": entry.time,
        "serving": _phase_to_json(entry.serving),
        "building": _phase_to_json(entry.building),
    }
    return json.dumps(fields, separators=(",", ":")).encode()


def decode_entry(data: bytes) -> Entry:
    """Return a stored entry; ValueError if it is none."""
    fields = json.loads(data)
    if not isinstance(fields, dict):
        raise ValueError(f"an object was due, not {data[:40]!r}")
    if _number(fields, "format") > FORMAT:
        raise UnsupportedFormat(f"a view of format {fields['format']} was written by newer software")
    cap = fields.get("max_lag_bytes")
    return Entry(
        n=_number(fields, "n"),
        time=_number(fields, "time"),
        store_id=str(fields.get("store_id", "")),
        epoch=_number(fields, "epoch"),
        max_lag_bytes=None if cap is None else _number(fields, "max_lag_bytes"),
        floor=_number(fields, "position"),
        serving=_phase(fields.get("serving")),
        building=_phase(fields.get("building")),
    )


def _phase_to_json(phase: Phase | None) -> dict[str, object] | None:
    if phase is None:
        return None
    fields: dict[str, object] = {
        "generation": phase.generation,
        "version": phase.version,
        "source": phase.source,
        "origin": phase.origin,
        "since": phase.since,
        "position": phase.position,
    }
    return fields | ({"seeding": True} if phase.is_seeding else {})


def _phase(fields: object) -> Phase | None:
    if fields is None:
        return None
    if not isinstance(fields, dict) or fields.get("origin") not in ("log", "bootstrap"):
        raise ValueError(f"a state of a view was due, not {fields!r:.60}")
    source = fields.get("source")
    return Phase(
        generation=_number(fields, "generation"),
        version=_number(fields, "version"),
        source=None if source is None else str(source),
        origin=cast(Origin, fields["origin"]),
        since=_number(fields, "since"),
        position=_number(fields, "position"),
        is_seeding=fields.get("seeding") is True,
    )


def _number(fields: dict[str, object], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number, not {value!r:.40}")
    return value
