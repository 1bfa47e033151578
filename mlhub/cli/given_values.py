# SPDX-License-Identifier: Apache-2.0
"""What no command can use is refused before it asks the platform: an empty name, and nan or inf for a number.

Scripts pass "" where a variable of theirs was not set, and nan where a division of theirs had nothing to divide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from mlhub.cli.failures import CommandError


def refuse_unusable_values(root: TyperGroup) -> None:
    """Lets every command refuse a text that it needs and that is empty or blank, and a number that is not finite."""
    for command in _commands(root):
        for parameter in command.params:
            if isinstance(parameter, TyperArgument | TyperOption):
                parameter.callback = _checked(parameter.callback)


def finite(text: str) -> float:
    """Returns the number that the text names. Raises ValueError for what is none, nan and inf among them."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number


def _commands(group: TyperGroup) -> Iterator[TyperCommand | TyperGroup]:
    for command in group.commands.values():
        if isinstance(command, TyperGroup):
            yield from _commands(command)
        elif isinstance(command, TyperCommand):
            yield command


def _checked(callback: Any) -> Any:
    """callback: what the parameter had, which is called for what is given."""

    def check(context: Any, parameter: TyperArgument | TyperOption, value: Any) -> Any:
        if not context.resilient_parsing:
            for one in value if isinstance(value, list | tuple) else [value]:
                _check(context, parameter, one)
        return value if callback is None else callback(context, parameter, value)

    return check


def _check(context: Any, parameter: TyperArgument | TyperOption, value: Any) -> None:
    if isinstance(parameter, TyperArgument):
        name = parameter.metavar or str(parameter.name).upper()
        if parameter.required and isinstance(value, str) and not value.strip():
            raise CommandError(f"{name} is empty.", remedy=f"`{context.command_path} {name}`: {parameter.help}")
    else:
        name = parameter.opts[0]
    if isinstance(value, float) and not math.isfinite(value):
        remedy = f"`{context.command_path} {name}`: {parameter.help}"
        raise CommandError(f"{name} is {value}, which is no finite number.", remedy=remedy)
