"""What users may say of a write."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast
from zlib import crc32

from lsm.adoption.bulk import check_transaction
from lsm.arguments import as_user_keyspace_name
from lsm.errors import InvalidArgument
from lsm.spark.options import FORMATS, KEY, PLACE, READ, VALUE, Given, one_of, size, text, whole_number

WRITE: Final = (
    "keyColumn",
    "valueColumn",
    "keyFormat",
    "valueFormat",
    "duplicates",
    "targetFileSize",
    "txnAppId",
    "txnVersion",
    "adoptTimeout",
)
_SPARKS_STREAM: Final = ("checkpointLocation", "queryName")
_TIMEOUT_SECONDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """What a write was asked for."""

    path: str
    keyspace: str = "default"
    key_column: str = KEY
    value_column: str = VALUE
    key_format: str = "binary"
    value_format: str = "binary"
    duplicates: Literal["error", "last"] | None = None
    """None: an error, unless a column says which row is the last."""
    table_bytes: int | None = None
    """None: as large as the store's own tables."""
    transaction: tuple[str, int] | None = None
    app_id: str | None = None
    """In place of the id of a streaming query."""
    timeout_seconds: int = _TIMEOUT_SECONDS
    query_mark: str | None = None
    """The same for all batches of one streaming query, and no other."""


def write_options(options: Mapping[str, str], *, is_stream: bool = False) -> WriteOptions:
    """Return what a write was asked for, or raise what is wrong with it."""
    given = Given(options)
    # A table of the catalog has the options of its reads, too.
    given.refuse_unknown((*PLACE, *WRITE, *_SPARKS_STREAM), also=READ)
    if not {"path", "paths"} & {name.lower() for name in options}:
        raise InvalidArgument(
            'no path: say .save("path of a store"); to a table of its catalog Spark writes without the '
            "options that it has, so say INSERT INTO t WITH (path='...'), or insert into a temporary view"
        )
    paths = given.paths()
    if len(paths) > 1:
        raise InvalidArgument("a write goes to one store; there are several paths")
    duplicates = given.get("duplicates", one_of(("error", "last")), "")
    checkpoint = given.get("checkpointLocation", text, "")
    app_id, transaction = _transaction(given, is_stream=is_stream)
    return WriteOptions(
        path=paths[0],
        keyspace=as_user_keyspace_name(given.get("keyspace", text, "default")),
        key_column=given.get("keyColumn", text, KEY),
        value_column=given.get("valueColumn", text, VALUE),
        key_format=given.get("keyFormat", one_of(FORMATS[:-1]), "binary"),
        value_format=given.get("valueFormat", one_of(FORMATS), "binary"),
        duplicates=cast('Literal["error", "last"]', duplicates) if duplicates else None,
        table_bytes=given.get("targetFileSize", size, 0) or None,
        transaction=transaction,
        app_id=app_id,
        timeout_seconds=given.get("adoptTimeout", whole_number(1, 10**6), _TIMEOUT_SECONDS),
        query_mark=f"{crc32(checkpoint.encode()):08x}" if checkpoint else None,
    )


def _transaction(given: Given, *, is_stream: bool) -> tuple[str | None, tuple[str, int] | None]:
    app_id = given.get("txnAppId", text, "")
    number = given.get("txnVersion", whole_number(0, 2**62 - 1), -1)
    if app_id:
        check_transaction((app_id, 0))
    if is_stream:
        if number >= 0:
            raise InvalidArgument("txnVersion of a stream is the number of the batch; leave it out")
        return app_id or None, None
    if bool(app_id) != (number >= 0):
        raise InvalidArgument("txnAppId and txnVersion belong together; give both or none")
    return None, (app_id, number) if app_id else None
