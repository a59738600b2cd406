"""`lsm.spark.bulk_load(df, path)`: split by ranges of keys first, so that no two tables overlap."""

from typing import Any

from lsm.spark.load.options import write_options


def bulk_load(
    df: Any, path: object, *, mode: str = "append", partitions: int | None = None, **options: object
) -> None:
    """Load a DataFrame into the store at `path`, in parallel; options are those of `df.write`.

    Rows are split into `partitions` ranges of keys, or as many as Spark finds right, and each is sorted
    where it is written.  `mode="overwrite"` deletes every key that does not come again.
    """
    from pyspark.sql import functions as f

    given = {name: str(value) for name, value in options.items()}
    asked = write_options({**given, "path": str(path)})
    key = f.col(_quoted(asked.key_column))
    if asked.value_format == "json" and asked.value_column not in df.columns:
        df, given["valueFormat"] = _with_documents(df, asked.key_column, asked.value_column), "string"
    # By the bytes that are stored: of numbers, those below zero come last.
    ranges = [key < 0, key] if asked.key_format == "long" else [key]
    if asked.key_format == "double":
        ranges = [key < 0, f.abs(key)]
    count = [] if partitions is None else [partitions]
    ranged = df.repartitionByRange(*count, *ranges)
    ranged.write.format("lsm").mode(mode).options(**given).save(str(path))


def _with_documents(df: Any, key: str, value: str) -> Any:
    """Have Spark write the JSON of all columns but the key."""
    from pyspark.sql import functions as f

    fields = [name for name in df.columns if name != key and not name.startswith("_")]
    document = f.to_json(f.struct(*[f.col(_quoted(name)) for name in fields])).alias(value)
    kept = [f.col(_quoted(name)) for name in df.columns if name not in fields]
    return df.select(*kept, document)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
