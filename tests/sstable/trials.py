"""Everything a reader can ask of a table, and what it may answer if the table was tampered with."""

import random
from collections.abc import Callable, Iterator

from sstable import CorruptTable, Table, UnsupportedTable, key_hash, key_hashes
from tests.sstable.memory import MemoryCache, MemoryFile, Written, delete, put, visible, write

ABSENT = [b"", b"key00\0", b"key05x", b"zzz"]


def mixed_entries() -> list:
    """Versions, tombstones, empty and long values, in blocks of every shape."""
    noise = random.Random(5)
    fixed = [put(b"aaa%02d" % n, 100 + n, noise.randbytes(20)) for n in range(18)]
    varied = [put(b"key%02d" % n, 300 + n, noise.randbytes(n * 5 % 17)) for n in range(16)]
    versions = [put(b"key05", seq, b"old%d" % seq) for seq in (40, 41, 42)]
    deleted = [delete(b"key%02d" % n, 900 + n) for n in (3, 7)]
    return [*fixed, *varied, *versions, *deleted, delete(b"zz", 70_000)]


def small_table(**options: object) -> Written:
    """About 2 KB, several blocks."""
    return write(mixed_entries(), block_bytes=160, **options)


def questions(table: Table, written: Written) -> Iterator[tuple[Callable[[], object], object]]:
    """Ways to ask, each with the right answer."""
    newest, older = visible(written.entries), visible(written.entries, 350)
    for key in [*newest, *ABSENT]:
        yield (lambda key=key: table.get(key, key_hash(key))), newest.get(key)
    for key in newest:
        yield (lambda key=key: table.get(key, key_hash(key), 350)), older.get(key)
    yield (lambda: list(table.scan())), list(newest.items())
    yield (
        (lambda: list(table.scan(b"key02", b"key08", reverse=True))),
        [pair for pair in reversed(newest.items()) if b"key02" <= pair[0] < b"key08"],
    )
    yield (lambda: table.may_contain_many(*key_hashes(list(newest))).all()), True
    yield (lambda: sum(map(len, table.columns()))), len(written.entries)


def ask_all(data: bytes, written: Written, **how: object) -> int:
    """Ask everything of `data` opened as the table `written`; count the refusals.

    Every answer must be right, every refusal one of the two errors, with a place in the file.
    """
    try:
        table = Table(MemoryFile(data), written.meta, cache=MemoryCache(), **how)
    except (CorruptTable, UnsupportedTable) as error:
        check_place(error, data)
        return 1
    refusals = 0
    for ask, answer in questions(table, written):
        try:
            found = ask()
        except (CorruptTable, UnsupportedTable) as error:
            check_place(error, data)
            refusals += 1
        else:
            assert found == answer
    return refusals


def is_found_by_verify(data: bytes, written: Written, how: Callable[[Table], None] = Table.verify) -> bool:
    """Whether opening or `verify` refuses `data`."""
    try:
        how(Table(MemoryFile(data), written.meta))
    except (CorruptTable, UnsupportedTable) as error:
        check_place(error, data)
        return True
    return False


def check_place(error: Exception, data: bytes) -> None:
    if isinstance(error, CorruptTable):
        assert 0 <= error.offset <= len(data)
        assert str(error) == f"{error.what} at byte {error.offset}"
