"""The map of the levels: every table as a box over the keys that it holds."""

from dataclasses import dataclass
from typing import Any

from bench.report.chart import Chart, Table, Words, make_chart
from bench.report.charts.keys import key_places
from bench.report.frame import LINE
from bench.report.runs import Run, require
from bench.report.svg import Canvas, fitted
from bench.report.theme import level_style
from bench.report.units import show_bytes, show_count, show_share
from bench.report.values import Unusable, amount, maybe_amount, rows

_LEVELS_MAX = 32
_TABLES_MAX = 50_000
_ROWS_OF_A_LEVEL_MAX = 10
_BOX = 20.0
_GROUP = 4.0  # pixels: thinner tables are drawn together


@dataclass(frozen=True, slots=True)
class _Box:
    """One table: where its keys begin and end among all keys, from 0 to 1."""

    number: str
    left: float
    right: float
    size: float
    entries: float
    tombstones: float

    @property
    def tombstone_share(self) -> float:
        return min(1.0, self.tombstones / self.entries) if self.entries else 0.0

    def tip(self, level: int) -> str:
        return (
            f"L{level} table {self.number}: {show_bytes(self.size)}, {show_count(self.entries)} entries, "
            f"{show_share(self.tombstone_share)} tombstones"
        )


@dataclass(frozen=True, slots=True)
class _Level:
    number: int
    target: float | None
    boxes: list[_Box]

    @property
    def size(self) -> float:
        return sum(box.size for box in self.boxes)

    @property
    def text(self) -> str:
        tables = "1 table" if len(self.boxes) == 1 else f"{show_count(len(self.boxes))} tables"
        full = f", {show_share(self.size / self.target)} of its target" if self.target else ""
        return f"L{self.number}: {tables}, {show_bytes(self.size)}{full}"


def levels_chart(run: Run) -> Chart | None:
    """Return the tables of every level over the space of keys."""
    found = rows(run.result, "levels", _LEVELS_MAX)
    if not found:
        return None
    levels = _levels(found)
    size = sum(level.size for level in levels)
    tables = sum(len(level.boxes) for level in levels)
    require(tables, 1, "tables")
    words = Words(
        title="Map of the levels",
        summary=f"{show_count(tables)} tables, {show_bytes(size)}, by key from left to right. "
        + "; ".join(level.text for level in levels)
        + ".",
        table=Table(
            ["level", "tables", "size", "target", "entries", "tombstones"],
            [
                [
                    f"L{level.number}",
                    show_count(len(level.boxes)),
                    show_bytes(level.size),
                    "–" if level.target is None else show_bytes(level.target),
                    show_count(sum(box.entries for box in level.boxes)),
                    show_count(sum(box.tombstones for box in level.boxes)),
                ]
                for level in levels
            ],
        ),
    )
    return make_chart(run.owner, "levels", words, lambda canvas: _draw(canvas, levels, run.first_level))


def _levels(found: list[dict[str, Any]]) -> list[_Level]:
    tables = [rows(level, "tables", _TABLES_MAX) for level in found]
    if sum(map(len, tables)) > _TABLES_MAX:
        raise Unusable(f"levels: more than {_TABLES_MAX:,} tables")
    bounds = [
        (_key(table.get("smallest")), _key(table.get("largest"))) for level in tables for table in level
    ]
    places = key_places([key for pair in bounds for key in pair])
    levels = []
    at = 0
    for level, boxes in zip(found, tables, strict=True):
        number = int(amount(level.get("level"), "levels: level"))
        if number > 999:
            raise Unusable("levels: a level beyond 999")
        made = []
        for table in boxes:
            left, right = places[2 * at], places[2 * at + 1]
            made.append(_box(table, min(left, right), max(left, right)))
            at += 1
        levels.append(_Level(number, maybe_amount(level.get("target_bytes")), made))
    return sorted(levels, key=lambda level: level.number)


