# SPDX-License-Identifier: Apache-2.0
"""Asking a person: before something goes for good, and for passwords and the values of secrets."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mlhub.cli.failures import CommandError

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def require_yes(question: str, *, yes: bool) -> None:
    """Raises CommandError unless the person says yes; without a terminal and --yes there is no one to ask."""
    if yes:
        return
    try:
        is_meant = typer.confirm(question, err=True)
    except typer.Abort:
        is_meant = False
    if not is_meant:
        raise CommandError("Nothing was deleted.", remedy="Say y, or give --yes.")


def hidden_answer(question: str) -> str:
    """Asks on a terminal without showing what is typed; a pipe is read by the line, as it has no echo to switch off.

    Raises CommandError where the pipe is empty.
    """
    if sys.stdin.isatty():
        return str(typer.prompt(question, hide_input=True, err=True))
    line = sys.stdin.readline().rstrip("\r\n")
    if not line:
        raise CommandError(f"{question} is asked for, and standard input is empty.", remedy="Pipe it in, as one line.")
    return line
