"""What a file of pairs is like: its kind, its columns, and how bytes are written in it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from lsm.errors import InvalidArgument

Kind: TypeAlias = Literal["parquet", "arrow", "csv", "jsonl"]
Code: TypeAlias = Literal["auto", "text", "hex", "base64"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
CODES: Final[tuple[Code, ...]] = get_args(Code)
OF_PYARROW: Final = ("parquet", "arrow")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How pairs are written in a file.

    A code says how bytes appear: "text" as the UTF-8 text they must be then, "hex" and "base64" as text in
    those alphabets.  "auto" takes all bytes: in parquet and arrow as they are; in csv as text, or after
    `base64:` where they are none; in jsonl as a string, or {"base64": "..."} where they are none.
    """

    kind: Kind | None = None
    """Kind of the file; None goes by the end of its name."""
    key_format: Code = "auto"
    value_format: Code = "auto"
    key_column: str = "key"
    value_column: str = "value"
    overwrite: bool = False
    """An export may replace a file."""

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in KINDS:
            raise InvalidArgument(f"kind must be one of {', '.join(KINDS)}; not {self.kind!r:.40}")
        for name, code in (("key_format", self.key_format), ("value_format", self.value_format)):
            if code not in CODES:
                raise InvalidArgument(f"{name} must be one of {', '.join(CODES)}; not {code!r:.40}")
        if self.key_column == self.value_column:
            raise InvalidArgument(f"keys and values cannot both be in column {self.key_column!r:.60}")

    def kind_of(self, path: str) -> Kind:
        """Return the kind of a file: what was said, or what its name says."""
        if self.kind is not None:
            return self.kind
        suffix = path.rpartition(".")[2].lower() if "." in path else ""
        for kind in KINDS:
            if suffix == kind:
                return kind
        near = difflib.get_close_matches(suffix, KINDS, n=1)
        hint = f"; did you mean .{near[0]}?" if near else ""
        names = ", ".join(f".{kind}" for kind in KINDS)
        raise InvalidArgument(f"{path}: the name must end in one of {names}, or a format be given{hint}")
