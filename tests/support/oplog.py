"""What happened to a disk, operation by operation: the raw material of crash states.

Names are durable after a SyncDir of their directory, bytes and length of a file after its Sync;
until then any part of them may be missing after a crash.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Site:
    """The line outside the file system that asked for a sync."""

    function: str
    line: int

    def __str__(self) -> str:
        return f"{self.function}:{self.line}"


@dataclass(frozen=True, slots=True)
class Link:
    """A name was given to a file, new or old."""

    directory: str
    name: str
    ino: int


@dataclass(frozen=True, slots=True)
class Rename:
    """A file changed its name and replaced whatever had the new one."""

    directory: str
    old: str
    new: str
    ino: int


@dataclass(frozen=True, slots=True)
class Unlink:
    """A name was removed."""

    directory: str
    name: str


@dataclass(frozen=True, slots=True)
class Append:
    """Bytes were written at the end of a file's data, perhaps into its reserve."""

    ino: int
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Reserve:
    """A file was made longer, up to `end`; the new part reads as zeros."""

    ino: int
    end: int


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file gave its unused reserve back."""

    ino: int
    size: int


@dataclass(frozen=True, slots=True)
class Sync:
    """A file's bytes and length became durable."""

    ino: int
    site: Site


@dataclass(frozen=True, slots=True)
class SyncDir:
    """A directory's names became durable."""

    directory: str
    site: Site


@dataclass(frozen=True, slots=True)
class Mark:
    """A note of the harness: "issue" before a call, "ack" after it, or a kind of its own."""

    kind: str
    number: int


NameOp = Link | Rename | Unlink
FileOp = Append | Reserve | Truncate
Op = NameOp | FileOp | Sync | SyncDir | Mark


@dataclass(slots=True)
class OpLog:
    """Operations since a state that was wholly durable."""

    ops: list[Op] = field(default_factory=list)
    base_names: dict[str, dict[str, int]] = field(default_factory=dict)
    base_bytes: dict[int, bytes] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ops)

    def mark(self, kind: str, number: int) -> None:
        """Note that something happened outside the disk."""
        self.ops.append(Mark(kind, number))

    def issue(self, number: int) -> None:
        """Note that batch `number` may be on its way from now on."""
        self.mark("issue", number)

    def ack(self, number: int) -> None:
        """Note that batch `number`, and all before it, were acknowledged as durable."""
        self.mark("ack", number)

    def sites(self) -> list[Site]:
        """Return every line that asked for a sync, in order of first appearance."""
        return list(dict.fromkeys(op.site for op in self.ops if isinstance(op, Sync | SyncDir)))

    def digest(self) -> str:
        """Return a short text that is equal for equal histories."""
        return _digest_of(repr(part).encode() for part in (self.base_names, self.base_bytes, *self.ops))


def _digest_of(parts: Iterable[bytes]) -> str:
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()
