"""A store is a mapping: what CPython asks of its own mappings, what shelve asks, and what the views do."""

import ast
import shelve
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping

import pytest
from test import mapping_tests

import lsm
from tests.lsm.stores import TINY, open_memory


def encode(thing: object) -> bytes:
    return repr(thing).encode()


def decode(data: bytes) -> object:
    return ast.literal_eval(data.decode())


class EncodedView:
    """A view of a store with everything in it decoded."""

    def __init__(self, view: Iterable, decode_one: Callable) -> None:
        self.view = view
        self.decode_one = decode_one

    def __iter__(self) -> Iterator:
        return map(self.decode_one, self.view)

    def __contains__(self, thing: object) -> bool:
        return encode(thing) in self.view

    def __len__(self) -> int:
        return len(self.view)


class EncodedSource:
    """What is given to update(), encoded, and still no more than it was: keys() and a lookup."""

    def __init__(self, source: Mapping) -> None:
        self.source = source

    def keys(self) -> Iterator[bytes]:
        return map(encode, self.source.keys())

    def __getitem__(self, key: bytes) -> bytes:
        return encode(self.source[decode(key)])


class Encoded:
    """A store that takes any literal: each method is the store's own, between an encode and a decode."""

    def __init__(self, **pairs: object) -> None:
        self.db = open_memory()
        self.update(**pairs)

    def __getitem__(self, key: object) -> object:
        return decode(self.db[encode(key)])

    def __setitem__(self, key: object, value: object) -> None:
        self.db[encode(key)] = encode(value)

    def __delitem__(self, key: object) -> None:
        del self.db[encode(key)]

    def __contains__(self, key: object) -> bool:
        return encode(key) in self.db

    def __iter__(self) -> Iterator:
        return map(decode, self.db)

    def __len__(self) -> int:
        return len(self.db)

    def __bool__(self) -> bool:
        return bool(self.db)

    def __eq__(self, other: object) -> bool:
        pairs = other.items() if isinstance(other, dict | Encoded) else ()
        return self.db == {encode(key): encode(value) for key, value in pairs}

    __hash__ = None

    def keys(self) -> EncodedView:
        return EncodedView(self.db.keys(), decode)

    def values(self) -> EncodedView:
        return EncodedView(self.db.values(), decode)

    def items(self) -> EncodedView:
        return EncodedView(self.db.items(), lambda pair: tuple(map(decode, pair)))

    def get(self, key: object, default: object = None) -> object:
        found = self.db.get(encode(key), default)
        return decode(found) if isinstance(found, bytes) else found

    def pop(self, key: object, *default: object) -> object:
        found = self.db.pop(encode(key), *default)
        return decode(found) if isinstance(found, bytes) else found

    def popitem(self) -> tuple:
        return tuple(map(decode, self.db.popitem()))

    def setdefault(self, key: object, default: object = None) -> object:
        return decode(self.db.setdefault(encode(key), encode(default)))

    def clear(self) -> None:
        self.db.clear()

    def update(self, other: object = (), **pairs: object) -> None:
        if hasattr(other, "keys"):
            self.db.update(EncodedSource(other))
        else:
            self.db.update(tuple(map(encode, pair)) for pair in other)
        # Keys of a store are bytes, so it has no keyword arguments of its own.
        self.db.update({encode(key): encode(value) for key, value in pairs.items()})


class TestBasicMapping(mapping_tests.BasicTestMappingProtocol):
    """CPython's suite for everything that calls itself a mapping, whole."""

    type2test = Encoded


class TestMapping(mapping_tests.TestMappingProtocol):
    """CPython's suite for mappings that are more like dict, but for what only objects in memory can do."""

    type2test = Encoded

    # A store lies at a path: there is none to put a copy or a mapping of given keys at.  checkpoint() copies.
    test_fromkeys = None
    test_copy = None

    def test_setdefault(self) -> None:
        # The suite appends to the list it gets back.  A store hands out values, not references to them.
        mapping_tests.BasicTestMappingProtocol.test_setdefault(self)
        mapping = self._empty_mapping()
        assert mapping.setdefault("key0") is None
        mapping.setdefault("key0", [])
        assert mapping.setdefault("key0") is None
        assert mapping.setdefault("key", [3]) == [3]
        assert mapping.setdefault("key", [4]) == [3]

    def test_popitem(self) -> None:
        # As in the suite, without the half that needs copy(), and up to 256 entries instead of 2,048:
        # each popitem() is a scan.
        mapping_tests.BasicTestMappingProtocol.test_popitem(self)
        for size in (1, 2, 16, 256):
            first, second = self._empty_mapping(), self._empty_mapping()
            for number in range(size):
                first[repr(number)] = number
                second[repr(number)] = number
            for _ in range(size):
                key, value = first.popitem()
                assert value == int(key)
                assert second.popitem() == (key, value)
            assert not first
            assert not second


