"""Texts beside points, placed so that none covers another or a point; what finds no place is left out."""

from collections.abc import Iterator

from bench.report.svg import Canvas, text_width

_Box = tuple[float, float, float, float]


class Labels:
    """The labels of one plot."""

    def __init__(self, left: float, right: float, top: float, bottom: float) -> None:
        self._edges = (left, right, top, bottom)
        self._taken: list[_Box] = []

    def block(self, x: float, y: float, r: float) -> None:
        """Keep labels off a place."""
        self._taken.append((x - r, x + r, y - r, y + r))

    def write(self, canvas: Canvas, text: str, at: tuple[float, float]) -> bool:
        """Write a label near a place, if there is room for it."""
        width = text_width(text, 11)
        for x, y in _near(*at, width):
            box = (x, x + width, y - 10, y + 2)
            if self._is_free(box):
                self._taken.append(box)
                canvas.text(x, y, text, "small halo")
                return True
        return False

    def _is_free(self, box: _Box) -> bool:
        left, right, top, bottom = self._edges
        if box[0] < left or box[1] > right or box[2] < top or box[3] > bottom:
            return False
        return not any(
            box[0] < other[1] and other[0] < box[1] and box[2] < other[3] and other[2] < box[3]
            for other in self._taken
        )


def _near(x: float, y: float, width: float) -> Iterator[tuple[float, float]]:
    """Yield left ends of base lines around a place, the best first."""
    yield x + 9, y + 4
    yield x - 9 - width, y + 4
    for distance in (10, 19):
        yield x - width / 2, y - distance + 1
        yield x - width / 2, y + distance + 8
        yield x + 6, y - distance + 2
        yield x + 6, y + distance + 6
        yield x - 6 - width, y - distance + 2
        yield x - 6 - width, y + distance + 6
