"""Rows as Arrow: what pandas, polars, DuckDB and Spark take without a step in Python for every row.

`db.to_arrow()` comes from here.  pyarrow is optional, and imported only with this package.
"""

from pyarrow import RecordBatchReader

from lsm.arrow.batches import SCHEMA, Arrays, arrays_of
from lsm.arrow.reading import read_arrow

__all__ = ["SCHEMA", "Arrays", "RecordBatchReader", "arrays_of", "read_arrow"]
