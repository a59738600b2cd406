"""How a command of the bench is made: options from a settings record, sheets and a result file at the end."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields
from typing import Any, NoReturn, TypeVar, get_type_hints

import typer
from rich.console import Console

from bench.data import Data
from bench.partial import EXIT_CODES
from bench.result import write_result
from bench.settings import Shape
from bench.sheet import Sheet, show

S = TypeVar("S", bound=Shape)


def takes(settings: type[S]) -> Callable[[Callable[[S], None]], Callable[..., None]]:
    """Give a command an option for every field of its settings, which it gets as one value."""
    hints = get_type_hints(settings, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=_default(field),
            annotation=hints[field.name],
        )
        for field in fields(settings)
    ]

    def decorate(command: Callable[[S], None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            try:
                made = settings(**values)
                data_of(made)
                _prepare_places(made)
            except ValueError as error:
                refuse(error)
            command(made)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        return run

    return decorate


def _prepare_places(shape: Shape) -> None:
    """Make the directory, and look whether a result can be written: in the end it would be a pity."""
    if shape.out is not None and (shape.out.is_dir() or not shape.out.parent.is_dir()):
        raise ValueError(f"{shape.out}: cannot be written; it must be a file in a directory that is there")
    if shape.directory is not None:
        try:
            shape.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"{shape.directory}: {error.strerror}") from error


def _default(field: "Field[Any]") -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default


def data_of(shape: Shape) -> Data:
    """Return the data of a run."""
    return Data.make(shape.keys, key_bytes=shape.key_bytes, value_bytes=shape.value_bytes, seed=shape.seed)


def finish(sheets: Sequence[Sheet], result: dict[str, object], settings: Shape) -> None:
    """Write the result file if one is wanted, and print the sheets; a partial one ends with an error."""
    failure: OSError | None = None
    try:
        # First: a reader of what is printed may go away before its end, as `head` does.
        write_result(result, settings.out)
    except OSError as error:
        failure = error
    console = Console()
    for sheet in sheets:
        show(sheet, console)
    if failure is not None:
        _say(f"{settings.out}: {failure.strerror}; the result was not written")
        raise typer.Exit(3) from failure
    reason = result.get("stopped_by")
    if reason is not None:
        _say(f"{reason}: the figures are of what was done until then")
        raise typer.Exit(EXIT_CODES.get(str(reason), 1))


def refuse(error: Exception) -> NoReturn:
    """End with a message: wrong usage."""
    _say(str(error))
    raise typer.Exit(2) from error


def _say(message: str) -> None:
    Console(stderr=True).print(f"bench: {message}", markup=False, highlight=False, soft_wrap=True)
