"""Arguments and options that commands share, and how a command takes a group of them as one value."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from lsm.cli.exits import BadUsage, errors_as_exit_codes
from lsm.cli.text import BadText, parse

STDIN = "-"


def argument_bytes(text: str, name: str) -> bytes:
    """Return the bytes that an argument stands for."""
    try:
        return _parse(text)
    except BadText as error:
        raise BadUsage(f"{name}: {error}") from error


def _option_bytes(text: str) -> bytes:
    try:
        return _parse(text)
    except BadText as error:
        raise typer.BadParameter(str(error)) from error  # typer adds the option's name


def _parse(text: str) -> bytes:
    # What the shell hands over need not be UTF-8; Python keeps such bytes as surrogates.
    return parse(text.encode("utf-8", "surrogateescape"))


def key_option(help_text: str) -> Any:
    """Return an option whose value is a key; Any, as typer's own functions say."""
    return typer.Option(parser=_option_bytes, metavar="KEY", help=help_text)


StorePath: TypeAlias = Annotated[Path, typer.Argument(metavar="DB", help="Directory of the store.")]
Key: TypeAlias = Annotated[str, typer.Argument(metavar="KEY", help="Key, or - for standard input.")]
KeyspaceName: TypeAlias = Annotated[
    str | None, typer.Option("--keyspace", "-k", metavar="NAME", help="Keyspace instead of the default one.")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]
Raw: TypeAlias = Annotated[
    bool, typer.Option("--raw", help="Write bytes as they are; only to a file or a pipe.")
]
StoreOptions: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--option", "-o", metavar="NAME=VALUE", help="Option of the store, kept with it; may be repeated."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a command reads from."""

    path: StorePath
    keyspace: KeyspaceName = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a command writes to."""

    path: StorePath
    keyspace: KeyspaceName = None
    option: StoreOptions = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How pairs are printed."""

    json: AsJson = False
    raw: Raw = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Which keys are meant."""

    start: Annotated[bytes | None, key_option("First key.")] = None
    stop: Annotated[bytes | None, key_option("Key to stop before.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection(Range):
    """Which pairs are meant, and in what order."""

    prefix: Annotated[bytes | None, key_option("Only keys that begin so.")] = None
    reverse: Annotated[bool, typer.Option("--reverse", help="From the last key to the first.")] = False
    limit: Annotated[int | None, typer.Option(min=0, metavar="N", help="At most so many.")] = None


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """Return what typer registers: groups of options unfolded, errors turned into exit codes.

    A parameter whose type is a dataclass becomes one parameter for each of its fields.
    """
    signature = inspect.signature(function)
    groups: dict[str, type[Any]] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation)
    }

    @wraps(function)
    def command(**given: object) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        with errors_as_exit_codes():
            function(**given)

    unfolded = [
        one
        for name, parameter in signature.parameters.items()
        for one in (
            _of_group(groups[name]) if name in groups else [parameter.replace(kind=Parameter.KEYWORD_ONLY)]
        )
    ]
    command.__signature__ = signature.replace(parameters=unfolded)  # type: ignore[attr-defined]  # read by inspect
    return command


def _of_group(group: type[Any]) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name])
