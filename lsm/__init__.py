"""An embedded key-value store whose log is a first-class citizen.

    import lsm

    with lsm.open("db") as db:
        db[b"k"] = b"v"

`lsm.open` returns a `DB`, a mutable mapping from bytes to bytes in key order, with batches, snapshots,
ranges and keyspaces.  A write that returned survives a crash.  README.md has a tour; ARCHITECTURE.md,
beside this file, says how the parts hang together.
"""

from lsm.adoption import Adopted
from lsm.batch import WriteBatch
from lsm.changes import Change, ChangeColumns
from lsm.consumers import Consumer, ConsumerInfo
from lsm.db import DB
from lsm.errors import (
    BackgroundError,
    ClosedError,
    CommitUncertain,
    ConsumerBusy,
    ConsumerDropped,
    ConsumerNotFound,
    CorruptionError,
    DiskFull,
    Error,
    FileExists,
    FollowerError,
    ForeignLog,
    ForkedError,
    InvalidArgument,
    InvalidType,
    KeyspaceNotFound,
    LockedError,
    LogCorrupt,
    MalformedFile,
    ManifestCorrupt,
    MissingExtra,
    NotAStore,
    OffsetOutOfRange,
    ReadOnlyError,
    StoreNotFound,
    StreamCorrupt,
    TableCorrupt,
    UnsupportedFormat,
    ViewFailed,
    ViewNotFound,
    WriteInterrupted,
)
from lsm.explain.explanation import Explanation
from lsm.explain.get import GetExplanation
from lsm.explain.scan import ScanExplanation
from lsm.follower import Follower, apply, follow, promote, ship
from lsm.history import JobRecord
from lsm.keyspace import Keyspace
from lsm.log.bootstrap import Bootstrap
from lsm.log.info import LogInfo, LogSegment
from lsm.opening import open_store as open
from lsm.options import Options
from lsm.snapshot import Snapshot
from lsm.stats import Stats
from lsm.tables import TableInfo
from lsm.transfer import FileOptions, export_store, import_file
from lsm.verify import Problem, VerifyReport, verify
from lsm.views import View
from lsm.work import LevelWork, Work

__all__ = [
    "DB",
    "Adopted",
    "BackgroundError",
    "Bootstrap",
    "Change",
    "ChangeColumns",
    "ClosedError",
    "CommitUncertain",
    "Consumer",
    "ConsumerBusy",
    "ConsumerDropped",
    "ConsumerInfo",
    "ConsumerNotFound",
    "CorruptionError",
    "DiskFull",
    "Error",
    "Explanation",
    "FileExists",
    "FileOptions",
    "Follower",
    "FollowerError",
    "ForeignLog",
    "ForkedError",
    "GetExplanation",
    "InvalidArgument",
    "InvalidType",
    "JobRecord",
    "Keyspace",
    "KeyspaceNotFound",
    "LevelWork",
    "LockedError",
    "LogCorrupt",
    "LogInfo",
    "LogSegment",
    "MalformedFile",
    "ManifestCorrupt",
    "MissingExtra",
    "NotAStore",
    "OffsetOutOfRange",
    "Options",
    "Problem",
    "ReadOnlyError",
    "ScanExplanation",
    "Snapshot",
    "Stats",
    "StoreNotFound",
    "StreamCorrupt",
    "TableCorrupt",
    "TableInfo",
    "UnsupportedFormat",
    "VerifyReport",
    "View",
    "ViewFailed",
    "ViewNotFound",
    "Work",
    "WriteBatch",
    "WriteInterrupted",
    "apply",
    "export_store",
    "follow",
    "import_file",
    "open",
    "promote",
    "ship",
    "verify",
]
