"""Settings of `spark`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from bench.settings import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkSettings(Shape):
    """Settings of `spark`."""

    keys: Annotated[int, typer.Option(min=1000, help="Rows in the stores.")] = 5_000_000
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Rounds; medians are over these.")] = 5
    warm_ups: Annotated[int, typer.Option(min=1, max=100, help="Rounds that are not counted.")] = 2
    rocks_rows: Annotated[int, typer.Option(min=1000, help="Rows of RocksDB, which is slower.")] = 200_000
