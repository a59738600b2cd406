"""`lsm spark-sql`: a query over the keyspaces of a store."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from lsm.cdc import to_json
from lsm.cli.exits import BadUsage
from lsm.cli.output import data_stream, printable
from lsm.cli.parameters import AsJson, StorePath
from lsm.cli.spark_session import spark_session
from lsm.cli.stores import store_to_read
from lsm.cli.text import escape

_DEFAULT_VIEW = "kv"
_NULL = "NULL"


class SparkFormat(StrEnum):
    """What the bytes of a store are taken for."""

    BINARY = "binary"
    STRING = "string"
    LONG = "long"
    DOUBLE = "double"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """What keys and values are."""

    key_format: Annotated[SparkFormat, typer.Option(help="What keys are.")] = SparkFormat.STRING
    value_format: Annotated[SparkFormat, typer.Option(help="What values are.")] = SparkFormat.STRING
    schema: Annotated[
        str | None,
        typer.Option(metavar="DDL", help='Columns, for json: "key string, name string, price double".'),
    ] = None


def spark_sql(
    path: StorePath,
    query: Annotated[str, typer.Argument(metavar="SQL", help="Query.")],
    typed: Typed,
    json: AsJson = False,
) -> None:
    """Run a query of Spark SQL over a store as it is at this moment.  Works beside a writer.

    The default keyspace is the table kv, the others are tables of their own names; each has the columns key
    and value.  Rows are printed with tabs between the columns, after a line of their names.
    """
    if typed.value_format is SparkFormat.JSON and typed.schema is None:
        raise BadUsage('--value-format json needs --schema, such as "key string, name string, price double"')
    with store_to_read(path) as db:
        keyspaces = list(db.keyspaces())
    with spark_session() as spark:
        formats = {"keyFormat": typed.key_format.value, "valueFormat": typed.value_format.value}
        for name in keyspaces:
            reader = spark.read.format("lsm").options(keyspace=name, **formats)
            reader = reader if typed.schema is None else reader.schema(typed.schema)
            frame = reader.load(str(path.resolve()))
            views = [name, _DEFAULT_VIEW] if name == "default" and _DEFAULT_VIEW not in keyspaces else [name]
            for view in views:
                frame.createOrReplaceTempView("`" + view.replace("`", "``") + "`")
        _show(spark.sql(query), json=json)


def _show(frame: Any, *, json: bool) -> None:
    out = data_stream()
    names = list(frame.columns)
    line: Callable[[Any], str] = _as_object(names) if json else _as_cells
    if names and not json:
        out.write("\t".join(map(printable, names)).encode() + b"\n")
    for row in frame.toLocalIterator():
        out.write(line(row).encode() + b"\n")


def _as_cells(row: Any) -> str:
    return "\t".join(map(_cell, row))


def _cell(value: object) -> str:
    if value is None:
        return _NULL
    if isinstance(value, bytes | bytearray):
        return escape(bytes(value)).decode("ascii")
    return printable(str(value))


def _as_object(names: list[str]) -> Callable[[Any], str]:
    return lambda row: json.dumps(dict(zip(names, row, strict=True)), default=_json)


def _json(value: object) -> object:
    return to_json(bytes(value)) if isinstance(value, bytearray) else str(value)
