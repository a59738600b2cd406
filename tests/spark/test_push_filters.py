"""Why the reader has no `pushFilters`: with it, Spark gives wrong answers.

Spark keeps the plan of one filtered query and uses it for every other query of the same DataFrame.  When this
test fails, Spark has mended that, and pushing filters down can be thought of again.
"""

import pytest
from pyspark.sql.datasource import DataSourceReader

from lsm.spark.batch import LsmReader
from tests.spark.pushing import PushingSource


@pytest.fixture
def pushing(spark):
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(PushingSource)
    yield spark
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")


def test_our_reader_pushes_nothing_down():
    assert LsmReader.pushFilters is DataSourceReader.pushFilters


def test_a_filter_pushed_down_leaks_into_other_queries(pushing):
    frame = pushing.read.format("pushing").load()

    filtered, everything = frame.filter("number < 10").count(), frame.count()

    assert filtered == 10
    assert everything == 10, "Spark is mended: all 100 rows were counted"


def test_filters_on_our_source_are_right(pushing, load, path, db):
    frame = load(path)
    count = len(db)
    below = len(list(db.scan(stop=b"k0100")))

    assert frame.filter("key < 'k0100'").count() == below
    assert frame.count() == count
    assert frame.filter("key < 'k0100'").union(frame.filter("key >= 'k0100'")).count() == count
