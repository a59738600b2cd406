"""The command `spark`."""

from bench.commands import data_of, finish, refuse, takes
from bench.progress import shown_progress
from bench.result import new_result
from bench.spark.settings import SparkSettings


@takes(SparkSettings)
def spark(settings: SparkSettings) -> None:
    """Measure reading into Spark, beside Parquet and RocksDB.  Needs the extra "spark"."""
    try:
        from bench.spark.measure import measure_spark
        from bench.spark.sheets import spark_sheets
    except ImportError as error:
        refuse(ValueError(f"{error}; pip install 'lsmlog[spark]'"))
    result = new_result("spark", settings)
    with shown_progress() as bar:
        measured = measure_spark(settings, data_of(settings), bar)
    result.update(measured.to_json())
    finish(spark_sheets(measured, settings), result, settings)
