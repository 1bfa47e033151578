# SPDX-License-Identifier: Apache-2.0
"""mlhub project ls|create|retention."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.retention import retention
from mlhub.cli.failures import CommandError
from mlhub.cli.session import Session, session_of

project = typer.Typer(help="Projects.", no_args_is_help=True)
project.add_typer(retention, name="retention")


@project.command("ls")
def list_projects(context: typer.Context) -> None:
    """List your projects."""
    session = session_of(context)
    columns = {
        "ID": lambda p: p["id"][:8],
        "NAME": lambda p: p["name"],
        "ORGANISATION": lambda p: p["organisation"]["name"],
    }
    session.output.rows(list(session.api.all("/projects")), columns)


@project.command("create")
def create_project(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name of the new project.")],
    organisation: Annotated[str, typer.Option(help="Name or id; needed where you are in several.")] = "",
) -> None:
    """Make a project; admins and owners of an organisation may."""
    session = session_of(context)
    owner = _organisation(session, organisation)
    made = session.api.post("/projects", name=name, organisation=owner["id"])
    if session.output.form != "table":
        session.output.data(made)
    else:
        session.output.line(made["id"])
        session.output.note(f"Made: {made['name']} of {owner['name']}.")


def _organisation(session: Session, name: str) -> dict[str, Any]:
    """The one of that name or id, or the only one. Raises CommandError."""
    rows: list[dict[str, Any]] = list(session.api.all("/organisations"))
    chosen = [row for row in rows if not name or name in (row["name"], row["id"])]
    if len(chosen) == 1:
        return chosen[0]
    if not rows:
        raise CommandError("You are in no organisation.", remedy="Ask an owner of one for an invitation.")
    names = ", ".join(row["name"] for row in rows)
    raise CommandError(
        f"You are in no organisation {name}." if name else "Which organisation?",
        remedy=f"Give --organisation; there are: {names}.",
    )