def test_a_store_a_keyspace_and_a_snapshot_are_mappings():
    with open_memory() as db, db.snapshot() as snapshot:
        assert isinstance(db, MutableMapping)
        assert isinstance(db.keyspace("other"), MutableMapping)
        assert isinstance(snapshot, Mapping)
        assert not isinstance(snapshot, MutableMapping)


class TestShelve:
    """shelve.Shelf puts pickles into any mapping over bytes; here it meets a real directory."""

    def test_a_shelf_keeps_objects_over_close_and_reopening(self, tmp_path):
        things = {"list": [1, 2, {"three": 4.0}], "text": "ü", "none": None, "": b"empty key"}
        with shelve.Shelf(lsm.open(tmp_path / "shelf", background="manual")) as shelf:
            shelf.update(things)
            del shelf["text"]
            shelf["text"] = "second"
        with shelve.Shelf(lsm.open(tmp_path / "shelf", background="manual")) as shelf:
            assert dict(shelf) == things | {"text": "second"}
            assert list(shelf) == sorted(things)
            assert "list" in shelf
            assert "missing" not in shelf
            assert shelf.get("missing", 5) == 5
            assert len(shelf) == 4
            with pytest.raises(KeyError):
                shelf["missing"]

    def test_close_writes_back_syncs_and_closes_the_store(self, tmp_path):
        db = lsm.open(tmp_path / "shelf", background="manual", sync="os")
        shelf = shelve.Shelf(db, writeback=True)
        shelf["list"] = []
        shelf["list"].append(1)
        before = db.stats().write.syncs
        shelf.sync()
        assert db.stats().write.syncs["log"] > before.get("log", 0)
        shelf["list"].append(2)
        shelf.close()
        with pytest.raises(lsm.ClosedError):
            db.get(b"list")
        with pytest.raises(ValueError, match="closed shelf"):
            shelf["list"]
        with shelve.Shelf(lsm.open(tmp_path / "shelf", "w")) as shelf:
            assert shelf["list"] == [1, 2]

    def test_a_shelf_over_a_store_that_is_only_read_can_be_closed(self, tmp_path):
        with shelve.Shelf(lsm.open(tmp_path / "shelf", background="manual")) as shelf:
            shelf["a"] = 1
        with lsm.open(tmp_path / "shelf", "r") as db, shelve.Shelf(db) as shelf:
            assert shelf["a"] == 1

    def test_a_keyspace_can_be_a_shelf_of_its_own(self):
        with open_memory() as db:
            shelf = shelve.Shelf(db.keyspace("shelf"))
            shelf["a"] = {"b": 1}
            shelf.close()
            assert not db
            assert shelve.Shelf(db.keyspace("shelf"))["a"] == {"b": 1}


PAIRS = {b"": b"empty", b"a": b"1", b"a\x00": b"2", b"b": b"", b"\xff\xff": b"3"}


@pytest.fixture(params=["memory", "tables", "both"])
def filled(request: pytest.FixtureRequest) -> lsm.DB:
    """A store with PAIRS in memory, in tables, or spread over both with deleted keys between them."""
    db = open_memory(options=TINY)
    if request.param == "memory":
        db.update(PAIRS)
    elif request.param == "tables":
        db.update(PAIRS)
        db.compact()
    else:
        db.update({**PAIRS, b"a": b"old", b"gone": b"x"})
        db.flush()
        db.update({b"a": b"1", b"also gone": b"y"})
        db.flush()
        del db[b"gone"], db[b"also gone"]
    return db


