"""One Spark session for all tests here, which therefore run in one worker."""

import os
from pathlib import Path

import pytest

import lsm

pytest.importorskip("pyspark", reason="Spark is part of the dev extra")
ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
            # Spark's own sockets are its own affair; ours are looked at everywhere else.
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    import lsm.spark

    # Spark's processes import this package, wherever it was that pytest found it.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    place = tmp_path_factory.mktemp("spark")
    session = lsm.spark.session(
        **{
            "spark.master": "local[2]",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(place / "warehouse"),
            "spark.local.dir": str(place / "local"),
        }
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def load(spark):
    """Load stores with options: load(path, prefix="a")."""

    def load(*paths, schema=None, **options):
        reader = spark.read.format("lsm").options(**options)
        reader = reader if schema is None else reader.schema(schema)
        return reader.load(str(paths[0]) if len(paths) == 1 else list(map(str, paths)))

    return load


@pytest.fixture
def path(tmp_path):
    return tmp_path / "db"


@pytest.fixture
def db(path):
    """A store with everything in it: several levels, versions, deletions, and writes that are only logged."""
    with lsm.open(path, background="manual", memtable_bytes_max=64 * 1024, block_bytes=512) as db:
        db.update({b"k%04d" % n: b"old %d" % n for n in range(600)})
        db.compact()
        db.update({b"k%04d" % n: b"newer %d" % n for n in range(0, 600, 3)})
        db.flush()
        for n in range(0, 600, 7):
            db.delete(b"k%04d" % n, sync=False)
        db.flush()
        db.update({b"k%04d" % n: b"newest %d" % n for n in range(0, 600, 50)})
        db.delete(b"k0001")
        db[b"\xff\x00"] = b"\x00binary"
        yield db


def rows(frame):
    """All rows as tuples of bytes, by key."""
    return sorted((bytes(row["key"]), bytes(row["value"])) for row in frame.collect())
