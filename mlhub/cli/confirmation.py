# SPDX-License-Identifier: Apache-2.0
"""Asking before something goes for good."""

from __future__ import annotations

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
