"""Spark for commands: started quietly, with the package that this command runs."""

import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

import lsm
from lsm.cli.exits import ExitCode, fail
from lsm.cli.progress import spinner

_OURS = re.compile(r"\blsm(?:\.\w+)+: (?P<message>.+)")
_STDERR = 2
_CONFS = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4"}


@contextmanager
def spark_session(**confs: str) -> Iterator[Any]:
    """Start Spark for the block, and end it; what Spark raises becomes one line."""
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        from lsm.spark import session
    except ImportError as error:
        raise lsm.MissingExtra(f"this needs Spark: pip install 'lsmlog[spark]' ({error})") from error
    with tempfile.TemporaryDirectory(prefix="lsm-spark-") as place:
        wanted = _CONFS | {"spark.sql.warehouse.dir": f"{place}/warehouse", "spark.local.dir": place} | confs
        _let_workers_find_this_package()
        # It repeats every error, with all of Java's stack, before anybody can catch it.
        logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
        with spinner("starting Spark", lambda: ""), _stderr_to(Path(place) / "stderr"):
            spark = session(**wanted)
        try:
            yield spark
        except (PySparkException, Py4JError) as error:
            fail(in_one_line(error), ExitCode.USAGE)
        finally:
            spark.stop()


def in_one_line(error: Exception) -> str:
    """Return what was wrong in one line: our own words where they are among Spark's."""
    text = str(error)
    ours = _OURS.search(text)
    return ours["message"].strip() if ours is not None else text.strip().partition("\n")[0].rstrip(";")


def _let_workers_find_this_package() -> None:
    package = str(Path(lsm.__file__).resolve().parent.parent)
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)


@contextmanager
def _stderr_to(path: Path) -> Iterator[None]:
    """Have processes that start in the block write their standard error to a file; show it if it fails.

    Java says a dozen lines before Spark's own settings are in force.
    """
    sys.stderr.flush()
    kept = os.dup(_STDERR)
    try:
        with path.open("wb") as file, os.fdopen(os.dup(kept), "w") as screen, redirect_stderr(screen):
            os.dup2(file.fileno(), _STDERR)
            try:
                yield
            finally:
                os.dup2(kept, _STDERR)
    except Exception:
        os.write(kept, path.read_bytes())
        raise
    finally:
        os.close(kept)
