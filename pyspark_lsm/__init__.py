"""Found by Spark: every package whose name begins with `pyspark_` is asked for its `DefaultSource`.

Spark gives up on all such packages if one of them cannot be imported, so this one always can.
"""

__all__: list[str] = []

try:
    from lsm.spark.source import LsmDataSource as DefaultSource
except Exception:  # noqa: BLE001 - whatever is wrong here must not break the sources of others
    pass
else:
    __all__ += ["DefaultSource"]
