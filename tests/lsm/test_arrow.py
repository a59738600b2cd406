"""A store as Arrow: the same pairs as a scan, whatever they lie in."""

import random

import pytest

import lsm

pa = pytest.importorskip("pyarrow")


def pairs(reader):
    return [(row["key"], row["value"]) for row in reader.read_all().to_pylist()]


@pytest.fixture
def db(tmp_path):
    with lsm.open(tmp_path / "db", background="manual", block_bytes=512, table_bytes_max=4096) as db:
        yield db


def fill(db, numbers, version):
    db.update({b"k%04d" % n: b"%d of %d" % (n, version) for n in numbers})


def test_levels_memory_and_deletions_come_as_a_scan_gives_them(db):
    fill(db, range(1000), 1)
    db.compact()
    fill(db, range(0, 1000, 3), 2)
    db.flush()
    fill(db, range(0, 1000, 7), 3)
    db.delete(b"k0010")

    assert pairs(db.to_arrow()) == list(db.scan())
    assert pairs(db.to_arrow(b"k0100", b"k0200")) == list(db.scan(b"k0100", b"k0200"))
    assert pairs(db.to_arrow(prefix=b"k05")) == list(db.scan(prefix=b"k05"))
    assert pairs(db.to_arrow(b"k0200", b"k0100")) == []


def test_an_empty_store_has_the_schema_all_the_same(db):
    reader = db.to_arrow()

    assert reader.schema == pa.schema([("key", pa.binary()), ("value", pa.binary())])
    assert reader.read_all().num_rows == 0


def test_the_reader_shows_the_moment_it_was_made(db):
    fill(db, range(3000), 1)
    db.flush()
    expected = list(db.scan())

    reader = db.to_arrow()
    fill(db, range(5000), 2)
    db.compact()

    assert pairs(reader) == expected


def test_a_snapshot_comes_as_it_was(db):
    fill(db, range(500), 1)
    with db.snapshot() as snapshot:
        expected = list(snapshot.scan())
        fill(db, range(0, 500, 2), 2)
        db.delete(b"k0001")
        db.compact()

        assert pairs(snapshot.to_arrow()) == expected
        assert pairs(db.to_arrow()) == list(db.scan())


def test_snapshots_are_released_when_the_reader_ends_or_goes(db):
    fill(db, range(100), 1)

    db.to_arrow().read_all()
    reader = db.to_arrow()
    assert db._state.snapshots
    del reader

    assert db._state.snapshots == []


def test_batches_outlive_the_store(tmp_path):
    with lsm.open(tmp_path / "other") as db:
        fill(db, range(100), 1)
        db.compact()
        table = db.to_arrow().read_all()

    assert table.column("key")[99].as_py() == b"k0099"


def test_a_reader_of_a_closed_store_says_so(tmp_path):
    with lsm.open(tmp_path / "other") as db:
        fill(db, range(100_000), 1)
        reader = db.to_arrow()
        reader.read_next_batch()

    with pytest.raises(lsm.ClosedError):
        reader.read_all()


def test_everything_that_speaks_arrow_takes_a_store(db):
    fill(db, range(100), 1)

    assert pa.RecordBatchReader.from_stream(db).read_all().num_rows == 100
    assert pa.RecordBatchReader.from_stream(db.keyspace("other")).read_all().num_rows == 0


def test_blocks_large_enough_pass_without_a_copy(tmp_path):
    with lsm.open(tmp_path / "large", block_bytes=1024 * 1024) as db:
        db.update({b"%06d" % n: bytes(1000) for n in range(4000)})
        db.compact()
        before = pa.total_allocated_bytes()
        table = db.to_arrow().read_all()

        assert table.nbytes > 4_000_000
        assert pa.total_allocated_bytes() - before < 100_000


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("compression", ["none", "zlib"])
def test_random_histories_come_as_a_scan_gives_them(tmp_path, seed, mmap, compression):
    source = random.Random(seed)
    for number in range(5):
        options = {"block_bytes": source.choice([64, 1024]), "table_bytes_max": source.choice([512, 8192])}
        with lsm.open(
            tmp_path / str(number), background="manual", mmap=mmap, compression=compression, **options
        ) as db:
            for _ in range(source.choice([3, 300, 1500])):
                key = bytes(source.choices(range(4), k=source.randrange(5)))
                match source.choices(["put", "delete", "flush", "compact"], [70, 25, 2, 0.3])[0]:
                    case "put":
                        db.put(key, source.randbytes(source.randrange(40)), sync=False)
                    case "delete":
                        db.delete(key, sync=False)
                    case "flush":
                        db.flush()
                    case "compact":
                        db.compact()
            start, stop = (bytes(source.choices(range(4), k=3)) for _ in range(2))

            assert pairs(db.to_arrow()) == list(db.scan())
            assert pairs(db.to_arrow(start, stop)) == list(db.scan(start, stop))
