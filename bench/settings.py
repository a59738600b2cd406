"""What every command can be told: the data it works on, and where.  The rest is beside each command."""

import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

MIB = 1024 * 1024
_PLACES = ("directory", "out")  # of this machine, and nobody else's business

Directory = Annotated[
    Path | None, typer.Option(help="Where stores are made; a temporary directory otherwise.")
]
Out = Annotated[Path | None, typer.Option(help="Write every figure to this JSON file.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The data that a run works on, and where."""

    keys: Annotated[int, typer.Option(min=10, help="Entries in the store.")] = 1_000_000
    key_bytes: Annotated[int, typer.Option(min=8, max=1024, help="Bytes a key.")] = 16
    value_bytes: Annotated[int, typer.Option(min=1, max=MIB, help="Bytes a value.")] = 100
    seed: Annotated[int, typer.Option(min=0, help="Keys, values and their order come from this.")] = 1
    directory: Directory = None
    out: Out = None

    @property
    def data_bytes(self) -> int:
        """Bytes of all keys and values."""
        return self.keys * (self.key_bytes + self.value_bytes)

    @property
    def place(self) -> Path:
        """The directory that stores are made in."""
        return self.directory or Path(tempfile.gettempdir())

    def to_json(self) -> dict[str, object]:
        """Return the settings without places of this machine."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _PLACES}
