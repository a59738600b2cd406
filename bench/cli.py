"""The command line of the bench."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from typing import Any, NoReturn, TypeVar, get_type_hints

import typer
from rich.console import Console

from bench.background.measure import measure_background
from bench.background.sheets import background_sheets
from bench.compare.comparison import Comparison
from bench.compare.empty import loop_costs
from bench.compare.outcome import compare_json, outcomes
from bench.compare.sheets import compare_sheets
from bench.compare.workloads import find_workloads
from bench.data import Data
from bench.log.measure import measure_log
from bench.log.sheets import log_sheets
from bench.memory.measure import measure_memory, memory_sheet
from bench.peers.engines import find_peers, ours, split_names
from bench.progress import shown_progress
from bench.result import new_result, write_result
from bench.settings import (
    QUICK_KEYS,
    BackgroundSettings,
    CompareSettings,
    LogSettings,
    MemorySettings,
    Shape,
    SparkSettings,
)
from bench.sheet import Sheet, show

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Benchmarks of the store.",
)

_LOOP_KEYS = 100_000  # enough for the cost of an empty loop
S = TypeVar("S", bound=Shape)


def takes(settings: type[S]) -> Callable[[Callable[[S], None]], Callable[..., None]]:
    """Give a command an option for every field of its settings, which it gets as one value."""
    hints = get_type_hints(settings, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(settings)
    ]

    def decorate(command: Callable[[S], None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            try:
                made = settings(**values)
                data_of(made)
            except ValueError as error:
                _refuse(error)
            if made.directory is not None:
                made.directory.mkdir(parents=True, exist_ok=True)
            command(made)

        run.__name__, run.__doc__ = command.__name__, command.__doc__
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
        return run

    return decorate


@app.command()
@takes(CompareSettings)
def compare(settings: CompareSettings) -> None:
    """Run the same workloads on this store and on its peers."""
    settings = replace(settings, keys=QUICK_KEYS) if settings.quick else settings
    try:
        peers, missing = find_peers(split_names(settings.peers))
        workloads = find_workloads(split_names(settings.workloads))
    except ValueError as error:
        _refuse(error)
    result = new_result("compare", settings)
    with shown_progress() as bar:
        comparison = Comparison(
            settings=settings,
            engines=[ours(), *peers],
            workloads=workloads,
            data=data_of(settings),
            announce=bar.step,
        )
        bar.start(comparison.steps)
        with suppress(KeyboardInterrupt):  # what was measured until then is shown, and marked
            comparison.run()
    results = outcomes(comparison, loop_costs(workloads, data_of(replace(settings, keys=_LOOP_KEYS))))
    result.update(compare_json(comparison, results, missing))
    _finish(compare_sheets(comparison, results, missing), result, settings)


@app.command()
@takes(BackgroundSettings)
def background(settings: BackgroundSettings) -> None:
    """Measure flush and compaction, and the pauses they cause in the foreground."""
    result = new_result("background", settings)
    with shown_progress() as bar:
        measured = measure_background(settings, data_of(settings), bar)
    result.update(measured.to_json())
    _finish(background_sheets(measured, settings), result, settings)


@app.command()
@takes(MemorySettings)
def memory(settings: MemorySettings) -> None:
    """Measure time and memory to open a large store."""
    result = new_result("memory", settings)
    with shown_progress() as bar:
        measured = measure_memory(settings, data_of(settings), bar)
    result.update(measured.to_json())
    _finish([memory_sheet(measured, settings)], result, settings)


@app.command()
@takes(SparkSettings)
def spark(settings: SparkSettings) -> None:
    """Measure reading into Spark, beside Parquet and RocksDB.  Needs the extra "spark"."""
    try:
        from bench.spark.measure import measure_spark
        from bench.spark.sheets import spark_sheets
    except ImportError as error:
        _refuse(ValueError(f"{error}; pip install 'lsmlog[spark]'"))
    result = new_result("spark", settings)
    with shown_progress() as bar:
        measured = measure_spark(settings, data_of(settings), bar)
    result.update(measured.to_json())
    _finish(spark_sheets(measured, settings), result, settings)


@app.command()
@takes(LogSettings)
def log(settings: LogSettings) -> None:
    """Measure reading the log: changes, seeking, a follower, and readers that wait for more."""
    result = new_result("log", settings)
    with shown_progress() as bar:
        measured = measure_log(settings, data_of(settings), bar)
    result.update(measured.to_json())
    _finish(log_sheets(measured, settings), result, settings)


def data_of(shape: Shape) -> Data:
    """Return the data of a run."""
    return Data.make(shape.keys, key_bytes=shape.key_bytes, value_bytes=shape.value_bytes, seed=shape.seed)


def _finish(sheets: Sequence[Sheet], result: dict[str, object], settings: Shape) -> None:
    console = Console()
    for sheet in sheets:
        show(sheet, console)
    write_result(result, settings.out)


def _refuse(error: ValueError) -> NoReturn:
    Console(stderr=True).print(f"bench: {error}", markup=False, highlight=False)
    raise typer.Exit(2) from error
