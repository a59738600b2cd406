"""Changes as lines of JSON, for other programs: a plain form, and the envelope that Debezium publishes.

A format turns a change, or a row of a snapshot, into lines; it opens nothing and writes nothing.
`docs/cdc.md` describes every field of both.
"""

from lsm.cdc.debezium import Debezium, Origin, Shape
from lsm.cdc.json_bytes import JsonBytes, from_json, to_json
from lsm.cdc.jsonl import JsonLines, from_line
from lsm.cdc.rows import Format, Row

__all__ = [
    "Debezium",
    "Format",
    "JsonBytes",
    "JsonLines",
    "Origin",
    "Row",
    "Shape",
    "from_json",
    "from_line",
    "to_json",
]
