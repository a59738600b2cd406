"""Loading many rows into an open store: sorted into tables beside the others, then taken over at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from lsm.adoption.adopt import Adopted, Load, adopt
from lsm.adoption.sorting import Duplicates, Sorter, Staging
from lsm.arguments import HIDDEN_PREFIX, as_key, as_value
from lsm.errors import InvalidArgument, InvalidType
from lsm.filenames import table_name
from sstable import Columns, Kind

if TYPE_CHECKING:
    from lsm.background import Background
    from lsm.commit_whole import StoreCommitter
    from lsm.state import State

BulkRows: TypeAlias = "Mapping[bytes, bytes | None] | Iterable[tuple[bytes, bytes | None]] | object"
"""Pairs, a mapping, or anything with Arrow's stream interface and columns `key` and `value`."""
_CHUNK_BYTES_MIN: Final = 1024 * 1024
_PAIRS_AT_ONCE: Final = 16 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkLoad:
    """How rows are to be loaded."""

    keyspace: int
    replaces: bool = False
    duplicates: Duplicates = "error"
    transaction: tuple[str, int] | None = None

    def __post_init__(self) -> None:
        if self.duplicates not in ("error", "last"):
            raise InvalidArgument(f'duplicates must be "error" or "last"; not {self.duplicates!r:.40}')
        if self.transaction is not None:
            check_transaction(self.transaction)


def check_transaction(transaction: tuple[str, int]) -> None:
    """Raise if a name and a number cannot be a transaction of users."""
    match transaction:
        case (str(name), int(number)) if not isinstance(number, bool) and 0 <= number < 2**62:
            if name.startswith(HIDDEN_PREFIX):
                raise InvalidArgument(f"transaction {name!r:.60}: {HIDDEN_PREFIX!r} is reserved")
        case _:
            raise InvalidType(f"a transaction is a name and a number from 0 on; not {transaction!r:.60}")


def bulk_load(
    state: State, committer: StoreCommitter, background: Background, rows: BulkRows, how: BulkLoad
) -> Adopted:
    """Load rows, all of them or none."""
    made: list[str] = []

    def new_name() -> str:
        # What a crash leaves of these is removed when the store is opened next.
        made.append(table_name(state.new_number()))
        return made[-1]

    staging = Staging(
        directory=state.fs,
        new_name=new_name,
        store_id=state.version.store_id,
        options=state.options.table_options(),
        table_bytes_max=state.options.table_bytes,
        time_us=state.clock.now_us(),
        duplicates=how.duplicates,
    )
    try:
        sorter = Sorter(staging, max(_CHUNK_BYTES_MIN, state.options.memory_limit // 4))
        for columns in columns_of(rows):
            sorter.add(columns)
            state.check_writable()
        load = Load(
            source=state.fs,
            names=tuple(table.name for table in sorter.finish()),
            keyspace=how.keyspace,
            replaces=how.replaces,
            transaction=how.transaction,
        )
        return adopt(state, committer, background, load)
    finally:
        for name in made:
            if state.fs.exists(name):
                state.remove_file(name)


def columns_of(rows: BulkRows) -> Iterator[Columns]:
    """Yield rows as columns, in their order."""
    if hasattr(rows, "__arrow_c_stream__"):
        from lsm.arrow.columns import columns_of_stream

        return columns_of_stream(rows)
    if isinstance(rows, Mapping):
        return _columns_of_pairs(rows.items())
    if not isinstance(rows, Iterable):
        raise InvalidType(f"rows are pairs, a mapping or an Arrow stream, not {type(rows).__name__}")
    return _columns_of_pairs(cast("Iterable[tuple[object, object]]", rows))


def _columns_of_pairs(pairs: Iterable[tuple[object, object]]) -> Iterator[Columns]:
    keys: list[bytes] = []
    values: list[bytes] = []
    kinds: list[int] = []
    size_bytes = 0
    for key, value in pairs:
        keys.append(as_key(key))
        values.append(b"" if value is None else as_value(value))
        kinds.append(Kind.DELETE if value is None else Kind.PUT)
        size_bytes += len(keys[-1]) + len(values[-1])
        if len(keys) >= _PAIRS_AT_ONCE or size_bytes >= _CHUNK_BYTES_MIN:
            yield Columns.from_lists(keys, [0] * len(keys), kinds, values)
            keys, values, kinds, size_bytes = [], [], [], 0
    if keys:
        yield Columns.from_lists(keys, [0] * len(keys), kinds, values)
