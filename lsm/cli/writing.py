"""`lsm put` and `lsm delete`."""

from collections.abc import Callable, Iterator
from typing import Annotated, TypeAlias, TypeVar

import typer

import lsm
from lsm.cli.exits import BadUsage
from lsm.cli.lines import Lines, read_value
from lsm.cli.output import console, plural, say, show_json
from lsm.cli.parameters import STDIN, AsJson, Key, Target, argument_bytes
from lsm.cli.progress import byte_progress
from lsm.cli.stores import keyspace_to_write

T = TypeVar("T")

_BATCH_ENTRIES_MAX = 1000
_BATCH_BYTES_MAX = 8 * 1024 * 1024

Value: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="VALUE", help="Value, or - for standard input, unchanged.")
]


def put(target: Target, key: Key, value: Value = None, json: AsJson = False) -> None:
    """Set a key; make the store if there is none.

    With - as the only argument after DB, read pairs from standard input, one a line: key, tab, value.
    """
    if key == STDIN:
        if value is not None:
            raise BadUsage(r"with - as KEY the values come from standard input too; a hyphen as key is \x2d")
        _put_lines(target, json=json)
        return
    if value is None:
        raise BadUsage("VALUE is missing; an empty one is ''")
    key_bytes = argument_bytes(key, "KEY")
    value_bytes = read_value() if value == STDIN else argument_bytes(value, "VALUE")
    with keyspace_to_write(target, "c") as keyspace:
        keyspace.put(key_bytes, value_bytes)
    _report("put", 1, json=json)


def delete(target: Target, key: Key, json: AsJson = False) -> None:
    """Delete a key, whether it is there or not.

    With - as KEY, read keys from standard input, one a line.
    """
    if key == STDIN:
        _delete_lines(target, json=json)
        return
    key_bytes = argument_bytes(key, "KEY")
    with keyspace_to_write(target, "w") as keyspace:
        keyspace.delete(key_bytes)
    _report("deleted", 1, json=json)


def _put_lines(target: Target, *, json: bool) -> None:
    lines = Lines()
    with keyspace_to_write(target, "c") as keyspace:
        count = _in_batches(keyspace, lines, lines.each_pair(), lambda batch, pair: batch.put(*pair))
    _report("put", count, json=json, is_bulk=True)


def _delete_lines(target: Target, *, json: bool) -> None:
    lines = Lines()
    with keyspace_to_write(target, "w") as keyspace:
        count = _in_batches(keyspace, lines, lines.each_key(), lambda batch, key: batch.delete(key))
    _report("deleted", count, json=json, is_bulk=True)


def _in_batches(
    keyspace: lsm.Keyspace, lines: Lines, items: Iterator[T], add: Callable[[lsm.WriteBatch, T], None]
) -> int:
    """Write all items in batches; return how many, and say it if the input ends badly."""
    written = 0
    try:
        with byte_progress("writing") as advance:
            while count := _write_batch(keyspace, lines, items, add):
                written += count
                advance(lines.done_bytes, lines.total_bytes)
    except BaseException:
        say(f"{plural(written, 'line')} of standard input had been written")
        raise
    return written


def _write_batch(
    keyspace: lsm.Keyspace, lines: Lines, items: Iterator[T], add: Callable[[lsm.WriteBatch, T], None]
) -> int:
    full_at = lines.done_bytes + _BATCH_BYTES_MAX
    with keyspace.batch() as batch:
        for item in items:
            try:
                add(batch, item)
            except lsm.InvalidArgument as error:
                raise lines.wrong(error) from error
            if len(batch) == _BATCH_ENTRIES_MAX or lines.done_bytes >= full_at:
                break
        return len(batch)


def _report(what: str, count: int, *, json: bool, is_bulk: bool = False) -> None:
    if json:
        show_json({what: count})
    elif is_bulk and console(stderr=True).is_terminal:  # where the progress bar has just vanished
        say(f"{plural(count, 'line')} {what}")
