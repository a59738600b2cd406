"""Tasks and their results as one line of JSON, for the worker process.  Both ends are this same version."""

import errno
import json
from dataclasses import asdict
from typing import TypeAlias, cast

from lsm.errors import CorruptionError, DiskFull, Error, LogCorrupt, TableCorrupt, UnsupportedFormat
from lsm.fs_types import Cause, IoSnapshot
from lsm.tasks import CompactionTask, FlushTask, Output, TaskResult
from lsm.version import SegmentMeta
from sstable import TableMeta, TableOptions

Task: TypeAlias = FlushTask | CompactionTask
Fields: TypeAlias = "dict[str, object]"

_ERRORS: dict[str, type[CorruptionError]] = {
    error.__name__: error for error in (CorruptionError, LogCorrupt, TableCorrupt)
}


def encode_task(path: str, task: Task) -> bytes:
    """Return the line that asks a worker for `task` on the store at `path`."""
    fields: Fields = {"path": path, "output": _output_to_json(task.output)}
    if isinstance(task, FlushTask):
        fields |= {"segment": asdict(task.segment), "keyspaces": list(task.keyspaces)}
    else:
        fields |= {
            "keyspace": task.keyspace,
            "runs": [[meta.to_json() for meta in run] for run in task.runs],
            "deeper": [[low.hex(), high.hex()] for low, high in task.deeper],
            "grandparents": [meta.to_json() for meta in task.grandparents],
            "oldest_tombstone_time": task.oldest_tombstone_time,
        }
    return json.dumps(fields).encode() + b"\n"


def decode_task(line: bytes) -> tuple[str, Task]:
    """Inverse of encode_task."""
    fields = json.loads(line)
    output = _output_from_json(fields["output"])
    if "segment" in fields:
        segment = SegmentMeta(**fields["segment"])
        return fields["path"], FlushTask(segment=segment, keyspaces=tuple(fields["keyspaces"]), output=output)
    return fields["path"], CompactionTask(
        keyspace=fields["keyspace"],
        runs=tuple(tuple(map(TableMeta.from_json, run)) for run in fields["runs"]),
        deeper=tuple((bytes.fromhex(low), bytes.fromhex(high)) for low, high in fields["deeper"]),
        grandparents=tuple(map(TableMeta.from_json, fields["grandparents"])),
        oldest_tombstone_time=fields["oldest_tombstone_time"],
        output=output,
    )


def _output_to_json(output: Output) -> Fields:
    return {**asdict(output), "store_id": output.store_id.hex()}


def _output_from_json(fields: Fields) -> Output:
    return Output(
        store_id=bytes.fromhex(cast("str", fields["store_id"])),
        first_number=cast("int", fields["first_number"]),
        number_count=cast("int", fields["number_count"]),
        options=TableOptions(**cast("dict[str, int]", fields["options"])),  # type: ignore[arg-type]  # checks itself
        table_bytes_max=cast("int", fields["table_bytes_max"]),
        snapshots=tuple(cast("list[int]", fields["snapshots"])),
    )


def encode_result(result: TaskResult, io: IoSnapshot) -> bytes:
    """Return the line that answers a task."""
    fields: Fields = {
        "tables": [[keyspace, meta.to_json()] for keyspace, meta in result.tables],
        "entries_in": result.entries_in,
        "entries_out": result.entries_out,
        "user_bytes": result.user_bytes,
        "io": asdict(io),
    }
    return json.dumps(fields).encode() + b"\n"


def encode_error(error: BaseException) -> bytes:
    """Return the line that answers a task which failed."""
    fields: Fields = {
        "error": type(error).__name__,
        "message": str(error),
        "errno": getattr(error, "errno", None),
        "path": getattr(error, "path", ""),
        "what": getattr(error, "what", str(error)),
        "offset": getattr(error, "offset", None),
    }
    return json.dumps(fields).encode() + b"\n"


def decode_result(line: bytes) -> tuple[TaskResult, IoSnapshot]:
    """Inverse of encode_result; raises what encode_error was given, as nearly as this process can."""
    fields = json.loads(line)
    if "error" in fields:
        raise _error_from_json(fields)
    tables = tuple((keyspace, TableMeta.from_json(meta)) for keyspace, meta in fields["tables"])
    io = IoSnapshot(
        *(
            {Cause(cause): n for cause, n in fields["io"][part].items()}
            for part in ("written", "read", "syncs")
        )
    )
    return TaskResult(tables, fields["entries_in"], fields["entries_out"], fields["user_bytes"]), io


def _error_from_json(fields: Fields) -> Exception:
    name, message = cast("str", fields["error"]), cast("str", fields["message"])
    if name in _ERRORS:
        return _ERRORS[name](
            cast("str", fields["path"]),
            cast("str", fields["what"]),
            offset=cast("int | None", fields["offset"]),
        )
    if name == "UnsupportedFormat":
        return UnsupportedFormat(message)
    number = fields["errno"]
    if number in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(cast("str", fields["path"]), message)
    if isinstance(number, int):
        return OSError(number, message)
    return Error(f"background work failed: {name}: {message}")
