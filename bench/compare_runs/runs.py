"""Two result files: what they have in common, what keeps them from being compared, what differs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from bench.result import BadResult, read_result

MAY_DIFFER = frozenset(
    {
        "option",
        "repeats",
        "interval",
        "samples",
        "scan_pairs",
        "doing_seconds",
        "kept",
        "check",
        "durable_operations",
    }
)
"""Settings that do not change what a run works on: options of the store are what one wants to compare."""
_TEXT_MAX = 60
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Run:
    """One result file, as far as it can be compared."""

    name: str
    command: str
    settings: Mapping[str, Any]
    figures: Mapping[str, float]
    stopped_by: str | None
    host: Mapping[str, Any]
    versions: Mapping[str, Any]
    options: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> "Run":
        """Return a run; BadResult if the file is none, or has nothing to compare."""
        found = read_result(path)
        figures = found.get("figures")
        if not isinstance(figures, dict) or not figures:
            raise BadResult(f"{path}: has no figures to compare")
        for name, value in figures.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
                raise BadResult(f"{path}: figure {short(name)} is no number: {short(value)}")
        is_complete = found.get("complete") is True
        return cls(
            name=path.name,
            command=found["command"],
            settings=_record(path, found, "settings"),
            figures={name: float(value) for name, value in figures.items()},
            stopped_by=None if is_complete else str(found.get("stopped_by") or "not complete"),
            host=_record(path, found, "host"),
            versions=_record(path, found, "versions"),
            options=_record(path, found, "options"),
        )


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # JSON knows whole numbers of any length
        return False


def _record(path: Path, found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    record = found.get(name, {})
    if not isinstance(record, dict):
        raise BadResult(f"{path}: {name} is no record: {short(record)}")
    return record


def obstacles(before: Run, after: Run) -> Iterator[str]:
    """Yield what keeps two runs from being compared."""
    if before.command != after.command:
        yield f"command: {short(before.command)} and {short(after.command)}"
        return
    for name, one, other in _differences(before.settings, after.settings):
        if name not in MAY_DIFFER:
            yield f"{short(name)}: {one} and {other}"
    for run in (before, after):
        if run.stopped_by is not None:
            yield f"{short(run.name)} is partial: {short(run.stopped_by)}"


def circumstances(before: Run, after: Run) -> Iterator[str]:
    """Yield what else differs, which a reader should know of."""
    for name, one, other in _differences(before.options, after.options):
        yield f"option {short(name)}: {one}, then {other}"
    for name, one, other in _differences(before.versions, after.versions):
        yield f"version of {short(name)}: {one}, then {other}"
    for name, one, other in _differences(before.host, after.host):
        if name != "load_average":  # always does
            yield f"{short(name)} of the machine: {one}, then {other}"


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name, _MISSING), after.get(name, _MISSING)
        if one != other:
            yield name, _text(one), _text(other)


def _text(value: object) -> str:
    return "nothing" if value is _MISSING else short(value)


def short(value: object) -> str:
    """Return a value of a file as one short line, whatever it is."""
    text = value if isinstance(value, str) else repr(value)
    plain = "".join(letter if letter.isprintable() else "?" for letter in text[: _TEXT_MAX + 1])
    return plain if len(plain) <= _TEXT_MAX else f"{plain[:_TEXT_MAX]}…"
