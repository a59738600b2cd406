"""The loops that are timed: each does one thing to a store, for all of its input, and nothing else.

The same loop runs on every engine and, for its own cost, on a store that does nothing.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.data import Pairs
from bench.measure import Nanoseconds, between
from bench.peers.engines import Store


def put_each(store: Store, pairs: Pairs) -> int:
    """Put pairs one by one."""
    put = store.putter()
    for key, value in zip(*pairs, strict=True):
        put(key, value)
    return len(pairs[0])


def put_by_threads(store: Store, shares: Sequence[Pairs]) -> int:
    """Put pairs one by one, every share from a thread of its own."""
    with ThreadPoolExecutor(len(shares)) as pool:
        return sum(pool.map(lambda share: put_each(store, share), shares))


def put_batches(store: Store, batches: Sequence[Pairs]) -> int:
    """Write batches, filling each pair by pair."""
    for batch in batches:
        store.write_batch(batch)
    return sum(len(keys) for keys, _ in batches)


def put_dicts(store: Store, batches: Sequence[dict[bytes, bytes]]) -> int:
    """Write batches that are dicts already."""
    for batch in batches:
        store.write_dict(batch)
    return sum(map(len, batches))


def get_each(store: Store, keys: Sequence[bytes]) -> int:
    """Get keys one by one."""
    get = store.getter()
    for key in keys:
        get(key)
    return len(keys)


def scan_all(store: Store, _: object) -> int:
    """Walk over all pairs."""
    count = 0
    for _key, _value in store.scan():
        count += 1
    return count


def scan_pieces(store: Store, pieces: Sequence[tuple[bytes, int]]) -> int:
    """Walk over a few pairs from each of many keys on."""
    for start, limit in pieces:
        for _key, _value in store.scan_from(start, limit):
            pass
    return len(pieces)


# The same with a clock inside, for latencies; rates are never taken from these.


def trace_puts(store: Store, pairs: Pairs) -> Nanoseconds:
    """Put pairs one by one, and return how long each took."""
    put, clock = store.putter(), time.perf_counter_ns
    stamps = [clock()]
    note = stamps.append
    for key, value in zip(*pairs, strict=True):
        put(key, value)
        note(clock())
    return between(stamps)


def trace_gets(store: Store, keys: Sequence[bytes]) -> Nanoseconds:
    """Get keys one by one, and return how long each took."""
    get, clock = store.getter(), time.perf_counter_ns
    stamps = [clock()]
    note = stamps.append
    for key in keys:
        get(key)
        note(clock())
    return between(stamps)


Loop = Callable[..., int]
Trace = Callable[..., Nanoseconds]
