"""Figures and words as people read them, and the shape of the command line itself."""

from dataclasses import dataclass
from inspect import signature
from typing import Annotated

import pytest
import typer

from lsm.cli.app import app
from lsm.cli.output import plural, printable, share, size
from lsm.cli.parameters import as_command
from lsm.cli.stats_tables import background_table, write_table
from lsm.pressure import Pressure
from lsm.stats import BackgroundStats, WriteStats


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1 << 20, "1.0 MiB"),
        (5 << 40, "5.0 TiB"),
    ],
)
def test_sizes(count, text):
    assert size(count) == text


def test_sizes_beyond_the_last_unit_stay_in_it():
    assert size(3 << 50) == "3072.0 TiB"


def test_shares_and_plurals():
    assert (share(1, 8), share(1, 0)) == ("12.5 %", "–")
    assert (plural(1, "table"), plural(1200, "table"), plural(2, "entry")) == (
        "1 table",
        "1,200 tables",
        "2 entries",
    )


def test_printable_leaves_letters_and_takes_commands():
    assert printable("é\x1b[2J\n\u202e\udcff") == r"é\x1b[2J\n\u202e\udcff"


def text_of(table):
    from rich.console import Console

    console = Console(width=120)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_write_costs_are_shown_by_cause():
    write = WriteStats(
        user_bytes=1000,
        written={"log": 1100, "flush": 900, "compaction": 0},
        syncs={"log": 3, "flush": 1},
        write_amp=2.0,
    )

    text = text_of(write_table(write))

    assert "1.10" in text
    assert "2.00" in text
    assert "compaction" not in text


def test_stalls_and_failures_are_shown():
    text = text_of(
        background_table(
            BackgroundStats(
                flushes=2,
                compactions=1,
                loads=0,
                moves=1,
                entries_in=10,
                entries_out=8,
                sealed=0,
                pressure=Pressure(0.5, "9 tables in L0"),
                slowdowns=3,
                stops=1,
                stall_seconds=1.25,
                last_stall_reason="9 tables in L0",
                failure="disk \x1b gone",
            )
        )
    )

    assert "3 slowdowns, 1 stop, 1.25 s 9 tables in L0" in text
    assert "50% 9 tables in L0" in text
    assert r"disk \x1b gone" in text


@dataclass(frozen=True)
class Group:
    first: Annotated[int, typer.Option()] = 1
    second: str = "x"


def test_a_group_of_options_is_unfolded_and_folded_again():
    seen = []

    def command(name: str, group: Group, last: bool = False) -> None:
        seen.append((name, group, last))

    unfolded = as_command(command)
    unfolded(name="n", first=2, second="y", last=True)

    assert list(signature(unfolded).parameters) == ["name", "first", "second", "last"]
    assert seen == [("n", Group(2, "y"), True)]


def test_help_lists_every_command_and_the_contract(run):
    text = run("--help").stdout

    for word in (
        "put",
        "get",
        "delete",
        "scan",
        "stats",
        "verify",
        "compact",
        "checkpoint",
        "keyspaces",
        "demo",
    ):
        assert word in text
    for word in ("hex:00ff", "base64:AP8=", r"\xNN", "Exit codes", '{"base64": "..."}'):
        assert word in text


@pytest.mark.parametrize(
    "name", [command.name or command.callback.__name__ for command in app.registered_commands]
)
def test_every_command_has_help(run, name):
    result = run(name, "--help")

    assert result.exit_code == 0
    assert f"lsm {name}" in result.stdout


def test_version(run):
    assert run("--version").stdout.startswith("lsm")
