"""The explanation of a whole store: figures that add up and agree with what is counted elsewhere."""

import json
import random
from functools import partial
from pathlib import Path

import pytest

import lsm
from lsm.explain.census import take_census
from lsm.explain.facts import collect_facts
from tests.lsm.stores import open_memory
from tests.support.memfs import MemFS

SMALL = {
    "background": "manual",
    "memtable_bytes_max": 4096,
    "table_bytes_max": 8192,
    "block_bytes": 512,
    "level_ratio": 3,
    "log_retention_bytes": 0,
}
SHAPES = [
    {},
    {"policy": "tiered"},
    {"policy": "lazy"},
    {"hash_index": False, "bloom_sharing": "monkey"},
    {"hash_index": False, "bloom_bits_per_key": 0.0},
    {"compression": "zlib"},
    {"level_ratio": 10, "levels_max": 2},
]


def settle(db: lsm.DB) -> None:
    while db.step():
        pass


def overwritten(db: lsm.DB, seed: int, keys: int = 600, writes: int = 2400) -> lsm.DB:
    rng = random.Random(seed)
    for number in range(keys):
        db.put(b"user:%05d" % (number * 7919 % keys), b"v" * 40)
    for _ in range(writes):
        db.put(b"user:%05d" % rng.randrange(keys), rng.randbytes(40))
        settle(db)
    db.flush()
    settle(db)
    return db


@pytest.fixture(scope="module", params=SHAPES, ids=str)
def image(request) -> MemFS:
    fs = MemFS()
    overwritten(
        open_memory(fs, options={**SMALL, **request.param}), request.config.option.hypothesis_seed
    ).close()
    return fs


@pytest.fixture
def busy(image) -> lsm.DB:
    return open_memory(image, options={})


class TestFigures:
    def test_writing_is_what_the_manifest_has_counted(self, busy):
        writing, work = busy.explain(advice=False).writing, busy.stats().work

        assert writing.user_bytes == work.user_bytes
        assert sum(row.written_bytes for row in writing.rows) == (
            work.log_bytes + work.flush_bytes + work.compaction_bytes
        )
        assert writing.write_amp == pytest.approx(sum(row.write_amp for row in writing.rows))
        assert writing.tree_write_amp == work.tree_write_amp
        assert {row.name for row in writing.rows} == {
            "log",
            "flush",
            *(f"into L{level.level}" for level in work.levels),
        }
        assert all(row.why for row in writing.rows)
        assert writing.predicted is not None and writing.predicted_tree > 1

    def test_space_is_all_there_is(self, busy):
        space = busy.explain(advice=False).space
        fs = busy._state.fs
        on_disk = sum(
            fs.disk_bytes(name) if name.endswith(".log") else fs.size_of(name) for name in fs.list()
        )

        assert sum(part.size_bytes for part in space.parts) == space.total_bytes == on_disk
        assert space.live_bytes == sum(len(key) + len(value) for key, value in busy.items())
        assert space.space_amp == pytest.approx(busy.stats().table_bytes / space.live_bytes)

    def test_levels_are_those_of_the_tables(self, busy):
        levels, tables = busy.explain(advice=False).levels, busy.tables()

        assert sum(level.tables for level in levels) == len(tables)
        assert sum(level.live for level in levels) == len(busy)
        for level in levels:
            assert level.entries == level.live + level.overwritten + level.tombstones
            assert level.why

    def test_reads_are_measured_on_keys_of_the_store(self, busy):
        reads = busy.explain(advice=False).reads

        assert reads.hits.lookups > 0 and reads.misses.lookups > 0
        assert 1 <= reads.hits.blocks <= reads.runs
        assert reads.runs == sum(1 for run in busy.explain_scan().runs if run.level is not None)
        shares = [level.found_share for level in reads.levels]
        assert sum(shares) == pytest.approx(1)
        if busy.options.hash_index:
            assert reads.hits.filters == 0 and not reads.asks_filters
        elif busy.options.bloom_bits_per_key:
            assert reads.hits.filters == reads.hits.tables and reads.asks_filters
        else:
            # Behind the last key of a table of L0 there is no block to read.
            assert 0.8 * reads.misses.tables < reads.misses.blocks <= reads.misses.tables

    def test_it_is_plain_values_and_a_page_of_text(self, busy):
        explained = busy.explain(advice=False)

        assert json.loads(json.dumps(explained.to_json()))["path"] == busy.path
        text = str(explained)
        assert "Write amplification" in text and "Space amplification" in text and "Read cost" in text
        assert max(map(len, text.splitlines())) <= 110
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize(
    "shape", [{}, {"policy": "tiered"}, {"policy": "lazy", "hash_index": False}], ids=str
)
def test_other_settings_are_tried(shape, seed):
    db = overwritten(open_memory(options={**SMALL, **shape}), seed)

    explained = db.explain()
    advice, text = explained.advice, str(explained)

    assert advice.how == "simulated"
    assert advice.present["write_amp"] > 1
    for suggestion in [*([advice.best] if advice.best else []), *advice.others]:
        changed = db.options.with_changes({suggestion.option: suggestion.value})
        assert changed != db.options
        assert suggestion.text in text


