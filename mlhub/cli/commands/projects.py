# SPDX-License-Identifier: Apache-2.0
"""mlhub project ls|create|retention."""

from __future__ import annotations

from typing import Annotated

import typer

from mlhub.cli.commands.retention import retention
from mlhub.cli.names import organisation_named
from mlhub.cli.session import session_of

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
    owner = organisation_named(session.api, organisation)
    made = session.api.post("/projects", name=name, organisation=owner["id"])
    if session.output.form != "table":
        session.output.data(made)
    else:
        session.output.line(made["id"])
        session.output.note(f"Made: {made['name']} of {owner['name']}.")
