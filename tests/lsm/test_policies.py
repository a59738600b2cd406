"""The store under all policies: it does what the model does, also when it changes between openings."""

import random
from collections.abc import Iterator
from itertools import cycle
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

import lsm
from compaction import LazyPolicy, LeveledPolicy, TieredPolicy
from compaction.shape import LEVELS_MAX
from lsm.filenames import table_name
from lsm.fs_types import Cause
from lsm.options import Options, OptionValue
from sstable import Table
from tests.lsm.machine import StoreMachine
from tests.lsm.stores import TINY, open_memory
from tests.support.memfs import MemFS

POLICIES = ["leveled", "tiered", "lazy"]


class TieredStore(StoreMachine):
    """Runs of two tables of 256 bytes, two of a size are merged."""

    options: ClassVar[dict[str, OptionValue]] = {**TINY, "policy": "tiered", "levels_max": 16}


class CrampedStore(StoreMachine):
    """Three runs at most: there is never a level free."""

    options: ClassVar[dict[str, OptionValue]] = {**TINY, "policy": "tiered", "levels_max": 2}


class LazyStore(StoreMachine):
    """One run at the bottom, few above; bits of filters shared out."""

    options: ClassVar[dict[str, OptionValue]] = {
        **TINY,
        "policy": "lazy",
        "level_ratio": 3,
        "levels_max": 8,
        "bloom_sharing": "monkey",
    }


class ChangingStore(StoreMachine):
    """Every opening has another policy."""

    def __init__(self) -> None:
        super().__init__()
        self._policies: Iterator[str] = cycle(["tiered", "leveled", "lazy"])

    def opened(self, **changes: OptionValue) -> lsm.DB:
        return super().opened(policy=next(self._policies), **changes)


@pytest.mark.parametrize("machine", [TieredStore, CrampedStore, LazyStore, ChangingStore])
def test_the_store_does_what_the_model_does(machine):
    run_state_machine_as_test(machine, settings=settings(max_examples=25, stateful_step_count=50))


def fill(db: lsm.DB, model: dict[bytes, bytes], rng: random.Random, count: int) -> None:
    for _ in range(count):
        key = b"%04d" % rng.randrange(500)
        if rng.random() < 0.2:
            db.delete(key)
            model.pop(key, None)
        else:
            model[key] = rng.randbytes(30)
            db.put(key, model[key])


@pytest.mark.parametrize("sharing", ["uniform", "monkey"])
def test_a_store_reads_the_same_under_each_policy_in_turn(seed, sharing):
    fs, model, rng = MemFS(), {}, random.Random(seed)
    for policy in ["leveled", "tiered", "lazy", "tiered", "leveled"]:
        options = {**TINY, "levels_max": 16, "policy": policy, "bloom_sharing": sharing}
        with open_memory(fs, options=options) as db:
            fill(db, model, rng, 400)
            while db.step():
                pass

            assert dict(db.items()) == model
            assert db.multi_get(sorted(model)) == [model[key] for key in sorted(model)]


@pytest.mark.parametrize("policy", POLICIES)
def test_writers_are_never_held_up_for_good(seed, policy):
    """Nobody steps: writers that are held back do the work themselves, and find some."""
    options = {**TINY, "policy": policy, "l0_tables_slow": 3, "l0_tables_stop": 4, "sealed_max": 2}
    model: dict[bytes, bytes] = {}
    with open_memory(options=options) as db:
        fill(db, model, random.Random(seed), 1200)

        stats = db.stats()
        assert dict(db.items()) == model
        assert stats.background.stops > 0
        assert stats.keyspaces[0].levels[0].tables <= 4


@pytest.mark.parametrize("policy", POLICIES)
def test_a_full_compaction_leaves_one_run_and_an_emptied_store_nothing(seed, policy):
    model: dict[bytes, bytes] = {}
    with open_memory(options={**TINY, "policy": policy}) as db:
        fill(db, model, random.Random(seed), 1500)
        db.compact()
        assert sum(level.tables > 0 for level in db.stats().keyspaces[0].levels) == 1
        assert sum(level.entries for level in db.stats().keyspaces[0].levels) == len(model)

        for key in model:
            db.delete(key)
        db.compact()
        assert db.stats().table_bytes == 0


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("background", ["thread", "process"])
def test_in_the_background(tmp_path, seed, policy, background):
    model: dict[bytes, bytes] = {}
    options = {**TINY, "policy": policy, "background": background, "sync": "os"}
    with lsm.open(tmp_path / "db", **options) as db:
        fill(db, model, random.Random(seed), 1500)
        assert dict(db.items()) == model
    with lsm.open(tmp_path / "db") as db:
        assert dict(db.items()) == model
        assert db.options.policy == policy


def test_small_levels_have_more_bits_with_monkey(seed):
    fs = MemFS()
    options = {
        **TINY,
        "memtable_bytes_max": 20_000,
        "table_bytes_max": 100_000,
        "policy": "tiered",
        "level_ratio": 4,
        "bloom_sharing": "monkey",
    }
    with open_memory(fs, options=options) as db:
        rng = random.Random(seed)
        for _ in range(5000):
            db.put(b"%06d" % rng.randrange(10**6), b"x" * 30)
            db.step()
        levels = db._state.levels(0)
        runs = [run for run in [*((table,) for table in levels[0]), *levels[1:]] if run]
        bits = [_bits_per_key(db, run) for run in runs]

    assert len(bits) > 1
    assert bits[0] > bits[-1] + 1


def _bits_per_key(db: lsm.DB, run: tuple) -> float:
    total = 0
    for meta in run:
        table = Table(db._state.fs.open(table_name(meta.number), Cause.COMPACTION), meta)
        total += 8 * table._footer.bloom_filter.size
        table.close()
    return total / sum(meta.distinct_keys for meta in run)


def test_options_make_the_policy():
    assert isinstance(Options().shape().make_policy(), LeveledPolicy)
    assert type(Options(policy="tiered").shape().make_policy()) is TieredPolicy
    lazy = Options(policy="lazy", level_ratio=4, levels_max=6, l0_tables_max=3).shape().make_policy()
    assert isinstance(lazy, LazyPolicy)
    assert (lazy.level_ratio, lazy.levels_max, lazy.l0_tables_max) == (4, 24, 3)
    assert Options(policy="tiered", level_ratio=100).shape().make_policy().levels_max == LEVELS_MAX


@pytest.mark.parametrize(("name", "value"), [("policy", "eager"), ("policy", None), ("bloom_sharing", "x")])
def test_unknown_names_are_refused(name, value):
    with pytest.raises(lsm.InvalidArgument, match=name):
        Options().with_changes({name: value})