def _box(table: dict[str, Any], left: float, right: float) -> _Box:
    size = amount(table.get("size_bytes"), "levels: size_bytes")
    entries = maybe_amount(table.get("entries")) or 0.0
    number = maybe_amount(table.get("number"))
    tombstones = maybe_amount(table.get("tombstones")) or 0.0
    return _Box("?" if number is None else f"{number:.0f}", left, right, size, entries, tombstones)


def _key(value: object) -> bytes:
    try:
        return bytes.fromhex(value[:128] if isinstance(value, str) else "?")
    except ValueError:
        raise Unusable("levels: a bound that is not hexadecimal") from None


def packed(boxes: list[_Box]) -> list[list[_Box]]:
    """Return tables in rows that keep overlapping ones apart; the last row takes what is left."""
    lines: list[list[_Box]] = []
    for box in sorted(boxes, key=lambda box: box.left):
        home = next((line for line in lines if line[-1].right <= box.left), None)
        if home is None and len(lines) < _ROWS_OF_A_LEVEL_MAX:
            lines.append(home := [])
        (lines[-1] if home is None else home).append(box)
    return lines


def _draw(canvas: Canvas, levels: list[_Level], first: int) -> None:
    y = 0.0
    for level in levels:
        canvas.text(0, y + 12, fitted(level.text, canvas.width))
        y += LINE
        lines = packed(level.boxes)
        height = _BOX if len(lines) <= 1 else max(7.0, _BOX * 1.6 / len(lines))
        for line in lines or [[]]:
            canvas.rect((0, canvas.width), (y, y + height), "wash")
            _line(canvas, line, (y, y + height - 1), (level.number, level_style(level.number, first).colour))
            y += height
        y += 9
    canvas.line((0, canvas.width), (y, y), "axis")
    canvas.text(0, y + LINE - 2, "smallest key", "soft")
    canvas.text(canvas.width, y + LINE - 2, "largest key", "soft", anchor="end")
    if any(box.tombstones for level in levels for box in level.boxes):
        middle = canvas.width / 2 - 50
        canvas.rect((middle, middle + 16), (y + 7, y + 15), "fill s1")
        canvas.text(middle + 22, y + LINE - 2, "tombstones", "soft")
    canvas.height = y + LINE + 6


def _line(canvas: Canvas, line: list[_Box], span: tuple[float, float], level: tuple[int, str]) -> None:
    number, colour = level
    top, bottom = span
    for group in grouped(line, _GROUP / canvas.width):
        whole = group[0] if len(group) == 1 else _merged(group)
        left, right = whole.left * canvas.width, whole.right * canvas.width
        x = (left, min(max(right, left + 1.5), canvas.width))
        # The edges of boxes that are this thin would leave nothing of their colour.
        canvas.rect(x, (top, bottom), f"{'box' if len(group) == 1 else 'fill'} {colour}", whole.tip(number))
        if whole.tombstone_share > 0.005:
            height = max(1.5, (bottom - top) * whole.tombstone_share)
            canvas.rect(x, (bottom - height, bottom), "over fill s1")


def grouped(line: list[_Box], width: float) -> list[list[_Box]]:
    """Return neighbours together until they are as wide as `width`; wide tables stay alone."""
    groups: list[list[_Box]] = []
    for box in line:
        last = groups[-1] if groups else []
        is_thin = bool(last) and last[-1].right - last[0].left < width and box.right - box.left < width
        if is_thin and box.left - last[-1].right < width / 4:
            last.append(box)
        else:
            groups.append([box])
    return groups


def _merged(group: list[_Box]) -> _Box:
    return _Box(
        number=f"{group[0].number} and {len(group) - 1:,} more",
        left=group[0].left,
        right=max(box.right for box in group),
        size=sum(box.size for box in group),
        entries=sum(box.entries for box in group),
        tombstones=sum(box.tombstones for box in group),
    )
