"""Every engine does what the workloads ask of it; the peers that are not installed are named."""

import sys

import numpy as np
import pytest

from bench.compare.loops import put_by_threads, put_each
from bench.compare.settings import CompareSettings
from bench.data import cut
from bench.peers.engines import PEERS, UnknownName, find_peers, split_names
from tests.bench.stores import INSTALLED, tiny_data

engines = pytest.mark.parametrize("engine", INSTALLED, ids=lambda engine: engine.name)
SETTINGS = CompareSettings(keys=300, value_bytes=20).store


@pytest.fixture
def store(engine, tmp_path):
    opened = engine.open(tmp_path, SETTINGS, False)
    yield opened
    opened.close()


@engines
def test_what_was_put_is_found_and_nothing_else(store, seed):
    data = tiny_data(seed)
    put_each(store, data.pairs(data.shuffled(1)))

    get = store.getter()

    assert [get(data.key(number)) for number in range(5)] == [data.value(number) for number in range(5)]
    assert get(b"nothing of the kind") is None


@engines
@pytest.mark.parametrize("form", ["batch", "dict"])
def test_a_batch_is_written_in_both_forms(store, form, seed):
    data = tiny_data(seed)
    keys, values = data.pairs(data.shuffled(1))
    pairs = dict(zip(keys, values, strict=True))

    if form == "batch":
        store.write_batch((keys, values))
    else:
        store.write_dict(pairs)

    assert dict(store.scan()) == pairs


@engines
def test_a_scan_goes_by_key_from_the_start_or_from_a_key_on(store, seed):
    data = tiny_data(seed)
    store.write_batch(data.pairs(data.shuffled(1)))
    keys = data.keys(np.arange(data.count))

    assert [key for key, _ in store.scan()] == keys
    assert [key for key, _ in store.scan_from(keys[100], 7)] == keys[100:107]
    assert [key for key, _ in store.scan_from(data.missing(np.array([10]))[0], 2)] == keys[11:13]
    assert list(store.scan_from(b"z", 5)) == []


@engines
def test_a_later_write_wins_before_and_after_a_compaction(store, seed):
    data = tiny_data(seed)
    put_each(store, data.pairs(data.shuffled(1)))
    assert store.getter()(data.key(9)) == data.value(9)  # a reader that holds the old state must let it go
    put_each(store, data.pairs(np.array([9]), version=1))

    assert store.getter()(data.key(9)) == data.value(9, 1)
    store.compact()
    assert store.getter()(data.key(9)) == data.value(9, 1)
    assert sum(1 for _ in store.scan()) == data.count


@engines
def test_threads_put_durably_side_by_side(engine, tmp_path, seed):
    data = tiny_data(seed)
    pairs = data.pairs(data.shuffled(1)[:40])
    store = engine.open(tmp_path, SETTINGS, True)
    try:
        assert put_by_threads(store, cut(pairs, 10)) == 40
        assert dict(store.scan()) == dict(zip(*pairs, strict=True))
    finally:
        store.close()


@engines
def test_an_engine_says_what_it_is(engine):
    assert engine.name and engine.version and engine.setup


def test_sqlite_is_always_there():
    assert "sqlite3" in {engine.name for engine in INSTALLED}


def test_a_peer_that_is_not_installed_is_named_and_the_others_go_on(monkeypatch):
    monkeypatch.setitem(sys.modules, "plyvel", None)
    monkeypatch.delitem(sys.modules, "bench.peers.peer_plyvel", raising=False)

    found, missing = find_peers(["plyvel", "sqlite3"])

    assert [engine.name for engine in found] == ["sqlite3"]
    assert list(missing) == ["plyvel"] and "not installed" in missing["plyvel"]


def test_an_unknown_peer_gets_the_nearest_name():
    with pytest.raises(UnknownName, match="did you mean rocksdict"):
        find_peers(["rocksdikt"])
    with pytest.raises(UnknownName, match=f"known are {', '.join(PEERS)}"):
        find_peers(["oracle"])


def test_names_are_split_at_commas_each_once():
    assert split_names(" lmdb, sqlite3,,lmdb ") == ["lmdb", "sqlite3"]
    assert split_names("") == []
