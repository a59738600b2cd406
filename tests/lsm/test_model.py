"""Long random histories of the whole store against the model, in four shapes of store."""

from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from lsm.options import OptionValue
from tests.lsm.machine import StoreMachine, counts
from tests.lsm.stores import TINY

STEPS = 60
EXAMPLES = 90
EXAMPLES_OF_A_RELEASE = 3_000


class TinyStore(StoreMachine):
    """Everything moves all the time: memtables of 700 bytes, tables of 256."""


class RoomyStore(StoreMachine):
    """Much stays in memory and in the log, and blocks hold many entries."""

    options: ClassVar[dict[str, OptionValue]] = {"background": "manual", "memory_limit": "1MiB"}


class PlainStore(StoreMachine):
    """Compressed tables without filter, hash index or mapping: the other paths of reading."""

    options: ClassVar[dict[str, OptionValue]] = {
        **TINY,
        "compression": "zlib",
        "bloom_bits_per_key": 0.0,
        "hash_index": False,
        "mmap": False,
    }


class WideStore(StoreMachine):
    """Tables of several blocks with several versions of a key, few levels, a seal at every other write."""

    options: ClassVar[dict[str, OptionValue]] = {
        **TINY,
        "memtable_bytes_max": 150,
        "table_bytes_max": 4096,
        "levels_max": 2,
        "compression": "lz4",
        "bloom_bits_per_key": 4.0,
        "hash_index": False,
    }


SHAPES = [TinyStore, RoomyStore, PlainStore, WideStore]


@pytest.fixture(autouse=True)
def _histories_of_its_own(request, monkeypatch, seed):
    """Without this, one seed for all would play the same histories on every shape."""
    number = seed + SHAPES.index(request.getfixturevalue("machine"))
    print(f"seed {number}")
    monkeypatch.setattr("hypothesis.core.global_force_seed", number)


@pytest.mark.parametrize("machine", SHAPES)
def test_the_store_does_what_the_model_does(machine):
    before = counts.copy()
    run_state_machine_as_test(machine, settings=settings(max_examples=EXAMPLES, stateful_step_count=STEPS))
    print(dict(counts - before))


@pytest.mark.slow
@pytest.mark.parametrize("machine", SHAPES)
def test_the_store_does_what_the_model_does_for_long(machine):
    longer = settings(max_examples=EXAMPLES_OF_A_RELEASE, stateful_step_count=2 * STEPS)
    run_state_machine_as_test(machine, settings=longer)
    print(dict(counts))
