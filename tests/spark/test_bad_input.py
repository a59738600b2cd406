"""Whatever is wrong reaches the user as one line that says what."""

import re

import pytest

import lsm


def complaint(error: BaseException) -> str:
    """The line with our words; there must be no traceback around it."""
    text = str(error)
    assert "Traceback" not in text, text
    (line,) = [line for line in text.splitlines() if "lsm." in line]
    return line


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"startkye": "a"}, "unknown option startkye; did you mean startKey?"),
        ({"nonsense": "a"}, "unknown option nonsense; known are path, "),
        ({"columns": "key,vlaue"}, "columns: no column 'vlaue'"),
        ({"startKey": "hex:0g"}, "startKey: after hex: come pairs of hexadecimal digits"),
        ({"numPartitions": "-1"}, "numPartitions must be a whole number from 1 to 100,000; not '-1'"),
        ({"targetPartitionBytes": "much"}, 'targetPartitionBytes must be bytes or text such as "64MiB"'),
        ({"verifyChecksums": "maybe"}, "verifyChecksums must be true or false; not 'maybe'"),
        ({"valueFormat": "strng"}, "did you mean string?"),
        ({"keyspace": "orders"}, "no keyspace 'orders'"),
        ({"keyspace": "lsm:consumers"}, "reserved"),
        ({"version": "12345"}, "sequence number 12345 is outside the retained log"),
        ({"version": "1", "snapshot": "x"}, "give one of them"),
        ({"valueFormat": "json"}, "valueFormat=json needs the fields"),
    ],
)
def test_wrong_options_are_refused_at_the_load(load, path, db, options, expected):
    with pytest.raises(Exception, match=r"lsm\.") as caught:
        load(path, **options)

    assert expected in complaint(caught.value)


def test_a_path_without_a_store_is_refused_at_the_load(load, tmp_path):
    (tmp_path / "file").write_text("no store")

    for name, expected in [
        ("missing", "no store at"),
        ("file", "is not a directory"),
        ("", "holds other files"),
    ]:
        with pytest.raises(Exception, match=r"lsm\.") as caught:
            load(tmp_path / name)
        assert expected in complaint(caught.value)


def test_a_load_without_a_path_is_refused(spark):
    with pytest.raises(Exception, match=r"no path; say \.load"):
        spark.read.format("lsm").load()


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (
            "key string",
            "the schema says key is string, but it is binary by keyFormat=binary; say keyFormat=string",
        ),
        ("key binary, value bigint", "say valueFormat=long"),
        ("key binary, _seq string", "the schema says _seq is string, but it is bigint"),
        ("key binary, price double", "the schema has a column 'price', which a store has not"),
    ],
)
def test_a_foreign_schema_is_refused_before_anything_is_read(load, path, db, schema, expected):
    with pytest.raises(Exception, match=r"lsm\.") as caught:
        load(path, schema=schema).collect()

    assert expected in complaint(caught.value)


def test_a_damaged_table_is_named_with_the_offset(load, path):
    with lsm.open(path) as db:
        db.update({b"%05d" % n: b"x" * 100 for n in range(5000)})
        db.compact()
    (table,) = path.glob("*.sst")
    data = bytearray(table.read_bytes())
    data[100_000] ^= 1
    table.write_bytes(data)

    with pytest.raises(Exception, match=r"lsm\.") as caught:
        load(path).count()

    assert re.search(rf"{table}, byte \d{{5}}: block checksum does not match", complaint(caught.value))
    assert load(path, verifyChecksums="false", columns="key").count() == 5000


def test_a_store_of_newer_software_is_refused(load, path, db):
    db.close()
    (manifest,) = path.glob("MANIFEST-*")
    data = bytearray(manifest.read_bytes())
    data[8] = 99  # the version of the format, which the header's checksum covers
    manifest.write_bytes(data)

    with pytest.raises(Exception, match=r"lsm\.") as caught:
        load(path)

    assert "MANIFEST" in complaint(caught.value)


def test_a_lost_snapshot_says_what_to_do(load, path, db):
    frame = load(path)
    frame.count()
    for pin in (path / "pins").iterdir():
        for file in pin.iterdir():
            file.unlink()
        pin.rmdir()

    with pytest.raises(Exception, match=r"lsm\.") as caught:
        frame.count()

    assert "load() again" in complaint(caught.value)
