# SPDX-License-Identifier: Apache-2.0
"""Values of hyperparameters by their kind and bounds; refused by name. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from mlhub.runtime.errors import BadInputError

Values = Mapping[str, Any]
MAX_COMPARED = 100  # characters of a wrong value


def number(
    values: Values, name: str, *, least: float | None = None, above: float | None = None, most: float | None = None,
    below: float | None = None, is_whole: bool = False,
) -> float | None:  # fmt: skip
    """None where the name is not given. Raises BadInputError."""
    value = values.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float):
        kind = "a whole number" if is_whole else "a number"
        raise invalid(name, f"{name} is {value!r}.", f"Give {kind}, without quotes.")
    if least is not None and not value >= least:
        raise invalid(name, f"{name} is {value}.", f"Give at least {least:.12g}.")
    if above is not None and not value > above:
        raise invalid(name, f"{name} is {value}.", f"Give more than {above:.12g}.")
    if most is not None and not value <= most:
        raise invalid(name, f"{name} is {value}.", f"Give at most {most:.12g}.")
    if below is not None and not value < below:
        raise invalid(name, f"{name} is {value}.", f"Give less than {below:.12g}.")
    return value


def whole(values: Values, name: str, *, least: int = 1, most: int | None = None) -> int | None:
    """A whole number; None where the name is not given. Raises BadInputError."""
    value = number(values, name, least=least, most=most, is_whole=True)
    return None if value is None else int(value)


def choice(values: Values, name: str, choices: tuple[str, ...], default: str) -> str:
    """One of the choices. Raises BadInputError."""
    value = values.get(name, default)
    if value not in choices:
        raise invalid(name, f"{name} is {value!r}.", f"{one_of(choices, value)}.")
    return str(value)


def one_of(choices: tuple[str, ...], value: Any) -> str:
    """For people who wrote another value: the nearest choice, and all of them."""
    near = get_close_matches(str(value)[:MAX_COMPARED].lower(), choices, n=1)
    return f"{f'Did you mean {near[0]}? ' if near else ''}One of {', '.join(choices)}"


def flag(values: Values, name: str, *, default: bool = False) -> bool:
    """True or false. Raises BadInputError."""
    value = values.get(name, default)
    if not isinstance(value, bool):
        raise invalid(name, f"{name} is {value!r}.", "Give true or false.")
    return value


def invalid(name: str, message: str, remedy: str) -> BadInputError:
    """The error about a hyperparameter of that name."""
    return BadInputError(message, field=f"hyperparameters.{name}", remedy=remedy, code="invalid_hyperparameter")
