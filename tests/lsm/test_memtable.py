"""Layers of a memtable: a snapshot never changes, whatever is frozen, thawed or sealed around it."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lsm.memtable import Layer, MemTable
from sstable import DELETED

KEYS = st.sampled_from([b"", b"\0", b"a", b"ab", b"b", b"\xff", b"\xff\xff"])
VALUES = st.one_of(st.binary(max_size=3), st.just(DELETED))
BOUNDS = st.one_of(st.none(), KEYS)


def layer_of(entries: dict) -> Layer:
    layer = Layer()
    layer.entries.update(entries)
    return layer


def in_range(entries: dict, start, stop) -> list[bytes]:
    low = b"" if start is None else start
    return [key for key in sorted(entries) if key >= low and (stop is None or key < stop)]


@given(st.dictionaries(KEYS, VALUES), BOUNDS, BOUNDS, st.booleans(), st.integers(1, 4))
def test_chunks_of_a_layer_are_its_range_in_order(entries, start, stop, reverse, count):
    layer, found, after = layer_of(entries), [], None
    while True:
        keys, values = layer.chunk(start, stop, reverse=reverse, count=count, after=after)
        assert values == [entries[key] for key in keys]
        if not keys:
            break
        found += keys
        after = keys[-1]

    expected = in_range(entries, start, stop)
    assert found == (expected[::-1] if reverse else expected)


@given(st.lists(st.lists(KEYS, max_size=4), max_size=5))
def test_a_layer_that_grows_between_two_scans_stays_sorted(rounds):
    layer, model = Layer(), set()
    for keys in rounds:
        layer.entries.update(dict.fromkeys(keys, b"x"))
        model |= set(keys)
        assert layer.chunk(None, None, reverse=False, count=100)[0] == sorted(model)


def test_a_large_layer_is_sorted_as_well_as_a_small_one():
    keys = [b"%06d" % (number * 7919 % 50_000) for number in range(50_000)]
    layer = layer_of(dict.fromkeys(keys, b"x"))

    assert layer.chunk(None, None, reverse=False, count=100_000)[0] == sorted(keys)


def test_a_layer_takes_over_the_newer_one():
    older, newer = layer_of({b"a": b"1", b"b": b"1"}), layer_of({b"b": DELETED, b"c": b"2"})
    newer.last_seq = 9

    older.absorb(newer)

    assert older.entries == {b"a": b"1", b"b": DELETED, b"c": b"2"}
    assert older.last_seq == 9
    assert newer.entries == {b"b": DELETED, b"c": b"2"}, "somebody may still be looking at it"


def test_freezing_nothing_takes_no_layer():
    table = MemTable()

    assert not table.freeze(5)
    assert len(table.layers) == 1


def test_sealing_keeps_no_empty_layer():
    table = MemTable()
    table.top.entries[b"a"] = b"1"
    table.freeze(1)
    table.seal(1)

    assert [layer.entries for layer in table.layers] == [{b"a": b"1"}]


class LayersMachine(RuleBasedStateMachine):
    """A memtable and the dicts that its snapshots should be."""

    def __init__(self) -> None:
        super().__init__()
        self.table = MemTable()
        self.seq = 0
        self.now: dict = {}
        self.snapshots: list[tuple[int, dict]] = []

    def seen_at(self, seq: int) -> dict:
        merged: dict = {}
        for layer in reversed(self.table.layers):
            if layer.last_seq is not None and layer.last_seq <= seq:
                merged.update(layer.entries)
        return merged

    @rule(key=KEYS, value=VALUES)
    def write(self, key, value):
        self.seq += 1
        self.table.top.entries[key] = value
        self.now[key] = value

    @rule()
    def someone_else_writes(self):
        self.seq += 1

    @rule()
    def take_snapshot(self):
        self.table.freeze(self.seq)
        self.snapshots.append((self.seq, dict(self.now)))

    @precondition(lambda self: self.snapshots)
    @rule(data=st.data())
    def release(self, data):
        self.snapshots.pop(data.draw(st.integers(0, len(self.snapshots) - 1)))
        held = sorted(seq for seq, _ in self.snapshots)
        if len(self.table.layers) > 1:
            self.table.thaw(held)

    @invariant()
    def newest_wins(self):
        merged: dict = {}
        for entries in reversed(list(self.table.entries())):
            merged.update(entries)
        assert merged == self.now

    @invariant()
    def no_snapshot_changes(self):
        for seq, frozen in self.snapshots:
            assert self.seen_at(seq) == frozen

    @invariant()
    def layers_are_few(self):
        distinct = len({seq for seq, _ in self.snapshots})
        assert len(self.table.layers) <= distinct + 1


TestLayers = LayersMachine.TestCase
