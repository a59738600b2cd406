"""What a workload asks of a store, and which engines there are."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Protocol, runtime_checkable

from bench.data import Pairs
from bench.peers.settings import StoreSettings

Pair = tuple[bytes, bytes]


class Store(Protocol):
    """An open store.  Every engine answers by the fastest of the forms that its users naturally write.

    `putter` and `getter` return what a loop calls, so that no layer of the bench stands between; a thread
    asks for its own.
    """

    def putter(self) -> Callable[[bytes, bytes], object]: ...
    def getter(self) -> Callable[[bytes], bytes | None]: ...

    def write_batch(self, batch: Pairs) -> None:
        """Write some pairs in one batch, adding one after the other to it."""

    def write_dict(self, batch: dict[bytes, bytes]) -> None:
        """Write a dict in one batch, in the fastest form there is."""

    def scan(self) -> Iterable[Pair]:
        """Return all pairs in key order."""

    def scan_from(self, start: bytes, limit: int) -> Iterable[Pair]:
        """Return up to `limit` pairs from a key on."""

    def compact(self) -> None: ...
    def close(self) -> None: ...


@runtime_checkable
class Mixes(Protocol):
    """A store whose `getter` and `putter` are not for use in turns: what it has for that."""

    def mixed(self) -> tuple[Callable[[bytes], bytes | None], Callable[[bytes, bytes], object]]:
        """Return `get`, which sees all that was put before, and `put`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Makes stores of one kind."""

    name: str
    version: str
    open: Callable[[Path, StoreSettings, bool], Store]
    """Make a store in an empty directory; with True, a write is durable when it returns."""
    setup: str
    """How it is set up and which calls are made, beyond the sizes that all have alike."""
    memtable: str = ""
    """What its bytes of a memtable are bytes of; nothing if it has none."""
    level_ratio: int | None = None
    """The only level ratio that it has, if it cannot be set."""
    has_background: bool = True
    """Whether it goes on working after a write has returned, and can be compacted."""


class UnknownName(ValueError):
    """There is no peer or workload of that name."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        near = get_close_matches(name, known := list(known), n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
        super().__init__(f"no {kind} {name!r}; {hint}")


def ours() -> Engine:
    """Return this store."""
    from bench.peers.ours import ENGINE

    return ENGINE


def _rocksdict() -> Engine:
    from bench.peers.peer_rocksdict import ENGINE

    return ENGINE


def _plyvel() -> Engine:
    from bench.peers.peer_plyvel import ENGINE

    return ENGINE


def _lmdb() -> Engine:
    from bench.peers.peer_lmdb import ENGINE

    return ENGINE


def _sqlite3() -> Engine:
    from bench.peers.peer_sqlite3 import ENGINE

    return ENGINE


def find_engine(name: str) -> Engine:
    """Return this store or a peer; ImportError if that is not installed."""
    known = {ours().name: ours, **PEERS}
    if name not in known:
        raise UnknownName("engine", name, known)
    return known[name]()


PEERS: dict[str, Callable[[], Engine]] = {
    "rocksdict": _rocksdict,
    "plyvel": _plyvel,
    "lmdb": _lmdb,
    "sqlite3": _sqlite3,
}


def find_peers(names: Iterable[str]) -> tuple[list[Engine], dict[str, str]]:
    """Return the peers that are installed, and why the others are not there."""
    found: list[Engine] = []
    missing: dict[str, str] = {}
    for name in names:
        if name not in PEERS:
            raise UnknownName("peer", name, PEERS)
        try:
            found.append(PEERS[name]())
        except ImportError as error:
            missing[name] = f"not installed ({error})"
    return found, missing


def split_names(text: str) -> list[str]:
    """Return the names in a list with commas, each once."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
