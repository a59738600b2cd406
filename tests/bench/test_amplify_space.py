"""Where the bytes of a store are."""

import os

import lsm
from bench.amplify.course import Course
from bench.amplify.disk import disk_use
from bench.amplify.space import Space, delete_everything, measure_space
from bench.counting.table_peak import TablePeak
from tests.bench.stores import tiny_data


def filled(path, data, rounds=2):
    db = lsm.open(path, "n", sync="os", background="manual", memtable_bytes_max=8 * 1024)
    for version in range(rounds):
        for key, value in zip(*data.pairs(data.shuffled(version), version), strict=True):
            db.put(key, value)
    db.flush()
    return db


def test_every_byte_is_somewhere(tmp_path, seed):
    data = tiny_data(seed)
    with filled(tmp_path / "db", data) as db:
        db.delete(data.key(0))
        db.flush()

        space = measure_space(db, key_bytes=16, course=Course())
        tables = db.stats().table_bytes

    assert space.live == 299 * 36
    assert space.tombstones == 16 and space.overwritten > 0 and space.format > 0
    assert space.tables == tables and space.temporary == 0
    assert space.peak == space.mean == tables  # never less than what is there
    assert space.to_json()["total"] == space.total
    assert space.figures()["space_amp"] == tables / space.live


def test_a_table_that_no_version_has_is_temporary(tmp_path, seed):
    with filled(tmp_path / "db", tiny_data(seed)) as db:
        (tmp_path / "db" / "999999.sst").write_bytes(bytes(777))

        assert measure_space(db, key_bytes=16, course=Course()).temporary == 777
        os.unlink(tmp_path / "db" / "999999.sst")


def test_an_empty_store_has_no_live_bytes(tmp_path):
    with lsm.open(tmp_path / "db", "n") as db:
        space = measure_space(db, key_bytes=16, course=Course())

    assert space.live == space.tables == 0 and space.figures()["space_amp"] == 0


def test_after_deleting_everything_hardly_anything_is_left(tmp_path, seed):
    with filled(tmp_path / "db", tiny_data(seed, 3000), rounds=1) as db:
        delete_everything(db)

        assert list(db) == [] and db.stats().table_bytes == 0
    assert disk_use(tmp_path / "db").allocated_bytes <= 64 * 1024


def test_a_file_that_goes_while_it_is_looked_at_does_not_count(tmp_path, monkeypatch):
    (tmp_path / "000001.sst").write_bytes(bytes(10))
    stat = os.stat

    def gone(path, **options):
        if str(path).endswith(".log"):
            raise FileNotFoundError(path)
        return stat(path, **options)

    (tmp_path / "000002.log").write_bytes(bytes(10))
    monkeypatch.setattr(os, "stat", gone)

    use = disk_use(tmp_path)

    assert (use.table_bytes, use.log_bytes) == (10, 0)


def test_the_peak_is_before_inputs_go(tmp_path):
    def job(kind, read, written):
        return lsm.JobRecord(
            number=1,
            kind=kind,
            started=0.0,
            seconds=0.0,
            keyspace=0,
            from_level=0,
            to_level=1,
            read_bytes=read,
            written_bytes=written,
            entries_in=0,
            entries_out=0,
        )

    peak = TablePeak()
    peak.add([job("flush", 500, 100), job("flush", 500, 100), job("move", 0, 0), job("merge", 200, 150)])

    assert (peak.now_bytes, peak.peak_bytes) == (150, 350)
    peak.restart()
    assert peak.peak_bytes == 150


def test_parts_are_shown_as_they_are():
    space = Space(
        live=100, overwritten=10, tombstones=0, format=5, log=50, temporary=0, manifest=3, mean=120, peak=200
    )

    assert space.figures() == {
        "space_amp": 1.15,
        "space_amp_mean": 1.2,
        "space_amp_with_log": 1.65,  # without the manifest, as in `run`
        "space_amp_peak": 2.0,
    }
