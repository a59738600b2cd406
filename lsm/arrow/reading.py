"""A range of an open store as a stream of Arrow batches."""

from collections.abc import Iterator

import pyarrow as pa

from lsm.arrow.batches import SCHEMA, arrays_of
from lsm.column_scan import AnyPiece, Wanted, layer_pieces, scan_rows, table_pieces
from lsm.errors import StorageError
from lsm.state import SpaceView, State

_ENTERED = pa.RecordBatch.from_arrays([pa.array([], pa.binary())] * 2, schema=SCHEMA)


def read_arrow(
    state: State, view: SpaceView, start: bytes | None, stop: bytes | None, *, seq: int, owner: object
) -> pa.RecordBatchReader:
    """Return the pairs that a view holds at `seq`; the caller holds that snapshot, the reader releases it.

    The reader keeps `owner` alive: a store that is being read must not be collected.
    """
    batches = _batches(state, view, start, stop, seq=seq, owner=owner)
    # Enter the generator: one that never ran would not run its clean-up either.
    next(batches)
    return pa.RecordBatchReader.from_batches(SCHEMA, batches)


def _batches(
    state: State, view: SpaceView, start: bytes | None, stop: bytes | None, *, seq: int, owner: object
) -> Iterator[pa.RecordBatch]:
    try:
        yield _ENTERED
        state.check_open()
        runs: list[Iterator[AnyPiece]] = [
            layer_pieces(layer, start, stop, rank=rank) for rank, layer in enumerate(view.at(seq))
        ]
        runs += [table_pieces(run, start, stop, seq_max=seq) for run in view.tree.runs()]
        for arrays in arrays_of(scan_rows(runs, Wanted())):
            yield pa.RecordBatch.from_arrays([arrays.keys, arrays.values], schema=SCHEMA)
            state.check_open()  # before more is loaded: in a forked child, locks may be held by nobody
    except StorageError:
        state.check_open()  # files that could not be read because the store was closed meanwhile
        raise
    finally:
        state.release_snapshot(seq)
        del owner
