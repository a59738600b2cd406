"""The command `lsm demo`."""

import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

import lsm
from lsm.cli.demo.crash import KILLS, kill_again_and_again, read_beside_the_writer
from lsm.cli.demo.history import Lost, Model
from lsm.cli.demo.levels import KEYSPACE, copy, load_and_compact
from lsm.cli.demo.log import read_the_log
from lsm.cli.demo.plan import Plan
from lsm.cli.demo.spark import query_in_spark
from lsm.cli.demo.stage import Stage
from lsm.cli.exits import BadUsage, ExitCode


def demo(
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="New or empty directory; else a temporary one.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the stores there.")] = False,
    scale: Annotated[
        float, typer.Option(min=0.001, max=20, help="Amount of data; 1 takes half a minute.")
    ] = 1.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of the data, to repeat a run.")] = None,
    spark: Annotated[bool, typer.Option(help="With the part about Spark, where it is installed.")] = True,
) -> None:
    """Show the product in a minute: write, kill, reopen, compare, read the log, compact, query in Spark.

    Exit with 1 if anything acknowledged is lost.
    """
    stage = Stage()
    chosen_seed = secrets.randbits(31) if seed is None else seed
    started = time.monotonic()
    with _workplace(directory, keep=keep) as place:
        plan = Plan(directory=place, seed=chosen_seed, scale=scale)
        stage.title(f"lsm demo in {place}, seed {plan.seed}")
        try:
            _play(plan, stage, with_spark=spark)
        except (Lost, lsm.CorruptionError, lsm.BackgroundError) as error:
            stage.failed(f"{error}. The stores are left in {place}")
            raise typer.Exit(ExitCode.NO) from None
    seconds = time.monotonic() - started
    stage.end(f"Nothing acknowledged was lost in {KILLS + 1} kills. {seconds:.0f} s in all.")
    if keep:
        stage.more("The stores are still there. Look at them:")
        for command in (
            f"stats {plan.store}",
            f"scan -k {KEYSPACE} --limit 3 {plan.store}",
            f"verify {plan.checkpoint}",
        ):
            stage.more(f"  lsm {command}")


def _play(plan: Plan, stage: Stage, *, with_spark: bool) -> None:
    model = Model(plan.seed)
    kill_again_and_again(plan, stage, model)
    read_beside_the_writer(plan, stage, model)
    read_the_log(plan, stage)
    load_and_compact(plan, stage)
    if with_spark:
        query_in_spark(plan, stage)
    copy(plan, stage)


@contextmanager
def _workplace(directory: Path | None, *, keep: bool) -> Iterator[Path]:
    """Give a directory to work in; remove what the demo made there, unless somebody wants to look at it."""
    is_ours = directory is None or not directory.exists()
    if directory is None:
        directory = Path(tempfile.mkdtemp(prefix="lsm-demo-"))
    elif is_ours:
        directory.mkdir(mode=0o700, parents=True)
    elif not directory.is_dir() or any(directory.iterdir()):
        raise BadUsage(f"{directory} is not an empty directory")
    try:
        yield directory
    except typer.Exit:  # the demo has failed: whoever wants to know why needs the stores
        keep = True
        raise
    finally:
        if not keep:
            for path in [directory] if is_ours else list(directory.iterdir()):
                shutil.rmtree(path, ignore_errors=True)
