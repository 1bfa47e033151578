# SPDX-License-Identifier: Apache-2.0
"""A name or an id that a command needs is not empty: scripts pass "" where a variable of theirs was not set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup

from mlhub.cli.failures import CommandError


def refuse_empty_names(root: TyperGroup) -> None:
    """Lets every command refuse a text that it needs and that is empty or blank, before it asks for anything."""
    for command in _commands(root):
        for parameter in command.params:
            if isinstance(parameter, TyperArgument) and parameter.required:
                parameter.callback = _checked(parameter.callback)


def _commands(group: TyperGroup) -> Iterator[TyperCommand | TyperGroup]:
    for command in group.commands.values():
        if isinstance(command, TyperGroup):
            yield from _commands(command)
        elif isinstance(command, TyperCommand):
            yield command


def _checked(callback: Any) -> Any:
    """callback: what the argument had, which is called for what is given."""

    def check(context: Any, parameter: TyperArgument, value: Any) -> Any:
        texts = value if isinstance(value, list | tuple) else [value]
        if not context.resilient_parsing and any(isinstance(text, str) and not text.strip() for text in texts):
            name = parameter.metavar or str(parameter.name).upper()
            raise CommandError(f"{name} is empty.", remedy=f"`{context.command_path} {name}`: {parameter.help}")
        return value if callback is None else callback(context, parameter, value)

    return check
