"""What commands take alike on the command line: options of the store as name=value, a distribution."""

import types
from collections.abc import Sequence
from dataclasses import fields
from typing import Annotated, Union, get_args, get_origin, get_type_hints

import typer

import lsm

OptionValue = int | float | str | bool | None

OptionTexts = Annotated[
    list[str],
    typer.Option(
        "--option", metavar="NAME=VALUE", help="An option of the store, such as level_ratio=4; repeatable."
    ),
]
"""The type of a field of settings that holds them."""

DistributionText = Annotated[
    str,
    typer.Option(
        help="Which keys are taken: uniform, zipf:0.99, latest, hot:0.01 or sequential; "
        "without, what suits the workload.",
        show_default=False,
    ),
]
"""The type of a field that names a distribution, empty for the workload's own."""

_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_NONE = "none"


def parse_options(texts: Sequence[str]) -> dict[str, OptionValue]:
    """Return options as `lsm.open` takes them; a wrong name or value is an error that says what is right."""
    hints = get_type_hints(lsm.Options)
    found: dict[str, OptionValue] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise ValueError(f"an option is written name=value; not {text!r:.60}")
        if name in found:
            raise ValueError(f"option {name} is given twice")
        found[name] = _converted(value.strip(), hints.get(name))
    lsm.Options().with_changes(found)  # knows every name, and what each may be
    return found


def changed_options(options: lsm.Options) -> dict[str, OptionValue]:
    """Return the options that are not what they would be by themselves, to show them."""
    plain = lsm.Options()
    return {
        field.name: getattr(options, field.name)
        for field in fields(lsm.Options)
        if getattr(options, field.name) != getattr(plain, field.name)
    }


def _converted(text: str, hint: object) -> OptionValue:
    """Text as a value of a type, or as it is: then the store says what is wrong with it."""
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if types.NoneType in kinds and text.lower() == _NONE:
        return None
    if bool in kinds:
        return _TRUTHS.get(text.lower(), text)
    for kind in (int, float):
        if kind in kinds:
            try:
                return kind(text)
            except ValueError:
                continue
    return text
