"""Colours, dashes and shapes: told apart by every kind of eye, on light ground and on dark.

tests/bench/test_report_theme.py has the yardsticks: contrast with the ground, distance between neighbours as
seen with each kind of colour blindness.
"""

from collections.abc import Mapping
from dataclasses import dataclass

GROUND = {"light": "#ffffff", "dark": "#14171c"}
SERIES = {
    "light": ("#4c42de", "#ac2c2e", "#09a596", "#7d479d", "#c48800", "#122031"),
    "dark": ("#49bcff", "#e87b2e", "#4c9a70", "#ffa6c8", "#ecea29", "#f1f3f6"),
}
# From the shallowest level to the deepest.
LEVELS = {
    "light": ("#2ea568", "#2a8291", "#2b62a0", "#4b46a6", "#402080", "#2c0f42"),
    "dark": ("#eef06a", "#a5d75f", "#4fc08d", "#2f98a0", "#5f7fc4", "#7d4fc0"),
}
_REST = {
    "light": {"ink": "#1b1f24", "soft": "#59616b", "grid": "#e3e6ea", "edge": "#8b939c", "wash": "#f5f6f8"},
    "dark": {"ink": "#e8eaed", "soft": "#a3abb5", "grid": "#2a2f37", "edge": "#747d88", "wash": "#1c2027"},
}
_NEUTRAL = {"light": "#7b828b", "dark": "#969da7"}
_FLUSH = {"light": "#c48800", "dark": "#a5744f"}

SHAPES = ("circle", "square", "diamond", "triangle", "down", "cross")
DASHES = ("", "dash1", "dash2", "dash3", "dash4", "dash5")


@dataclass(frozen=True, slots=True)
class Style:
    """How one series looks: a class of colour, a class of dash, a shape."""

    colour: str
    dash: str = ""
    shape: str = "circle"
    texture: str = ""


def series_style(number: int) -> Style:
    """Return the look of a series; colour, dash and shape go round together, each at its own pace."""
    turn = number // len(SHAPES)
    return Style(
        f"s{number % len(SHAPES)}",
        DASHES[(number + turn) % len(DASHES)],
        SHAPES[(number + turn) % len(SHAPES)],
    )


def level_style(level: int, first: int = 1) -> Style:
    """Return the look of a level of the tree, by its depth below the first one; L0 is what a flush writes."""
    if level <= 0:
        return Style("flush")
    return Style(f"l{min(max(level - first + 1, 1), len(LEVELS['light']))}")


def variables(mode: str) -> Mapping[str, str]:
    """Return the values of all variables in a mode."""
    found = {"ground": GROUND[mode], "neutral": _NEUTRAL[mode], "flush": _FLUSH[mode], **_REST[mode]}
    found |= {f"s{at}": colour for at, colour in enumerate(SERIES[mode])}
    return found | {f"l{at}": colour for at, colour in enumerate(LEVELS[mode], start=1)}


def colour_css(root: str) -> str:
    """Return the variables of both modes, set on an element."""

    def block(mode: str) -> str:
        return root + "{" + "".join(f"--{name}:{value};" for name, value in variables(mode).items()) + "}"

    return f"{block('light')}\n@media (prefers-color-scheme:dark){{{block('dark')}}}\n"


def chart_css() -> str:
    """Return the rules that the pictures need."""
    names = [name for name in variables("light") if name[0] in "sl" and name[1:].isdigit()]
    names += ["neutral", "flush", "ink", "soft"]
    return "".join(f".{name}{{--c:var(--{name})}}" for name in names) + _CHART_RULES


_CHART_RULES = """
.chart{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.chart text{fill:var(--ink)}
.chart text.soft{fill:var(--soft)}
.chart text.strong{font-weight:600}
.chart text.small{font-size:11px}
.chart text.halo{paint-order:stroke;stroke:var(--ground);stroke-width:3px;stroke-linejoin:round}
.grid{stroke:var(--grid);stroke-width:1;shape-rendering:crispEdges}
.axis{stroke:var(--edge);stroke-width:1;shape-rendering:crispEdges}
.lead{stroke:var(--edge);stroke-width:1;fill:none}
.wash{fill:var(--wash)}
.fill{fill:var(--c)}
.faint{fill:var(--c);fill-opacity:.18}
.layer{fill:var(--c);stroke:var(--ground);stroke-width:.75}
.box{fill:var(--c);stroke:var(--ground);stroke-width:.75}
.hollow{fill:var(--ground);stroke:var(--c);stroke-width:1.8}
.stroke{fill:none;stroke:var(--c);stroke-width:2;stroke-linejoin:round;stroke-linecap:round}
.thin{stroke-width:1.25}
.thick{stroke-width:2.5}
.theory{fill:none;stroke:var(--ink);stroke-width:2;stroke-dasharray:7 4}
.under{fill:none;stroke:var(--ground);stroke-width:5;stroke-opacity:.6}
.mark{stroke:var(--ink);stroke-width:2}
.whisker{stroke:var(--c);stroke-width:1.5;stroke-opacity:.55}
.dash1{stroke-dasharray:8 4}
.dash2{stroke-dasharray:2 4}
.dash3{stroke-dasharray:10 4 2 4}
.dash4{stroke-dasharray:4 3}
.dash5{stroke-dasharray:14 5}
.texture{stroke:var(--ground);stroke-width:1.2;stroke-opacity:.75;fill:none}
.spot{fill:var(--ground);fill-opacity:.8}
.over{pointer-events:none}
.hover{fill:transparent}
.hover:hover{fill:var(--ink);fill-opacity:.1}
"""
