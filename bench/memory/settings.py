"""Settings of `memory`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from bench.settings import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySettings(Shape):
    """Settings of `memory`."""

    keys: Annotated[int, typer.Option(min=10, help="Entries in the store.")] = 10_000_000
    reads: Annotated[int, typer.Option(min=1, help="Random reads after which memory is measured again.")] = (
        100_000
    )
