"""Spark on a store: `spark.read.format("lsm").load(path)`, beside its writer or without one.

    import lsm.spark

    spark = lsm.spark.session()
    spark.read.format("lsm").load("db").count()

`session` finds a Java, or takes the one that came with the extra "spark", and sets what matters.  With a
session of your own, the format is found by itself where this package is installed; `register` helps where
it is not.  Parts: `options` (what users may say), `source` (what Spark asks for), `batch` and `partitions`
(reading tables), `formats` (typed columns), `lease` (the moment that is held meanwhile).
"""

from lsm.spark.java import ensure_java
from lsm.spark.lease import release
from lsm.spark.load.bulk import bulk_load
from lsm.spark.session import register, session

__all__ = ["bulk_load", "ensure_java", "register", "release", "session"]
