"""Settings of `background`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from bench.settings import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundSettings(Shape):
    """Settings of `background`."""

    seconds: Annotated[float, typer.Option(min=0.1, help="How long each measurement of pauses lasts.")] = 10.0
    rate: Annotated[
        int, typer.Option(min=0, help="Puts a second while pauses are measured; 0 is as fast as it goes.")
    ] = 50_000
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Rounds; medians are over these.")] = 3