def test_filters_let_pass_about_what_the_formula_says():
    db = open_memory(options={"background": "manual", "hash_index": False, "bloom_bits_per_key": 6.0})
    db.update({b"%06d" % number: b"" for number in range(8000)})
    db.flush()

    (level,) = db.explain(advice=False).reads.levels

    assert level.probes > 7000
    assert level.predicted == pytest.approx(0.056, abs=0.002)
    assert level.false_positive_rate == pytest.approx(level.predicted, rel=0.2)


class TestStoresOfAllKinds:
    def test_empty(self):
        explained = open_memory().explain()

        assert explained.writing.write_amp is None
        assert explained.space.space_amp is None
        assert explained.advice is None
        assert "Nothing was written yet" in str(explained)

    def test_only_in_memory(self):
        db = open_memory()
        db[b"k"] = b"v"

        assert "1 key in memory" in str(db.explain())

    def test_flushed_once(self):
        db = open_memory()
        db.update({b"%d" % number: b"v" for number in range(100)})
        db.flush()

        text = str(db.explain(advice=False))

        assert "Nothing was compacted yet" in text
        assert "merged down once there are 4 tables" in text

    def test_everything_deleted(self):
        db = open_memory(options=SMALL)
        db.update({b"%03d" % number: b"v" * 40 for number in range(300)})
        db.flush()
        for number in range(300):
            db.delete(b"%03d" % number)
        db.flush()

        explained = db.explain()

        assert explained.space.live_bytes == 0 and explained.space.space_amp is None
        assert explained.advice is None
        assert "lsm compact" in str(explained)
        db.compact()
        assert db.explain().levels == ()
        assert "no live key" in str(db.explain())

    def test_several_keyspaces(self, seed):
        db = overwritten(open_memory(options=SMALL), seed, writes=200)
        db.keyspace("odd\x1b[31m").update({b"\x1b%d" % number: b"x" for number in range(50)})
        db.flush()

        explained = db.explain()

        assert {level.keyspace for level in explained.levels} == {"default", "odd\x1b[31m"}
        text = str(explained)
        assert "odd\\x1b[31m" in text and "\x1b" not in text
        assert explained.writing.predicted is not None

    def test_adopted_tables(self):
        db = open_memory()
        db.bulk_load([(b"%05d" % number, b"v" * 20) for number in range(2000)])

        explained = db.explain(advice=False)

        assert explained.space.live_bytes == 2000 * 25
        assert explained.writing.write_amp is None or explained.writing.write_amp > 0
        assert str(explained)

    def test_tables_of_before_this_was_counted(self, seed):
        db = overwritten(open_memory(options=SMALL), seed, writes=100)
        facts = collect_facts(db._state)
        # As a manifest of an earlier version has it: tables, and no word of what they have cost.
        db._state.manifest.version = type(db._state.version)(
            **{
                **{name: getattr(db._state.version, name) for name in db._state.version.__dataclass_fields__},
                "work": type(facts.work)(),
            }
        )

        explained = db.explain()

        assert explained.writing.write_amp is None
        assert "before this was counted" in str(explained)

    def test_keys_in_rising_order(self):
        db = open_memory(options=SMALL)
        for number in range(1500):
            db.put(b"%06d" % number, b"v" * 40)
            settle(db)

        explained = db.explain()

        assert explained.writing.tree_write_amp == 1
        assert explained.writing.predicted is None
        assert "rising order" in str(explained)

    def test_a_background_that_came_late(self, seed):
        rng = random.Random(seed)
        db = open_memory(options={**SMALL, "l0_tables_slow": 90, "l0_tables_stop": 100})
        for _ in range(3):
            for _ in range(1000):
                db.put(b"user:%05d" % rng.randrange(400), rng.randbytes(40))
            db.flush()
            settle(db)

        explained = db.explain(advice=False)

        assert explained.writing.tree_write_amp < explained.writing.predicted_tree
        assert "tables at a time instead of 4" in str(explained)

    def test_less_than_a_memtable(self):
        db = open_memory()
        db.update({b"%d" % number: b"v" for number in range(100)})
        db.flush()

        explained = db.explain()

        assert (explained.advice.how, explained.advice.best) == ("too small", None)
        assert "nothing at this size" in str(explained)

    @pytest.mark.parametrize(
        "pairs",
        [
            {b"": b""},
            {b"": b"", b"a": b""},
            {b"\xff" * 65536: b""},
            {b"a": b"v" * 2**20},
        ],
        ids=["nothing", "almost nothing", "a long key", "a long value"],
    )
    def test_odd_sizes(self, pairs):
        db = open_memory(options={"background": "manual", "memtable_bytes_max": 1, "block_bytes": 64})
        db.update(pairs)
        db.flush()

        explained = db.explain()

        assert explained.space.live_bytes == sum(len(key) + len(value) for key, value in pairs.items())
        assert max(map(len, str(explained).splitlines())) <= 110

    def test_a_burst_of_deletions_is_no_steady_state(self, seed):
        db = overwritten(open_memory(options=SMALL), seed, writes=300)
        for number in range(0, 600, 2):
            db.delete(b"user:%05d" % number)
        db.flush()

        advice = db.explain().advice

        assert 1 < advice.present["write_amp"] < 50
        assert advice.present["space_amp"] < 50

    def test_only_deletions(self):
        db = open_memory()
        for number in range(9):
            db.delete(b"%d" % number)
        db.flush()

        explained = db.explain()

        assert (explained.space.space_amp, explained.reads.hits, explained.advice) == (None, None, None)
        assert explained.levels[0].tombstones == 9

    def test_many_keyspaces(self):
        db = open_memory()
        for number in range(30):
            db.keyspace(f"space {number}")[b"k"] = b"v"
        db.flush()

        text = str(db.explain())

        assert "and 6 levels more" in text

    def test_a_sample_is_called_one(self, seed, monkeypatch):
        db = overwritten(open_memory(options=SMALL), seed, writes=500)
        exact = db.explain(advice=False)
        monkeypatch.setattr("lsm.explain.facts.take_census", partial(take_census, entries_max=200))

        sampled = db.explain(advice=False)

        assert sampled.space.is_sample and not exact.space.is_sample
        assert sampled.space.live_bytes == pytest.approx(exact.space.live_bytes, rel=0.15)
        assert sum(part.size_bytes for part in sampled.space.parts) == pytest.approx(
            sampled.space.total_bytes, abs=20
        )
        assert "estimated from a sample" in str(sampled)

    def test_beside_a_writer_and_closed(self, tmp_path, seed):
        path = tmp_path / "store"
        with lsm.open(path, **SMALL, sync="os") as db:
            overwritten(db, seed, keys=100, writes=200)
            db.put(b"new", b"v")
            with lsm.open(path, "r") as reader:
                beside = reader.explain(advice=False)
            here = db.explain(advice=False)
            assert (beside.writing, beside.levels) == (here.writing, here.levels)
        with lsm.open(path, "r") as reader:
            assert reader.explain(advice=False).levels == here.levels

    def test_files_of_others_are_counted(self, tmp_path):
        path: Path = tmp_path / "store"
        with lsm.open(path, background="manual") as db:
            before = db.explain().space
            (path / "notes\x1b.txt").write_bytes(b"x" * 1000)
            (path / "999999.sst").write_bytes(b"y" * 500)
            (path / "inbox").mkdir(exist_ok=True)
            (path / "inbox" / "thing").write_bytes(b"z" * 70)

            after = db.explain().space

        sizes = {part.name: part.size_bytes for part in after.parts}
        assert sizes["other"] == {part.name: part.size_bytes for part in before.parts}["other"] + 1000
        assert (sizes["waiting"], sizes["pins, inbox"]) == (500, 70)
        assert sum(sizes.values()) == after.total_bytes

    def test_a_store_with_settings_that_were_others_before(self, seed):
        fs = MemFS()
        overwritten(open_memory(fs, options=SMALL), seed, writes=300).close()
        db = open_memory(fs, options={**SMALL, "policy": "tiered", "level_ratio": 8, "hash_index": False})

        explained = db.explain()

        assert explained.reads.hits.blocks >= 1
        assert "policy tiered" in str(explained)


