"""Settings of `log`."""

from dataclasses import dataclass
from typing import Annotated

import typer

from bench.settings import MIB, Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSettings(Shape):
    """Settings of `log`."""

    log_bytes: Annotated[int, typer.Option(min=64 * 1024, help="Size of the log that is sought in.")] = (
        1024 * MIB
    )
    seeks: Annotated[int, typer.Option(min=1, help="How often each kind of place is sought.")] = 200
    seconds: Annotated[
        float, typer.Option(min=0.05, help="How long a writer writes beside readers or a follower.")
    ] = 3.0
    readers: Annotated[int, typer.Option(min=1, max=100, help="Readers that wait for more of the log.")] = 10
    repeats: Annotated[int, typer.Option(min=1, max=100, help="Rounds; medians are over these.")] = 5
