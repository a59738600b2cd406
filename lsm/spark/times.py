"""When writes were committed, as far as the log still knows."""

import numpy as np
import pyarrow as pa

from lsm.fs import open_directory
from lsm.pin_tail import read_times
from sstable.columns import U64Array

_TYPE = pa.timestamp("us", tz="UTC")


class Times:
    """Commit times by sequence number; what the log has let go has none."""

    def __init__(self, directory: str) -> None:
        """Read what was kept in a pin."""
        fs = open_directory(directory, create=False, read_only=True)
        try:
            self._first_seqs, self._times_us = read_times(fs)
        finally:
            fs.close()

    def of(self, seqs: U64Array) -> pa.Array:
        """Return the times of some writes, null where they are not known."""
        if not len(self._first_seqs):
            return pa.nulls(len(seqs), _TYPE)
        # The log has no gaps: a number belongs to the last record that does not begin above it.
        at = np.searchsorted(self._first_seqs, seqs.astype(np.int64), side="right") - 1
        return pa.array(self._times_us[np.maximum(at, 0)], _TYPE, mask=at < 0)