def test_a_closed_store_explains_nothing():
    db = open_memory()
    db.close()

    with pytest.raises(lsm.ClosedError):
        db.explain()


def test_damage_is_named(tmp_path):
    path = tmp_path / "store"
    with lsm.open(path, background="manual") as db:
        db.update({b"%03d" % number: b"v" * 40 for number in range(300)})
        db.flush()
    table = next(path.glob("*.sst"))
    data = bytearray(table.read_bytes())
    data[100] ^= 1
    table.chmod(0o600)
    table.write_bytes(data)

    with lsm.open(path, "r") as db, pytest.raises(lsm.TableCorrupt, match=table.name):
        db.explain()


def test_a_damaged_filter_is_named_though_only_the_hash_index_is_asked(tmp_path):
    path = tmp_path / "store"
    with lsm.open(path, background="manual") as db:
        db.update({b"%03d" % number: b"v" for number in range(300)})
        db.flush()
    table = next(path.glob("*.sst"))
    data = bytearray(table.read_bytes())
    with lsm.open(path, "r") as db:
        offset = db._space.view.tree.l0[0].table()._footer.bloom_filter.offset
    data[offset] ^= 1
    table.chmod(0o600)
    table.write_bytes(data)

    with lsm.open(path, "r") as db:
        assert db.get(b"007") == b"v"
        with pytest.raises(lsm.TableCorrupt, match="bloom filter"):
            db.explain_get(b"007")


def test_it_reads_and_changes_nothing(seed):
    db = overwritten(open_memory(options=SMALL), seed, writes=200)
    before = db.stats()

    db.explain()

    after = db.stats()
    assert (after.write, after.work, after.snapshots) == (before.write, before.work, before.snapshots)
