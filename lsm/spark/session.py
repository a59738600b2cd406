"""A Spark session with what a store's reader needs."""

from typing import Any

from lsm.spark.java import ensure_java
from lsm.spark.lease import keep_register

_CONFS = {
    "spark.master": "local[*]",
    # Reads are 15 to 20 % faster than over TCP (bench: spark).
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    # Spark warns of what is no concern of anybody's: native Hadoop libraries, a format registered twice.
    "spark.log.level": "ERROR",
}
# A session on one machine needs no name of it that others can resolve.
_LOCAL_CONFS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def session(**confs: object) -> Any:
    """Return a Spark session that knows the format "lsm"; `spark_sql_ansi_enabled=True` sets a conf.

    In names of confs an underscore stands for a dot; hand a dict with ** to name those that have one.  Of a
    session that exists already, only what can be changed while it runs is set.
    """
    ensure_java()
    keep_register()
    from pyspark.sql import SparkSession

    wanted = _CONFS | {_dotted(name): _text(value) for name, value in confs.items()}
    if wanted["spark.master"].startswith("local"):
        wanted = _LOCAL_CONFS | wanted
    builder = SparkSession.builder
    for name, value in wanted.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def register(spark: Any) -> None:
    """Tell a session of the format "lsm", where it does not find it by itself."""
    from lsm.spark.source import LsmDataSource

    spark.dataSource.register(LsmDataSource)


def _dotted(name: str) -> str:
    dotted = name if "." in name else name.replace("_", ".")
    return dotted if dotted.startswith("spark.") else f"spark.{dotted}"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