class TestViews:
    def test_views_are_in_key_order_both_ways(self, filled):
        ordered = sorted(PAIRS)
        assert list(filled) == list(filled.keys()) == ordered
        assert list(filled.values()) == [PAIRS[key] for key in ordered]
        assert list(filled.items()) == [(key, PAIRS[key]) for key in ordered]
        assert list(reversed(filled)) == list(reversed(filled.keys())) == ordered[::-1]
        assert list(reversed(filled.values())) == [PAIRS[key] for key in ordered[::-1]]
        assert list(reversed(filled.items())) == [(key, PAIRS[key]) for key in ordered[::-1]]

    def test_membership(self, filled):
        assert b"a" in filled
        assert b"a" in filled.keys()  # noqa: SIM118  # the view is what is tested
        assert bytearray(b"a") in filled
        assert b"gone" not in filled
        assert b"gone" not in filled.keys()  # noqa: SIM118  # the view is what is tested
        assert (b"b", b"") in filled.items()
        assert (b"b", b"1") not in filled.items()
        assert (b"gone", b"x") not in filled.items()
        assert b"3" in filled.values()
        assert b"old" not in filled.values()

    def test_lengths_and_truth(self, filled):
        views = filled.keys(), filled.values(), filled.items()
        assert [len(view) for view in (filled, *views)] == [5] * 4
        assert filled
        filled.clear()
        assert [len(view) for view in (filled, *views)] == [0] * 4
        assert not filled
        assert not filled.keys()

    def test_views_are_live_and_sets(self, filled):
        keys, items = filled.keys(), filled.items()
        filled[b"new"] = b"n"
        assert b"new" in keys
        assert keys & {b"new", b"a", b"none"} == {b"new", b"a"}
        assert keys - set(PAIRS) == {b"new"}
        assert items - set(PAIRS.items()) == {(b"new", b"n")}
        assert keys == set(PAIRS) | {b"new"}

    def test_equality_is_by_contents(self, filled):
        assert filled == PAIRS
        assert not filled != PAIRS  # noqa: SIM202  # both operators are tested
        assert filled != {**PAIRS, b"a": b"other"}
        assert filled != {}
        assert filled != list(PAIRS.items())
        with filled.snapshot() as snapshot:
            assert snapshot == filled
            filled[b"later"] = b""
            assert snapshot == PAIRS
            assert snapshot != filled
        with open_memory() as other:
            other.update(filled)
            assert other == filled
            assert len({other, filled}) == 2  # handles are told apart by identity where they are hashed

    def test_writing_while_iterating_is_legal_and_sees_the_old_state(self, filled):
        seen = []
        for key, value in filled.items():
            seen.append((key, value))
            filled[key] = b"changed"
            filled[key + b"/new"] = b"new"
            if key == b"a":
                del filled[b"b"]
                filled.flush()
        assert dict(seen) == PAIRS
        assert filled[b"a"] == b"changed"
        for key in filled:
            del filled[key]
        assert not filled

    def test_an_iterator_stands_at_the_moment_it_was_made_not_at_its_first_step(self, filled):
        iterators = [iter(filled), iter(filled.items()), reversed(filled), iter(filled.values())]
        filled.clear()
        assert [len(list(iterator)) for iterator in iterators] == [5] * 4

    def test_an_iterator_of_the_view_of_keys_does_so_too(self, filled):
        iterator = iter(filled.keys())
        filled.clear()
        assert len(list(iterator)) == 5


class TestMutation:
    def test_pop(self, filled):
        assert filled.pop(b"a") == b"1"
        assert b"a" not in filled
        with pytest.raises(KeyError, match="a"):
            filled.pop(b"a")
        assert filled.pop(b"a", None) is None
        assert filled.pop(b"a", b"default") == b"default"

    def test_popitem_takes_every_pair_once(self, filled):
        taken = [filled.popitem() for _ in PAIRS]
        assert dict(taken) == PAIRS
        with pytest.raises(KeyError):
            filled.popitem()

    def test_setdefault(self, filled):
        assert filled.setdefault(b"a", b"other") == b"1"
        assert filled.setdefault(b"b", b"other") == b""  # an empty value is a value
        assert filled.setdefault(b"new", b"other") == b"other"
        assert filled[b"new"] == b"other"
        with pytest.raises(TypeError):
            filled.setdefault(b"newer")  # None is no value
        assert b"newer" not in filled

    def test_deleting_what_is_not_there(self, filled):
        with pytest.raises(KeyError, match="gone"):
            del filled[b"gone"]
        filled.delete(b"gone")
        assert filled == PAIRS

    def test_clear(self, filled):
        filled.clear()
        filled.clear()
        assert filled == {}
        filled.compact()
        assert filled == {}

    @pytest.mark.parametrize(
        "form",
        [
            lambda pairs: pairs,
            lambda pairs: list(pairs.items()),
            lambda pairs: iter(pairs.items()),
            lambda pairs: EncodedSource({decode(encode(k)): v for k, v in pairs.items()}),
        ],
        ids=["mapping", "list", "iterator", "keys and lookup"],
    )
    def test_update_takes_what_a_dict_takes(self, filled, form):
        given = form({b"u": b"1", b"a": b"2"})
        expected = dict(PAIRS)
        expected.update(form({b"u": b"1", b"a": b"2"}))
        filled.update(given)
        assert filled == expected

    def test_update_from_another_store_and_from_itself(self, filled):
        with open_memory() as other:
            other.update(filled)
            other.update(other)
            other.update({})
            other.update()
            assert other == PAIRS

    def test_an_update_that_fails_in_the_middle_changes_nothing(self, filled):
        def pairs() -> Iterator[tuple[bytes, bytes]]:
            yield b"new", b"1"
            raise RuntimeError("no more")

        with pytest.raises(RuntimeError, match="no more"):
            filled.update(pairs())
        with pytest.raises(lsm.InvalidType):
            filled.update([(b"new", b"1"), ("text", b"2")])
        with pytest.raises(ValueError):
            filled.update([(b"new", b"1"), (b"three", b"2", b"3")])
        with pytest.raises(TypeError):
            filled.update([(b"new", b"1")], a=b"keyword")
        assert filled == PAIRS
