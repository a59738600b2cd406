"""Stores to files and back: Parquet, Arrow, csv and JSON lines.

`export_store` and `import_file` are all that users need.  Csv and JSON lines need nothing that is not part of
Python; Parquet and Arrow need pyarrow (`lsm.arrow.files`).  Parts: `options` (what a file is like), `codes`
(bytes as text), `csv_cells` and `lines` (files of lines), `exporting`, `importing`, `tally` (how far it is).
"""

from lsm.transfer.exporting import Exported, export_store
from lsm.transfer.importing import Imported, import_file, open_import
from lsm.transfer.options import FileOptions

__all__ = ["Exported", "FileOptions", "Imported", "export_store", "import_file", "open_import"]
