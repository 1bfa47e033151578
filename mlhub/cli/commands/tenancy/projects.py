# SPDX-License-Identifier: Apache-2.0
"""mlhub project ls|create|rename|move|archive|unarchive|rm|retention."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.tenancy.deletions import contents_of, delete_with_data, in_words
from mlhub.cli.commands.tenancy.retention import ProjectName, retention
from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.names import found, organisation_named, project_named
from mlhub.cli.session import session_of
from mlhub.cli.short_ids import short_id

project = typer.Typer(help="Projects.", no_args_is_help=True)
project.add_typer(retention, name="retention")


@project.command("ls")
def list_projects(context: typer.Context) -> None:
    """List your projects."""
    session = session_of(context)
    columns = {
        "ID": short_id,
        "NAME": lambda p: p["name"],
        "ORGANISATION": lambda p: p["organisation"]["name"],
    }
    session.output.rows(list(session.api.all("/projects")), columns)


@project.command("create")
def create_project(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name of the new project.")],
    organisation: Annotated[str, typer.Option(help="Name or id; needed where you are in several.")] = "",
    team: Annotated[str, typer.Option(help="Name or id of the team that it is a part of.")] = "",
) -> None:
    """Make a project, directly below the organisation or in a team; its members may."""
    session = session_of(context)
    owner = organisation_named(session.api, organisation)
    place = found(session.api, "teams", team, organisation=owner["id"]) if team else None
    made = session.api.post("/projects", name=name, organisation=owner["id"], team=place and place["id"])
    if session.output.form != "table":
        session.output.data(made)
    else:
        session.output.line(made["id"])
        session.output.note(f"Made: {made['name']} of {place['name'] if place else owner['name']}.")


@project.command("rename")
def rename_project(
    context: typer.Context, name: ProjectName, new: Annotated[str, typer.Argument(help="The new name.")]
) -> None:
    """Give a project another name; for admins."""
    _change(context, name, "Renamed", {"name": new})


@project.command("move")
def move_project(
    context: typer.Context,
    name: ProjectName,
    team: Annotated[
        str, typer.Option(help="Name or id of the team to put it into; none: directly below the organisation.")
    ],
) -> None:
    """Put a project into a team, whose quota it shares from then on; for admins of both."""
    session = session_of(context)
    moved = project_named(session.api, name)
    place = None if team == "none" else found(session.api, "teams", team, organisation=moved["organisation"]["id"])
    row = session.api.patch(f"/projects/{moved['id']}", team=place and place["id"])
    if session.output.form != "table":
        session.output.data(row)
    else:
        session.output.note(f"{row['name']} is in {place['name'] if place else row['organisation']['name']} now.")


@project.command("archive")
def archive_project(context: typer.Context, name: ProjectName) -> None:
    """Close a project: it takes no uploads and no jobs, and stays readable; for admins."""
    _change(context, name, "Archived", {"is_archived": True})


@project.command("unarchive")
def unarchive_project(context: typer.Context, name: ProjectName) -> None:
    """Open an archived project again; for admins."""
    _change(context, name, "Open again", {"is_archived": False})


@project.command("rm")
def remove_project(
    context: typer.Context,
    name: ProjectName,
    with_data: Annotated[
        bool, typer.Option("--with-data", help="Also its studies, jobs, runs, models and datasets; for admins.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Delete a project for good, an empty one or with all that it holds; for admins, an empty one for its maker."""
    session = session_of(context)
    row = project_named(session.api, name)
    question = f"Delete the project {row['name']} of {row['organisation']['name']}"
    if with_data:
        contents = contents_of(session, row)
        require_yes(f"{question} with {in_words(contents)} for good?", yes=yes)
        delete_with_data(session, row, contents)
        return
    require_yes(f"{question} for good?", yes=yes)
    session.api.delete(f"/projects/{row['id']}")
    session.output.note(f"Deleted: {row['name']}.")


def _change(context: typer.Context, name: str, done: str, changes: dict[str, Any]) -> None:
    session = session_of(context)
    row = session.api.patch(f"/projects/{project_named(session.api, name)['id']}", **changes)
    if session.output.form != "table":
        session.output.data(row)
    else:
        session.output.note(f"{done}: {row['name']}.")
