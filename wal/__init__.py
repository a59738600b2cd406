"""The log: segments of checksummed records with dense sequence numbers.

A payload is opaque bytes that stand for `count` entries; the log gives every entry a sequence number, never
reused. `SegmentWriter` appends to the newest segment, `read_records` reads one and tells a torn tail from
damage, `CommitQueue` lets many threads share one write and one sync, `SparseIndex` finds a sequence number
or a time without reading everything.  These know nothing of keys and open no file: they are handed
objects with `append`, `sync` and `close`.  `Log` makes of them a log in a directory that stands on its own:
one writer, any number of readers in any process.  The bytes are described in FORMAT.md.
"""

from wal.directory import Directory, OsDirectory, WriterLock
from wal.entry import Entry
from wal.errors import (
    LogClosed,
    LogDamaged,
    LogError,
    LogFailed,
    LogLocked,
    LogNotFound,
    LogReadOnly,
    OffsetGone,
    OffsetOutOfRange,
    PayloadTooLarge,
    SegmentDamaged,
    SegmentUnsupported,
)
from wal.group import CommitQueue, PendingWrite, WriteAbandoned
from wal.header import SEGMENT_HEADER_BYTES, SegmentHeader, decode_header
from wal.index import SAMPLE_EVERY_BYTES, IndexBuilder, SparseIndex, decode_index
from wal.log import Log
from wal.log_retention import LogSettings
from wal.reader import Ending, Records, SegmentEnd, read_records, read_tail
from wal.record import BODY_FORMAT, CLOSE, CRC, DATA, HEADER_BYTES, PAYLOAD_BYTES_MAX, Record
from wal.record import decode as decode_record
from wal.record import encode as encode_record
from wal.writer import SEGMENT_BYTES_MAX, TRAILER_BYTES, AppendFile, SegmentWriter, decode_trailer

__all__ = [
    "BODY_FORMAT",
    "CLOSE",
    "CRC",
    "DATA",
    "HEADER_BYTES",
    "PAYLOAD_BYTES_MAX",
    "SAMPLE_EVERY_BYTES",
    "SEGMENT_BYTES_MAX",
    "SEGMENT_HEADER_BYTES",
    "TRAILER_BYTES",
    "AppendFile",
    "CommitQueue",
    "Directory",
    "Ending",
    "Entry",
    "IndexBuilder",
    "Log",
    "LogClosed",
    "LogDamaged",
    "LogError",
    "LogFailed",
    "LogLocked",
    "LogNotFound",
    "LogReadOnly",
    "LogSettings",
    "OffsetGone",
    "OffsetOutOfRange",
    "OsDirectory",
    "PayloadTooLarge",
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
    "WriterLock",
    "decode_header",
    "decode_index",
    "decode_record",
    "decode_trailer",
    "encode_record",
    "read_records",
    "read_tail",
]
