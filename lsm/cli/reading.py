"""`lsm get` and `lsm scan`."""

import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, TypeAlias

import typer

from lsm.cdc import to_json
from lsm.cli.exits import BadUsage, ExitCode, fail
from lsm.cli.lines import Lines
from lsm.cli.output import data_stream, plural, say, show_json
from lsm.cli.parameters import STDIN, Key, Selection, Source, Style, argument_bytes
from lsm.cli.stores import keyspace_to_read
from lsm.cli.text import escape, shortened

Print: TypeAlias = Callable[[bytes, bytes], None]
"""Puts a pair on a line of standard output."""


def get(source: Source, key: Key, style: Style) -> None:
    """Print the value of a key; exit with 1 if it is not there.

    With - as KEY, read keys from standard input, one a line, and print pairs: key, tab, value.
    """
    _refuse_raw_on_a_terminal(style)
    if key == STDIN:
        _get_lines(source, style)
        return
    key_bytes = argument_bytes(key, "KEY")
    with keyspace_to_read(source) as keyspace:
        value = keyspace.get(key_bytes)
    if style.json:
        show_json({"key": to_json(key_bytes), "value": None if value is None else to_json(value)})
    elif value is not None:
        # Raw is the value and nothing else, so that a file comes out as it went in.
        data_stream().write(value if style.raw else escape(value) + b"\n")
    if value is None:
        fail(f"no key {shortened(key_bytes)}", ExitCode.NO)


def scan(
    source: Source,
    selection: Selection,
    style: Style,
    keys_only: Annotated[bool, typer.Option("--keys-only", help="Without values.")] = False,
) -> None:
    """Print pairs in the order of their keys: key, tab, value.

    What is printed is what `lsm put DB -` reads.
    """
    _refuse_raw_on_a_terminal(style)
    put_line = printer(style, keys_only=keys_only)
    with keyspace_to_read(source) as keyspace:
        for key, value in keyspace.scan(**asdict(selection)):
            put_line(key, value)


def printer(style: Style, *, keys_only: bool = False) -> Print:
    """Return what prints a pair in that style."""
    if style.json and keys_only:
        return lambda key, value: show_json({"key": to_json(key)})
    if style.json:
        return lambda key, value: show_json({"key": to_json(key), "value": to_json(value)})
    code = bytes if style.raw else escape
    write = data_stream().write

    def put_key(key: bytes, value: bytes) -> None:
        write(code(key) + b"\n")

    def put_pair(key: bytes, value: bytes) -> None:
        write(b"%b\t%b\n" % (code(key), code(value)))

    return put_key if keys_only else put_pair


def _get_lines(source: Source, style: Style) -> None:
    put_line = printer(style)
    missing = 0
    with keyspace_to_read(source) as keyspace:
        for key in Lines().each_key():
            value = keyspace.get(key)
            if value is not None:
                put_line(key, value)
                continue
            missing += 1
            if style.json:
                show_json({"key": to_json(key), "value": None})
            else:
                say(f"lsm: no key {shortened(key)}", style="red")
    if missing:
        fail(f"{plural(missing, 'key')} not found", ExitCode.NO)


def _refuse_raw_on_a_terminal(style: Style) -> None:
    if style.raw and style.json:
        raise BadUsage("--raw and --json exclude each other")
    if style.raw and sys.stdout is not None and sys.stdout.isatty():
        raise BadUsage("--raw is for files and pipes: bytes may command a terminal; | cat if you trust them")
