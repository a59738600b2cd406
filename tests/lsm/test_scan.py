"""Merging sorted sources, newest first, both ways."""

from hypothesis import given
from hypothesis import strategies as st

from lsm.memtable import Layer
from lsm.scan import LayerSource, live, merged
from sstable import DELETED

KEYS = st.one_of(
    st.sampled_from([b"", b"\0", b"a", b"a\0", b"aa", b"b", b"\xff", b"\xff\xff"]), st.binary(max_size=2)
)
SOURCES = st.lists(st.dictionaries(KEYS, st.one_of(st.binary(max_size=2), st.just(DELETED))), max_size=5)
BOUNDS = st.one_of(st.none(), KEYS)


class ChunkedSource:
    """Entries in pieces of any size, as blocks of tables are."""

    def __init__(self, entries: dict, sizes: list[int], *, reverse: bool) -> None:
        self._entries = entries
        self._sizes = sizes
        self._reverse = reverse

    def chunks(self):
        left, turn = sorted(self._entries), 0
        while left:
            size = self._sizes[turn % len(self._sizes)]
            turn += 1
            piece = left[-size:] if self._reverse else left[:size]
            left = left[:-size] if self._reverse else left[size:]
            yield piece, [self._entries[key] for key in piece]


def flat(chunks, *, reverse: bool) -> list[tuple[bytes, object]]:
    found = []
    for keys, values in chunks:
        assert keys == sorted(keys)
        pairs = list(zip(keys, values, strict=True))
        found += pairs[::-1] if reverse else pairs
    return found


def newest(sources: list[dict]) -> dict:
    model: dict = {}
    for entries in reversed(sources):
        model.update(entries)
    return model


@given(SOURCES, st.lists(st.integers(1, 4), min_size=1, max_size=3), st.booleans())
def test_the_newest_source_wins_and_keys_come_in_order(sources, sizes, reverse):
    chunked = [ChunkedSource(entries, sizes, reverse=reverse) for entries in sources]

    found = flat(merged(chunked, reverse=reverse), reverse=reverse)

    assert found == sorted(newest(sources).items(), key=lambda pair: pair[0], reverse=reverse)


@given(SOURCES, st.booleans())
def test_deletions_hide_older_values_and_are_not_shown(sources, reverse):
    chunked = [ChunkedSource(entries, [2], reverse=reverse) for entries in sources]

    found = flat(live(merged(chunked, reverse=reverse)), reverse=reverse)

    expected = {key: value for key, value in newest(sources).items() if value is not DELETED}
    assert found == sorted(expected.items(), reverse=reverse)


@given(SOURCES, BOUNDS, BOUNDS, st.booleans())
def test_layers_are_merged_inside_their_bounds(sources, start, stop, reverse):
    layers = []
    for entries in sources:
        layer = Layer()
        layer.entries.update(entries)
        layers.append(LayerSource(layer, start, stop, reverse=reverse))

    found = flat(merged(layers, reverse=reverse), reverse=reverse)

    low = b"" if start is None else start
    expected = {
        key: value
        for key, value in newest(sources).items()
        if key >= low and (stop is None or key < stop)
    }
    assert found == sorted(expected.items(), key=lambda pair: pair[0], reverse=reverse)


def test_a_scan_that_stops_early_has_not_read_everything():
    entries = {b"%05d" % number: b"x" for number in range(10_000)}
    loaded = []

    class Watched(ChunkedSource):
        def chunks(self):
            for keys, values in super().chunks():
                loaded.append(len(keys))
                yield keys, values

    next(merged([Watched(entries, [10], reverse=False)], reverse=False))

    assert sum(loaded) <= 20
