"""Writing SVG: elements with everything escaped, on a canvas that grows as it is drawn on."""

from html import escape

TEXT_SIZE = 12
_WIDTH_OF_A_CHARACTER = 0.59  # of the text size: wide enough for the digits and letters of common fonts
_TEXTURES = {
    "hatch": '<path d="M-1 1L1 -1M0 6L6 0M5 7L7 5" class="texture"/>',
    "dots": '<circle cx="1.5" cy="1.5" r="1" class="spot"/><circle cx="4.5" cy="4.5" r="1" class="spot"/>',
    "cross": '<path d="M0 0L6 6M0 6L6 0" class="texture"/>',
}


def text_width(text: str, size: float = TEXT_SIZE) -> float:
    """Return about how wide a text will be."""
    return len(text) * size * _WIDTH_OF_A_CHARACTER


def fitted(text: str, width: float, size: float = TEXT_SIZE) -> str:
    """Return a text cut to what fits a width."""
    room = max(1, int(width / (size * _WIDTH_OF_A_CHARACTER) + 0.01))
    return text if len(text) <= room else text[: room - 1] + "…"


class Canvas:
    """A picture in the making.  `height` is set by who draws; `prefix` keeps its ids apart from others'."""

    def __init__(self, width: float, prefix: str) -> None:
        self.width = width
        self.height = 0.0
        self.prefix = prefix
        self._parts: list[str] = []
        self._textures: set[str] = set()

    @property
    def is_narrow(self) -> bool:
        """Whether there is no room for labels beside the plot."""
        return self.width < 500

    @property
    def body(self) -> str:
        """All elements so far."""
        patterns = "".join(
            f'<pattern id="{self.prefix}-{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f"{_TEXTURES[name]}</pattern>"
            for name in sorted(self._textures)
        )
        return (f"<defs>{patterns}</defs>" if patterns else "") + "".join(self._parts)

    def add(self, tag: str, style: str, *, tip: str = "", **attributes: float | str) -> None:
        """Add one element of a class; `tip` is shown when a pointer rests on it."""
        self._element(tag, style, tip, attributes)

    def _element(self, tag: str, style: str, tip: str, attributes: dict[str, float | str]) -> None:
        words = "".join(f' {name.replace("_", "-")}="{_plain(value)}"' for name, value in attributes.items())
        end = f"><title>{escape(tip)}</title></{tag}>" if tip else "/>"
        self._parts.append(f'<{tag} class="{escape(style)}"{words}{end}')

    def text(self, x: float, y: float, text: str, style: str = "", *, anchor: str = "start") -> None:
        """Write a text; `y` is its base line."""
        classes = f' class="{escape(style)}"' if style else ""
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(f'<text x="{_plain(x)}" y="{_plain(y)}"{classes}{place}>{escape(text)}</text>')

    def line(self, x: tuple[float, float], y: tuple[float, float], style: str) -> None:
        """Draw a straight line."""
        self.add("line", style, x1=x[0], y1=y[0], x2=x[1], y2=y[1])

    def rect(self, x: tuple[float, float], y: tuple[float, float], style: str, tip: str = "") -> None:
        """Draw a box between two x and two y; a texture of its style lies on top."""
        size: dict[str, float | str] = {
            "x": min(x),
            "y": min(y),
            "width": abs(x[1] - x[0]),
            "height": abs(y[1] - y[0]),
        }
        self._element("rect", style, tip, size)
        for texture in self._textures_of(style):
            self._element("rect", "over", "", size | {"fill": texture})

    def path(self, data: str, style: str, tip: str = "") -> None:
        """Draw a path, with the texture of its style on top."""
        self.add("path", style, d=data, tip=tip)
        for texture in self._textures_of(style):
            self.add("path", "over", d=data, fill=texture)

    def _textures_of(self, style: str) -> list[str]:
        names = [name for name in style.split() if name in _TEXTURES]
        self._textures.update(names)
        return [f"url(#{self.prefix}-{name})" for name in names]


def _plain(value: float | str) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
