"""One point read with everything it looks at written down.

A second path beside `lookup`, which is too hot to keep notes.  It asks the same sections and blocks in the
same order; tests hold the two against each other.
"""

from dataclasses import dataclass

from sstable.block import Block
from sstable.block_index import BlockIndex
from sstable.block_reader import BlockReader, Brought
from sstable.hashing import key_hash, second_hash
from sstable.kind import DELETED, MAX_SEQ, Deleted, Kind
from sstable.lazy_filter import LazyFilter
from sstable.lookup import HashLookup


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterAnswer:
    """What a table's filter says about a key."""

    is_asked: bool
    """False where `get` goes through a hash index, and this is only what the filter would say."""
    may_contain: bool
    bits_per_key: float


@dataclass(frozen=True, slots=True, kw_only=True)
class HashAnswer:
    """What a table's hash index says about a key."""

    slots: int
    """Slots looked at, the empty one that ends a search included."""
    matches: int
    """Slots whose fingerprint fits: so many times a block is looked into."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRead:
    """One block that a lookup looks into."""

    number: int
    brought: Brought
    """From where."""
    stored_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEntry:
    """The entry that answers a lookup."""

    seq: int
    value: bytes | Deleted

    @property
    def is_tombstone(self) -> bool:
        """Whether it says that the key was deleted."""
        return self.value is DELETED


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """All that one lookup does in one table."""

    filter: FilterAnswer | None
    """None if the table has no filter."""
    hash_index: HashAnswer | None
    """None if the table has no hash index, or the filter has said no."""
    blocks: tuple[BlockRead, ...]
    found: FoundEntry | None

    @property
    def is_false_positive(self) -> bool:
        """Whether the filter lets a key pass that the table does not have, asked or not."""
        return self.filter is not None and self.filter.may_contain and self.found is None


@dataclass(frozen=True, slots=True)
class Sections:
    """The parts of an open table that a lookup goes through."""

    filter: LazyFilter
    hash_lookup: HashLookup | None
    index: BlockIndex
    blocks: BlockReader


def probe(sections: Sections, key: bytes, seq_max: int = MAX_SEQ) -> Probe:
    """Look up the newest entry of `key` at `seq_max`, and tell how."""
    h1 = key_hash(key)
    answer = _ask_filter(sections, key, h1)
    steps = _Steps(sections, key, seq_max)
    hash_answer = None
    if sections.hash_lookup is not None:
        hash_answer = _through_hash_index(sections.hash_lookup, h1, steps)
    elif answer is None or answer.may_contain:
        number = sections.index.seek(key)
        if number < len(sections.index):
            steps.look_into(number, None)
    return Probe(filter=answer, hash_index=hash_answer, blocks=tuple(steps.blocks), found=steps.found)


class _Steps:
    """The blocks a lookup has looked into so far, and what it found there."""

    def __init__(self, sections: Sections, key: bytes, seq_max: int) -> None:
        self._sections = sections
        self._key = key
        self._seq_max = seq_max
        self.blocks: list[BlockRead] = []
        self.found: FoundEntry | None = None

    def look_into(self, number: int, position: int | None) -> bool:
        """Look for the key in one block, at `position` or by search; tell whether it was there."""
        block, brought = self._sections.blocks.bring_noting(number)
        stored_bytes = self._sections.index.handle(number).stored_bytes
        self.blocks.append(BlockRead(number=number, brought=brought, stored_bytes=stored_bytes))
        at = block.find(
            block.lower_bound(self._key) if position is None else position, self._key, self._seq_max
        )
        self.found = None if at is None else _entry(block, at)
        return at is not None


def _entry(block: Block, position: int) -> FoundEntry:
    is_deleted = block.kind(position) == Kind.DELETE
    return FoundEntry(seq=block.seq(position), value=DELETED if is_deleted else block.value(position))


def _ask_filter(sections: Sections, key: bytes, h1: int) -> FilterAnswer | None:
    bits_per_key = sections.filter.bits_per_key
    if not bits_per_key:
        return None
    return FilterAnswer(
        is_asked=sections.hash_lookup is None,
        may_contain=sections.filter.may_contain(h1, second_hash(key)),
        bits_per_key=bits_per_key,
    )


def _through_hash_index(lookup: HashLookup, h1: int, steps: _Steps) -> HashAnswer:
    slots = matches = 0
    with lookup.inside_table():
        for place in lookup.places(h1):
            slots += 1
            if place is not None:
                matches += 1
                if steps.look_into(*place):
                    break
        else:
            slots += 1  # the empty one
    return HashAnswer(slots=slots, matches=matches)
