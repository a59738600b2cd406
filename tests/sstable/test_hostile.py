"""Tables forged field by field, with checksums that fit: right answers or a typed error, in little memory."""

import struct
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import pytest

from sstable import CorruptTable, UnsupportedTable, read_meta
from tests.sstable.forge import BLOCK_INDEX_HEAD, Forgery
from tests.sstable.memory import MemoryFile, Written
from tests.sstable.trials import ask_all, is_found_by_verify, small_table

NUMBERS = [0, 1, 2**31 - 1, 2**32 - 1, 2**63]
MEMORY_MAX = 8 << 20

BLOCK_HEADER = {
    "entries": (0, "<I"),
    "flags": (4, "<B"),
    "kind": (5, "<B"),
    "reserved": (6, "<H"),
    "key width": (8, "<I"),
    "value width": (12, "<I"),
    "key bytes": (16, "<I"),
    "value bytes": (20, "<I"),
    "seq min": (24, "<Q"),
    "seq span": (32, "<Q"),
}
HANDLE = {
    "stored bytes": (0, "<I"),
    "plain bytes": (4, "<I"),
    "entries": (12, "<I"),
    "distinct keys": (16, "<I"),
    "last key bytes": (20, "<I"),
    "codec": (24, "<I"),
}
PROPERTIES = {
    "entries": (0, "<Q"),
    "tombstones": (8, "<Q"),
    "distinct keys": (16, "<Q"),
    "min seq": (24, "<Q"),
    "max seq": (32, "<Q"),
    "key bytes": (40, "<Q"),
    "value bytes": (48, "<Q"),
    "oldest tombstone": (56, "<Q"),
    "smallest length": (64, "<I"),
    "largest length": (68, "<I"),
}
SECTIONS = ["bloom filter", "hash index", "block index", "properties"]
FOOTER = {
    **{f"{name} offset": (20 * nth, "<Q") for nth, name in enumerate(SECTIONS)},
    **{f"{name} size": (20 * nth + 8, "<Q") for nth, name in enumerate(SECTIONS)},
    **{f"{name} crc": (20 * nth + 16, "<I") for nth, name in enumerate(SECTIONS)},
    "number": (96, "<Q"),
    "flags": (104, "<Q"),
    "version": (112, "<I"),
}


class Forged(NamedTuple):
    what: str
    table: Written


def forged_with(
    table: Written, what: str, at: int, form: str, *, in_footer: bool = False
) -> Iterator[Forged]:
    """The table with one field set to each of the numbers that fit into it."""
    for number in NUMBERS:
        forgery = Forgery(table)
        if number >= 1 << 8 * struct.calcsize(form):
            number = (1 << 8 * struct.calcsize(form)) - 1
        struct.pack_into(form, forgery.data, at, number)
        if bytes(forgery.data) != table.data:
            yield Forged(f"{what} = {number}", forgery.sealed(is_footer_forged=in_footer))


def forged_block_headers(table: Written) -> Iterator[Forged]:
    forgery = Forgery(table)
    for block in range(len(forgery.index)):
        for field, (at, form) in BLOCK_HEADER.items():
            start = int(forgery.index.offsets[block])
            yield from forged_with(table, f"{field} of block {block}", start + at, form)


def forged_handles(table: Written) -> Iterator[Forged]:
    forgery = Forgery(table)
    for block in range(len(forgery.index)):
        for field, (at, form) in HANDLE.items():
            yield from forged_with(table, f"{field} in handle {block}", forgery.handle_at(block) + at, form)
    start = forgery.handle_at(0) - BLOCK_INDEX_HEAD
    yield from forged_with(table, "number of blocks", start, "<Q")


def forged_properties(table: Written) -> Iterator[Forged]:
    start = Forgery(table).footer.properties.offset
    for field, (at, form) in PROPERTIES.items():
        yield from forged_with(table, f"{field} in properties", start + at, form)


def forged_footers(table: Written) -> Iterator[Forged]:
    start = Forgery(table).footer_at
    for field, (at, form) in FOOTER.items():
        yield from forged_with(table, f"{field} in footer", start + at, form, in_footer=True)


@pytest.fixture(params=[{}, {"hash_index": False}], ids=["hash index", "searched"])
def table(request) -> Written:
    return small_table(**request.param)


@pytest.fixture
def memory_watch() -> Iterator[None]:
    """Fails the test if it ever held much more memory than its small tables need."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MEMORY_MAX


@pytest.mark.usefixtures("memory_watch")
@pytest.mark.parametrize(
    "forgeries", [forged_block_headers, forged_handles, forged_footers, forged_properties]
)
def test_forged_fields_lead_to_right_answers_or_typed_errors(table, forgeries):
    for what, forged in forgeries(table):
        for use_map in (True, False):
            try:
                ask_all(forged.data, forged, use_map=use_map)
            except AssertionError:
                raise AssertionError(f"wrong answer with {what}") from None


@pytest.mark.parametrize("forgeries", [forged_block_headers, forged_handles, forged_properties])
def test_verify_finds_every_forged_field(table, forgeries):
    missed = [what for what, forged in forgeries(table) if not is_found_by_verify(forged.data, forged)]

    assert missed == []


@pytest.mark.usefixtures("memory_watch")
def test_facts_are_read_from_forged_files_or_refused(table):
    for forgeries in (forged_footers, forged_properties):
        for _, forged in forgeries(table):
            with suppress(CorruptTable, UnsupportedTable):
                read_meta(MemoryFile(forged.data))


@pytest.mark.usefixtures("memory_watch")
@pytest.mark.parametrize("compression", ["zlib", "lz4", "zstd"])
def test_forged_lengths_do_not_set_off_bombs(compression):
    table = small_table(compression=compression)

    for what, forged in forged_handles(table):
        try:
            ask_all(forged.data, forged)
        except AssertionError:
            raise AssertionError(f"wrong answer with {what}") from None


def test_slots_that_lead_nowhere_are_refused_or_find_nothing():
    table = small_table()
    handle = Forgery(table).footer.hash_index
    for number in (2**32 - 1, 2**31, 1, 7):
        forgery = Forgery(table)
        slots = handle.size // 4 - 4
        struct.pack_into(f"<{slots}I", forgery.data, handle.offset, *[number] * slots)
        forged = forgery.sealed()

        opened = forged.open()
        for key in {entry.key for entry in forged.entries}:
            try:
                found = opened.get(key, number)
            except CorruptTable:
                continue
            assert found is None or found == dict(table.open().scan())[key]
        assert is_found_by_verify(forged.data, forged)


def test_a_hash_index_without_end_is_refused():
    forgery = Forgery(small_table())
    handle = forgery.footer.hash_index
    forgery.data[handle.offset : handle.stop] = b"\xff" * handle.size
    forged = forgery.sealed()

    with pytest.raises(CorruptTable, match="empty slots") as caught:
        forged.open().get(b"key05", 1)
    assert caught.value.offset == handle.offset
