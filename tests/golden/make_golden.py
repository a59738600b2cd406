"""Small stores of format version 1, kept under version control: what was written once must open for ever.

`python -m tests.golden.make_golden` writes the stores that are not there yet and never touches one that is:
a file that this format has once produced stays as it is, and what is written differently gets a folder of
its own.  In `v1` a flushed segment left the manifest with the flush; in `v1-retention` it leaves later, and
the manifest knows when a segment was finished; in `v1-work` edits say what their tables have cost.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import lsm
import wal
from lsm.fs import open_directory
from lsm.opening import open_on
from lsm.payload import encode_one
from wal.record import encode

FOLDER = Path(__file__).resolve().parent
GOLDEN = FOLDER / "v1-work"
OLDER = (FOLDER / "v1", FOLDER / "v1-retention")
OPTIONS = {
    "log_retention_bytes": 0,
    "background": "manual",
    "memory_limit": "1MiB",
    "block_bytes": 256,
    "table_bytes_max": 1024,
    "l0_tables_max": 8,
    "l0_tables_slow": 12,
    "l0_tables_stop": 24,
    "levels_max": 4,
}
Contents = dict[str, dict[bytes, bytes]]
"""Pairs by keyspace."""


class FixedClock:
    """A moment in 2023; nothing moves it, so that no byte depends on how often time is asked for."""

    def __init__(self) -> None:
        self.time_ns: Callable[[], int] = lambda: 1_700_000_000_000_000_000

    def now_us(self) -> int:
        return self.time_ns() // 1000

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        """Nobody waits."""


def fixed_entropy(size: int) -> bytes:
    return bytes(range(size))


def create(path: Path, **options: object) -> lsm.DB:
    fs = open_directory(str(path), create=True, read_only=False)
    return open_on(fs, "n", {**OPTIONS, **options}, clock=FixedClock(), entropy=fixed_entropy)


def key(number: int) -> bytes:
    return b"key-%04d" % number


def value(number: int, generation: int) -> bytes:
    """Widths vary, some are empty, and there is something for a compressor to do."""
    return b"%d:%d;" % (generation, number) * (number % 7)


def write_two_levels(db: lsm.DB) -> None:
    """Several tables at the bottom, two in L0 that overwrite and delete, an unflushed tail of every kind."""
    for generation in (0, 1):  # what is alone is moved down as one table; a merge makes several
        db.update({key(number): value(number, generation) for number in range(200)})
        db.compact()
    db.update({key(number): value(number, 2) for number in range(50, 100)})
    for number in range(60, 70):
        db.delete(key(number))
    db.flush()
    with db.batch() as batch:
        for number in range(150, 160):
            batch.delete(key(number))
        batch.put(b"", b"of the empty key")
        batch.put(bytes(range(256)), b"\0\r\n\xff" * 30)
    db.flush()
    with db.batch() as batch:
        batch.put(key(60), b"back again")
        batch.delete(key(0))
    db.put(key(1), b"")
    db.delete(key(2))


def two_levels() -> dict[bytes, bytes]:
    """What `write_two_levels` leaves."""
    pairs = {key(number): value(number, 1) for number in range(200)}
    pairs |= {key(number): value(number, 2) for number in range(50, 100)}
    for number in (*range(60, 70), *range(150, 160), 0, 2):
        del pairs[key(number)]
    return pairs | {
        b"": b"of the empty key",
        bytes(range(256)): b"\0\r\n\xff" * 30,
        key(60): b"back again",
        key(1): b"",
    }


def make_closed(path: Path) -> None:
    with create(path) as db:
        write_two_levels(db)


def make_zlib(path: Path) -> None:
    with create(path, compression="zlib") as db:
        write_two_levels(db)


def make_torn(path: Path) -> None:
    """As a crash leaves it: the newest segment open, two thirds of one more record, then reserved zeros."""
    with tempfile.TemporaryDirectory() as folder, create(Path(folder) / "live") as db:
        write_two_levels(db)
        shutil.copytree(db.path, path, ignore=shutil.ignore_patterns("LOCK"))
    newest = max(path.glob("*.log"))
    data = newest.read_bytes()
    header = wal.decode_header(data)
    assert header is not None
    _, end = wal.read_records(data, header)
    record = encode(
        encode_one(0, key(3), b"never acknowledged"),
        seed=header.seed,
        first_seq=end.next_seq,
        count=1,
        time_us=FixedClock().now_us(),
        synced_upto=end.position,
    )
    newest.write_bytes(data[: end.position] + record[: len(record) * 2 // 3] + bytes(64))


def make_keyspaces(path: Path) -> None:
    with create(path) as db:
        users, orders = db.keyspace("users"), db.keyspace("orders")
        gone = db.keyspace("gone")
        with db.batch() as batch:
            for number in range(40):
                batch.put(key(number), value(number, 1), keyspace="users")
                batch.put(key(number), b"dropped", keyspace="gone")
            batch.put(b"one", b"1")
        db.flush()
        gone[b"late"] = b"in the log when its keyspace was dropped"
        orders[b"1001"] = b"apple"
        db.drop_keyspace("gone")
        del users[key(7)]
        db.keyspace("empty")
        db.keyspace("größe")["ключ".encode()] = b"names are text, keys are bytes"


def keyspaces() -> Contents:
    users = {key(number): value(number, 1) for number in range(40) if number != 7}
    return {
        "default": {b"one": b"1"},
        "users": users,
        "orders": {b"1001": b"apple"},
        "empty": {},
        "größe": {"ключ".encode(): b"names are text, keys are bytes"},
    }


def expected(name: str) -> Contents:
    """Return what the golden store of that name holds, by keyspace."""
    return keyspaces() if name == "keyspaces" else {"default": two_levels()}


MAKERS: dict[str, Callable[[Path], None]] = {
    "closed": make_closed,
    "torn": make_torn,
    "zlib": make_zlib,
    "keyspaces": make_keyspaces,
}


def make(name: str, path: Path) -> None:
    """Write one golden store to a path that does not exist yet."""
    MAKERS[name](path)
    (path / "LOCK").unlink(missing_ok=True)


def main() -> None:
    for name in MAKERS:
        if not (GOLDEN / name).exists():
            GOLDEN.mkdir(exist_ok=True)
            make(name, GOLDEN / name)
            sys.stdout.write(f"wrote {name}\n")


if __name__ == "__main__":
    main()
