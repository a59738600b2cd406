"""FORMAT.md shows a table byte by byte; the writer must write that very table."""

import re
from pathlib import Path

import sstable
from tests.sstable.memory import delete, put, write

FORMAT = Path(sstable.__file__).with_name("FORMAT.md")
LINE = re.compile(r"^[0-9a-f]{3}  ((?:[0-9a-f]{2} ){8} (?:[0-9a-f]{2} ?){8})  ", re.MULTILINE)
EXAMPLE = [put(b"apple", 7, b"red"), put(b"apple", 3, b"green"), delete(b"plum", 5)]


def test_the_example_in_the_document_is_what_the_writer_writes():
    documented = bytes.fromhex("".join(LINE.findall(FORMAT.read_text(encoding="utf-8"))))

    assert documented == write(EXAMPLE).data


def test_the_example_reads_as_the_document_tells():
    table = write(EXAMPLE).open()

    assert list(table.scan()) == [(b"apple", b"red"), (b"plum", sstable.DELETED)]
    assert list(table.scan(seq_max=4)) == [(b"apple", b"green")]
