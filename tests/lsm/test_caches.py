"""Open tables and decoded blocks, inside their limits."""

import gc

import pytest

import lsm
from lsm.caches import BlockCache, TableCache
from lsm.filenames import table_name
from tests.lsm.stores import MANUAL, open_memory
from tests.support.memfs import MemFS

BLOCK = object()


class TestBlockCache:
    def test_what_was_put_is_got(self):
        cache = BlockCache(100)
        cache.put((1, 2), BLOCK, 10)

        assert cache.get((1, 2)) is BLOCK
        assert cache.get((2, 1)) is None
        assert (cache.hits, cache.misses, cache.used_bytes) == (1, 1, 10)

    def test_the_least_recently_used_leaves_first(self):
        cache = BlockCache(30)
        for number in range(3):
            cache.put((1, number), BLOCK, 10)
        cache.get((1, 0))
        cache.put((1, 3), BLOCK, 10)

        assert [cache.get((1, number)) is not None for number in range(4)] == [True, False, True, True]

    def test_it_never_holds_more_than_it_may(self):
        cache = BlockCache(100)
        for number in range(1000):
            cache.put((number % 7, number), BLOCK, number % 60)
            assert cache.used_bytes <= 100

    def test_a_block_that_is_put_twice_counts_once(self):
        cache = BlockCache(100)
        cache.put((1, 1), BLOCK, 10)
        cache.put((1, 1), BLOCK, 30)

        assert cache.used_bytes == 30

    def test_a_block_larger_than_the_cache_is_not_kept(self):
        cache = BlockCache(100)
        cache.put((1, 1), BLOCK, 50)
        cache.put((1, 2), BLOCK, 101)

        assert (cache.get((1, 1)) is BLOCK, cache.get((1, 2))) == (True, None)


def flushed_store(tables: int = 4) -> tuple[MemFS, lsm.DB]:
    """Return a store with several tables in L0 that overlap."""
    fs = MemFS()
    patient = {"l0_tables_max": 100, "l0_tables_slow": 200, "l0_tables_stop": 300}
    db = open_memory(fs, options={**MANUAL, **patient})
    for number in range(tables):
        db.update({b"%d-%d" % (key, number): b"x" * 50 for key in range(20)})
        db.flush()
    return fs, db


def cache_of(fs: MemFS, db: lsm.DB, **limits: int) -> TableCache:
    settings = {"capacity_bytes": 1 << 30, "tables_max": 1000} | limits
    return TableCache(
        fs,
        store_id=db._state.version.store_id,
        block_cache=BlockCache(0),
        use_map=True,
        verify=True,
        **settings,
    )


class TestTableCache:
    def test_a_table_has_one_handle(self):
        fs, db = flushed_store()
        cache = cache_of(fs, db)
        (meta, *_) = db._state.version.tables().values()

        assert cache.handle(meta) is cache.handle(meta)

    def test_a_handle_that_nobody_has_is_not_held(self):
        fs, db = flushed_store()
        cache = cache_of(fs, db)
        (meta, *_) = db._state.version.tables().values()
        gc.disable()
        try:
            handle = cache.handle(meta)
            held = cache.is_held(meta.number)
            del handle

            assert held
            assert not cache.is_held(meta.number), "its file could be removed, but is not"
        finally:
            gc.enable()

    @pytest.mark.parametrize("limits", [{"capacity_bytes": 600}, {"tables_max": 2}], ids=["bytes", "tables"])
    def test_too_many_open_tables_are_closed(self, limits):
        fs, db = flushed_store()
        cache = cache_of(fs, db, **limits)
        handles = [cache.handle(meta) for meta in db._state.version.tables().values()]
        for handle in handles:
            handle.table()

        still_open = [handle.opened is not None for handle in handles]
        assert still_open[-1]
        assert sum(still_open) <= 2
        assert all(handle.table().block_count for handle in handles), "a closed one is opened again"

    def test_a_missing_table_is_named(self):
        fs, db = flushed_store(1)
        (meta,) = db._state.version.tables().values()
        fs.unlink(table_name(meta.number))

        with pytest.raises(lsm.TableCorrupt, match=r"\.sst: table is missing"):
            cache_of(fs, db).handle(meta).table()

    def test_a_table_of_another_store_is_refused(self):
        fs, db = flushed_store(1)
        (meta,) = db._state.version.tables().values()
        cache = cache_of(fs, db)
        cache._store_id = bytes(16)

        with pytest.raises(lsm.TableCorrupt, match="another store"):
            cache.handle(meta).table()


def test_obsolete_tables_go_at_once_not_when_the_garbage_collector_likes():
    gc.disable()
    try:
        fs, db = flushed_store()
        db.compact()

        tables = [name for name in fs.list() if name.endswith(".sst")]
        assert len(tables) == len(db._state.version.tables())
    finally:
        gc.enable()


def test_a_table_that_a_scan_still_reads_stays_until_the_scan_ends():
    fs, db = flushed_store()
    before = {name for name in fs.list() if name.endswith(".sst")}
    scan = db.scan()
    first = next(scan)
    db.compact()
    during = set(fs.list())
    rest = list(scan)
    del scan
    db.step()

    assert before <= during
    assert len([first, *rest]) == 80
    assert not before & set(fs.list())


def test_the_block_cache_stays_inside_the_memory_limit():
    fs, db = flushed_store(6)
    db.close()
    db = open_memory(fs, options={"memory_limit": "1MiB", "mmap": False, "compression": "zlib"})
    db.update({b"big%d" % number: bytes(3000) for number in range(1000)})
    db.flush()
    assert len(db) == 6 * 20 + 1000
    cache = db.stats().cache

    assert 0 < cache.block_bytes <= cache.memory_limit
