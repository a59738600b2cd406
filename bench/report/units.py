"""Figures as people write them: MiB, k a second, µs, three digits that matter."""

from dataclasses import dataclass

_BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "bytes"))
_DECIMAL = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_TIME = ((86_400.0, "days"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_MICROSECONDS = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))


@dataclass(frozen=True, slots=True)
class Unit:
    """What a value is divided by, and what is written behind it."""

    divisor: float = 1.0
    name: str = ""


PLAIN = Unit()


def byte_unit(largest: float) -> Unit:
    """Return the unit for sizes up to `largest`."""
    return _pick(_BINARY, largest)


def count_unit(largest: float, name: str = "") -> Unit:
    """Return the unit for counts up to `largest`: k, M or G of something."""
    unit = _pick(_DECIMAL, largest)
    return Unit(unit.divisor, f"{unit.name} {name}".strip())


def time_unit(largest: float) -> Unit:
    """Return the unit for seconds up to `largest`; minutes begin where seconds have four digits."""
    steps = [step for step in _TIME if step[0] <= 1 or largest >= 10 * step[0]]
    return _pick(steps, largest)


def _pick(steps: "list[tuple[float, str]] | tuple[tuple[float, str], ...]", largest: float) -> Unit:
    for divisor, name in steps:
        if largest >= divisor:
            return Unit(divisor, name)
    return Unit(*steps[-1])


def short(value: float) -> str:
    """Return a number with about three digits."""
    size = abs(value)
    if size >= 1e6:
        return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")
    if size >= 99.95:
        return f"{value:,.0f}"
    if size >= 9.995:
        return f"{value:.1f}"
    if size >= 0.0995:
        return f"{value:.2f}"
    return f"{value:.2g}"


def show_bytes(value: float) -> str:
    """Return a size: 48.2 MiB."""
    unit = byte_unit(abs(value))
    return f"{short(value / unit.divisor)} {unit.name}"


def show_count(value: float) -> str:
    """Return a count: 1,234 or 5.2 M."""
    if abs(value) < 1e5:
        return f"{value:,.0f}" if value == int(value) else short(value)
    unit = count_unit(abs(value))
    return f"{short(value / unit.divisor)} {unit.name}".strip()


def show_rate(value: float) -> str:
    """Return a rate: 18.2 k/s."""
    unit = count_unit(abs(value))
    return f"{short(value / unit.divisor)} {unit.name}/s".replace(" /s", "/s")


def show_seconds(value: float) -> str:
    """Return a time: 4.1 ms, 12.5 s."""
    unit = time_unit(abs(value))
    return f"{short(value / unit.divisor)} {unit.name}"


def show_us(value: float) -> str:
    """Return a time that is given in microseconds: 31 µs, 4.1 ms."""
    unit = _pick(_MICROSECONDS, abs(value))
    return f"{short(value / unit.divisor)} {unit.name}"


def show_share(value: float) -> str:
    """Return a share of one as percent: 0.82 %."""
    return f"{short(100 * value)} %"


def show_times(value: float) -> str:
    """Return a ratio: 9.04×."""
    return f"{short(value)}×"


_BY_SUFFIX = (
    ("_bytes", show_bytes),
    ("_us", show_us),
    ("_ns", lambda value: show_us(value / 1000)),
    ("_seconds", show_seconds),
    ("_amp", show_times),
    ("_amp_with_log", show_times),
    ("_amp_peak", show_times),
    ("_rate", show_share),
    ("_share", show_share),
    ("ops_per_second", show_rate),
    ("_ops", show_rate),
)


def show_figure(name: str, value: float) -> str:
    """Return a figure of a result in the unit that its name tells."""
    for suffix, show in _BY_SUFFIX:
        if name.endswith(suffix):
            return show(value)
    return short(value)
