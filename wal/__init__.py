"""The log: segments of checksummed records with dense sequence numbers.

A payload is opaque bytes that stand for `count` entries; the log gives every entry a sequence number, never
reused. `SegmentWriter` appends to the newest segment, `read_records` reads one and tells a torn tail from
damage, `CommitQueue` lets many threads share one write and one sync, `SparseIndex` finds a sequence number
or a time without reading everything.  The package knows nothing of keys and opens no file: it is handed
objects with `append`, `sync` and `close`.  The bytes are described in FORMAT.md.
"""

from wal.errors import LogError, SegmentDamaged, SegmentUnsupported
from wal.group import CommitQueue, PendingWrite, WriteAbandoned
from wal.header import SEGMENT_HEADER_BYTES, SegmentHeader, decode_header
from wal.index import IndexBuilder, SparseIndex, decode_index
from wal.reader import Ending, Records, SegmentEnd, read_records, read_tail
from wal.record import BODY_FORMAT, CRC, DATA, HEADER_BYTES, PAYLOAD_BYTES_MAX, Record
from wal.writer import SEGMENT_BYTES_MAX, AppendFile, SegmentWriter, decode_trailer

__all__ = [
    "BODY_FORMAT",
    "CRC",
    "DATA",
    "HEADER_BYTES",
    "PAYLOAD_BYTES_MAX",
    "SEGMENT_BYTES_MAX",
    "SEGMENT_HEADER_BYTES",
    "AppendFile",
    "CommitQueue",
    "Ending",
    "IndexBuilder",
    "LogError",
    "PendingWrite",
    "Record",
    "Records",
    "SegmentDamaged",
    "SegmentEnd",
    "SegmentHeader",
    "SegmentUnsupported",
    "SegmentWriter",
    "SparseIndex",
    "WriteAbandoned",
    "decode_header",
    "decode_index",
    "decode_trailer",
    "read_records",
    "read_tail",
]
