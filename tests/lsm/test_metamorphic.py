"""One history, many settings: options change speed and space, never what a reader sees."""

import random
from collections.abc import Callable, Generator
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

import lsm
from lsm.options import OptionValue

OPERATIONS = 400
REOPEN_AT = (130, 270)

BASE: dict[str, OptionValue] = {"background": "manual", "sync": "os"}
TINY: dict[str, OptionValue] = {
    **BASE,
    "memtable_bytes_max": 4096,
    "block_bytes": 128,
    "table_bytes_max": 1024,
    "l0_tables_max": 2,
    "level_ratio": 2,
}
OPTION_SETS: dict[str, dict[str, OptionValue]] = {
    "defaults, all in memory": BASE,
    "defaults of a user": {"background": "process", "sync": "always"},
    "tiny": TINY,
    "smallest blocks": {**TINY, "block_bytes": 64},
    "one block": {**TINY, "block_bytes": "1MiB"},
    "one memtable a write": {**TINY, "memtable_bytes_max": 256, "l0_tables_max": 4},
    "no filter": {**TINY, "bloom_bits_per_key": 0},
    "no hash index": {**TINY, "hash_index": False},
    "neither": {**TINY, "hash_index": False, "bloom_bits_per_key": 0, "mmap": False},
    "a large filter": {**TINY, "bloom_bits_per_key": 20.0, "hash_index": False},
    "zlib": {**TINY, "compression": "zlib"},
    "lz4": {**TINY, "compression": "lz4", "block_bytes": 1024},
    "zstd": {**TINY, "compression": "zstd", "mmap": False},
    "without maps": {**TINY, "mmap": False, "memory_limit": "1MiB"},
    "unchecked": {**TINY, "verify_checksums": False},
    "synced": {**TINY, "sync": "always"},
    "synced every millisecond": {**TINY, "sync": "interval", "sync_interval_ms": 1},
    "two levels": {**TINY, "levels_max": 2, "level_ratio": 100},
    "tiny tables": {**TINY, "table_bytes_max": 256, "level_ratio": 3},
    "tombstones go at once": {**TINY, "tombstone_age_seconds": 0},
    "a thread": {**TINY, "background": "thread"},
    "a thread, no patience": {**TINY, "background": "thread", "sealed_max": 1, "l0_tables_slow": 2},
    "a process": {**TINY, "background": "process", "compression": "zlib"},
}

Step = Callable[["Player"], object]


class Player:
    """Plays a history on a store and notes what every read returned."""

    def __init__(self, path: Path, options: dict[str, OptionValue]) -> None:
        self.path = path
        self.options = options
        self.db = lsm.open(path, **options)
        self.other = self.db.keyspace("other")
        self.snapshots: list[lsm.Snapshot] = []

    def reopen(self) -> int:
        self.close()
        self.db = lsm.open(self.path)  # the options are kept
        self.other = self.db.keyspace("other")
        return self.db.seq

    def close(self) -> None:
        self.db.close()
        self.snapshots = []

    def batch(self, writes: list[tuple[bytes, bytes | None, str | None]]) -> int:
        with self.db.batch() as batch:
            for key, value, keyspace in writes:
                if value is None:
                    batch.delete(key, keyspace=keyspace)
                else:
                    batch.put(key, value, keyspace=keyspace)
        return self.db.seq

    def work(self, what: str) -> None:
        """Do what no read may ever notice; how much of it there was is not noted."""
        if what != "step" or self.db.options.background == "manual":
            getattr(self.db, what)()

    def take_snapshot(self) -> int:
        self.snapshots.append(self.db.snapshot())
        return self.snapshots[-1].seq

    def read_snapshot(self) -> list:
        if not self.snapshots:
            return []
        with self.snapshots.pop(0) as snapshot, snapshot.keyspace("other") as other:
            return [*snapshot.scan(), *other.scan(reverse=True)]


def key_of(rng: random.Random) -> bytes:
    return b"k%03d" % rng.randrange(80) * rng.choice([1, 1, 1, 2]) if rng.random() < 0.97 else b""


def value_of(rng: random.Random) -> bytes:
    return rng.choice([b"", rng.randbytes(10), bytes(60), rng.randbytes(8) * 30])


def next_step(rng: random.Random) -> Step:
    """Return one operation with everything random in it decided."""
    how, key, value, low = rng.randrange(24), key_of(rng), value_of(rng), key_of(rng)
    if how < 8:
        return lambda player: player.db.put(key, value)
    if how < 9:
        return lambda player: player.other.put(key, value)
    if how < 11:
        return lambda player: player.db.delete(key)
    if how < 13:
        writes = [
            (key_of(rng), rng.choice([None, value_of(rng), value_of(rng)]), rng.choice([None, "other"]))
            for _ in range(rng.randrange(12))
        ]
        return lambda player: player.batch(writes)
    if how < 15:
        return lambda player: (player.db.get(key), player.other.get(key), key in player.db)
    if how < 16:
        keys = [key_of(rng) for _ in range(20)]
        return lambda player: player.db.multi_get(keys)
    if how < 19:
        bounds = {
            "start": min(key, low),
            "stop": rng.choice([None, max(key, low)]),
            "reverse": rng.random() < 0.5,
            "limit": rng.choice([None, 1, 7]),
            "prefix": rng.choice([None, b"k0"]),
        }
        return lambda player: list(player.db.scan(**bounds))
    if how < 21:
        return lambda player: player.take_snapshot() if how == 19 else player.read_snapshot()
    if how < 22:
        return lambda player: player.db.pop(key, None)
    work = rng.choice(["flush", "compact", "step", "sync"])
    return lambda player: player.work(work)


@cache
def history(seed: int) -> list[Step]:
    rng = random.Random(seed)
    steps = [next_step(rng) for _ in range(OPERATIONS)]
    for position in reversed(REOPEN_AT):
        steps.insert(position, Player.reopen)
    return steps


def play(path: Path, options: dict[str, OptionValue], seed: int) -> Generator[object]:
    player = Player(path, options)
    try:
        for step in history(seed):
            yield step(player)
        yield dict(player.db), list(reversed(player.other.items())), player.db.seq, player.db.keyspaces()
        player.db.compact()
        yield list(player.db.items()), list(player.other.items())
    finally:
        player.close()
    with lsm.open(path, "r") as db:
        yield list(db.items()), list(db.keyspace("other").items()), db.seq


@pytest.fixture(scope="module")
def transcript(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """What the reads return where nothing but memory is involved."""
    seed = int(request.config.option.hypothesis_seed)
    return list(play(tmp_path_factory.mktemp("plain") / "store", BASE, seed))


@pytest.mark.parametrize("options", OPTION_SETS.values(), ids=OPTION_SETS)
def test_no_option_changes_what_is_read(tmp_path, seed, transcript, options):
    print(f"seed {seed}")
    path = tmp_path / "store"
    with closing(play(path, options, seed)) as playing:
        for number, (found, expected) in enumerate(zip(playing, transcript, strict=True)):
            assert found == expected, f"step {number}"
    assert lsm.verify(path).is_sound


def test_the_history_is_worth_playing(transcript):
    assert sum(1 for result in transcript if result not in (None, [], (None, None, False))) > OPERATIONS / 4
    final = transcript[-1]
    assert len(final[0]) > 20
    assert final[1]
