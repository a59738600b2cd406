"""Opening the store that a command works on."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Literal, TypeAlias

import lsm
from lsm.cli.exits import BadUsage, no_store
from lsm.cli.parameters import Source, Target

WriteFlag: TypeAlias = Literal["c", "w"]
OptionValue: TypeAlias = int | float | str | bool

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


@contextmanager
def store_to_read(path: Path) -> Iterator[lsm.DB]:
    """Open a store that is there, beside its writer if it has one, and make no file."""
    try:
        db = lsm.open(path, "r")
    except lsm.StoreNotFound as error:
        raise no_store(path) from error
    with db:
        yield db


@contextmanager
def store_to_write(path: Path, flag: WriteFlag, options: Sequence[str] | None) -> Iterator[lsm.DB]:
    """Open a store as its one writer; flag "c" makes it if there is none."""
    try:
        db = lsm.open(path, flag, **parse_options(options or ()))
    except lsm.StoreNotFound as error:
        if flag == "c":  # it is the directory above that is missing, and the error says so
            raise
        raise no_store(path) from error
    with db:
        yield db


@contextmanager
def keyspace_to_read(source: Source) -> Iterator[lsm.Keyspace]:
    """Open the keyspace that a command reads."""
    with store_to_read(source.path) as db:
        yield db if source.keyspace is None else db.keyspace(source.keyspace, create=False)


@contextmanager
def keyspace_to_write(target: Target, flag: WriteFlag) -> Iterator[lsm.Keyspace]:
    """Open the keyspace that a command writes; flag "c" makes store and keyspace if they are not there."""
    with store_to_write(target.path, flag, target.option) as db:
        yield db if target.keyspace is None else db.keyspace(target.keyspace, create=flag == "c")


def parse_options(settings: Sequence[str]) -> dict[str, OptionValue]:
    """Return store options from texts such as "memory_limit=64MiB"."""
    parsed: dict[str, OptionValue] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not name or not equals:
            raise BadUsage(f"--option {setting!r:.60} is not NAME=VALUE")
        parsed[name] = _typed(name, text)
    return parsed


def _typed(name: str, text: str) -> OptionValue:
    """Return an option's value in its type; a text that does not fit stays one, and the store refuses it."""
    kind = next((field.type for field in fields(lsm.Options) if field.name == name), str)
    if kind is bool:
        return _BOOLEANS.get(text.lower(), text)
    if kind in (int, float):
        try:
            return int(text) if kind is int else float(text)
        except ValueError:
            return text  # sizes have units: 64MiB
    return text
