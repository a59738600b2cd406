"""`compare-runs`: figures of two result files side by side, and conditions under which that fails."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from bench.cli import app
from bench.compare_runs.rules import change, parse_rule
from bench.compare_runs.runs import Run, circumstances, obstacles, short

SETTINGS = {"keys": 1000, "key_bytes": 16, "value_bytes": 100, "seed": 1, "option": []}
FIGURES = {"write_amp": 10.0, "space_amp": 1.1, "ops_per_second": 20_000.0, "left_bytes": 0}


@pytest.fixture
def saved(tmp_path):
    """Writes result files; what is given replaces what a plain one has."""

    def save(name: str, **changed: object):
        content = {
            "format": 2,
            "command": "amplify",
            "settings": SETTINGS,
            "figures": FIGURES,
            "complete": True,
            "stopped_by": None,
            "host": {"cores": 2, "load_average": [0.1]},
            "versions": {"numpy": "2.0"},
            "options": {"level_ratio": 10},
            **changed,
        }
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    return save


def compare(*arguments: object):
    result = CliRunner().invoke(app, ["compare-runs", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.mark.parametrize(
    ("condition", "fails"),
    [
        ("write_amp>+5%", True),
        ("write_amp>+10%", False),
        ("write_amp > +9.9 %", True),
        ("write_amp<-5%", False),
        ("write_amp>11", False),
        ("write_amp>10.9", True),
        ("write_amp>+0.5", True),
        ("write_amp>+1.5", False),
        ("ops_per_second<-10%", True),
        ("ops_per_second<-30%", False),
        ("ops_per_second<15000", False),
        ("ops_per_second<16000.5", True),
        ("space_amp>+0%", False),
        ("left_bytes>+5%", True),
        ("left_bytes>+65536", False),
    ],
)
def test_conditions(saved, condition, fails):
    before = saved("a")
    after = saved("b", figures=FIGURES | {"write_amp": 11.0, "ops_per_second": 16_000.0, "left_bytes": 10})

    result = compare(before, after, "--fail-if", condition)

    assert result.exit_code == int(fails), result.output
    assert ("FAILED: " in result.output) == fails


def test_what_differs_is_said(saved):
    before = saved("a", figures=FIGURES | {"only_here": 1.0})
    after = saved(
        "b",
        figures=FIGURES | {"write_amp": 9.0, "only_there": 2.0},
        options={"level_ratio": 8},
        versions={"numpy": "2.1"},
        host={"cores": 4, "load_average": [3.0]},
    )

    result = compare(before, after)

    assert result.exit_code == 0
    assert "-10.00%" in result.output and "space_amp" not in result.output
    assert "3 figures are the same" in result.output
    assert "only in a.json: only_here" in result.output and "only in b.json: only_there" in result.output
    assert "option level_ratio: 10, then 8" in result.output
    assert "version of numpy: 2.0, then 2.1" in result.output
    assert "cores of the machine: 2, then 4" in result.output and "load_average" not in result.output


def test_one_of_several_conditions_is_enough(saved):
    before, after = saved("a"), saved("b", figures=FIGURES | {"write_amp": 12.0})

    result = compare(before, after, "--fail-if", "space_amp>1.5", "--fail-if", "write_amp>+5%")

    assert result.exit_code == 1
    assert "FAILED: write_amp>+5%" in result.output


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"command": "run"}, "command: amplify and run"),
        ({"settings": SETTINGS | {"keys": 2000}}, "keys: 1000 and 2000"),
        ({"settings": SETTINGS | {"dist": "zipf:0.99"}}, "dist: nothing and zipf:0.99"),
        ({"complete": False, "stopped_by": "interrupted"}, "b.json is partial: interrupted"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_unless_forced(saved, changed, said):
    before, after = saved("a"), saved("b", **changed)

    refused, forced = compare(before, after), compare(before, after, "--force")

    assert (refused.exit_code, forced.exit_code) == (2, 0)
    assert said in refused.output and f"NOT COMPARABLE: {said}" in forced.output


def test_options_of_the_store_may_differ(saved):
    before, after = saved("a"), saved("b", settings=SETTINGS | {"option": ["level_ratio=4"]})

    assert compare(before, after).exit_code == 0


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("writeamp>+5%", "did you mean write_amp?"),
        ("write_amp", "--fail-if takes a condition"),
        ("write_amp>=5%", "--fail-if takes a condition"),
        ("write_amp>5%", "has a sign"),
        ("write_amp>+five%", "--fail-if takes a condition"),
        ("write_amp>" + "9" * 400, "no such number"),
        ("only_there>1", "the first run has not measured only_there"),
    ],
)
def test_a_condition_that_makes_no_sense_is_refused(saved, condition, said):
    before, after = saved("a"), saved("b", figures=FIGURES | {"only_there": 2.0})

    result = compare(before, after, "--fail-if", condition)

    assert result.exit_code == 2
    assert said in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "not a result"),
        ("[" * 100_000, "not JSON"),
        ('{"format": 2, "command": "run"}', "no figures"),
        ('{"format": 1, "command": "compare", "workloads": []}', "no figures"),
        ('{"format": 99, "command": "run", "figures": {"a": 1}}', "format 99"),
        ('{"format": 2, "command": "run", "figures": {"a": "1"}}', "figure a is no number: 1"),
        ('{"format": 2, "command": "run", "figures": {"a": true}}', "figure a is no number"),
        ('{"format": 2, "command": "run", "figures": {"a": NaN}}', "figure a is no number"),
        ('{"format": 2, "command": "run", "figures": {"a": 1e999}}', "figure a is no number"),
        ('{"format": 2, "command": "run", "figures": {"a": 1' + "0" * 4000 + "}}", "figure a is no number"),
        ('{"format": 2, "command": "run", "figures": {"a": 1}, "settings": 5}', "settings is no record"),
        ('{"format": 2, "command": "run", "figures": {"a": 1}, "host": []}', "host is no record"),
    ],
    ids=lambda text: text[:30],
)
def test_a_file_that_is_no_result_is_named(saved, tmp_path, content, said):
    bad = tmp_path / "bad.json"
    bad.write_text(content, encoding="utf-8")

    result = compare(saved("a"), bad)

    assert result.exit_code == 2
    assert "bad.json" in result.output and said in result.output


def test_a_file_that_is_not_there_is_named(saved, tmp_path):
    assert "no such file" in compare(saved("a"), tmp_path / "nowhere.json").output
    assert compare(tmp_path, saved("a")).exit_code == 2


def test_hostile_names_are_shown_as_they_are(saved):
    evil = "[red]x[/nothing]\x1b]0;owned\x07\n" + "y" * 500
    before = saved("a", figures={evil: 1.0}, command="[/]evil")
    after = saved("b", figures={evil: 2.0}, command="[/]evil", options={evil: evil})

    result = compare(before, after)

    assert result.exit_code == 0
    assert "[red]x[/nothing]?]0;owned??" in result.output and "\x1b" not in result.output
    assert "y" * 100 not in result.output


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [(10, 11, 0.1), (10, 10, 0.0), (0, 0, 0.0), (0, 5, math.inf), (0, -5, -math.inf), (-10, -11, -0.1)],
)
def test_change_is_a_share_of_the_first(before, after, expected):
    assert change(before, after) == pytest.approx(expected)


@given(st.floats(0, 1000), st.floats(0, 1000), st.floats(0, 100))
def test_a_condition_is_met_in_one_direction_only(before, after, share):
    above, below = parse_rule(f"x>+{share:f}%"), parse_rule(f"x<-{share:f}%")

    assert not (above.is_met(before, after) and below.is_met(before, after))
    assert not above.is_met(before, before)


@given(st.text(max_size=30))
def test_any_text_is_a_condition_or_an_error(text):
    try:
        rule = parse_rule(text)
    except ValueError:
        return
    assert rule.text == text.strip() and rule.figure


def test_the_same_run_has_neither_obstacles_nor_differences(saved):
    run = Run.read(saved("a"))

    assert list(obstacles(run, run)) == [] == list(circumstances(run, run))
    assert short("x" * 61) == "x" * 60 + "…" and short(None) == "None"
