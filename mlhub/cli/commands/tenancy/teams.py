# SPDX-License-Identifier: Apache-2.0
"""mlhub team ls|add|move|rename|rm: the teams of organisations, which may have teams below them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.names import found, organisation_named
from mlhub.cli.output import Format
from mlhub.cli.session import Session, session_of

team = typer.Typer(help="Teams, which may have teams below them.", no_args_is_help=True)
TeamName = Annotated[str, typer.Argument(help="Name or id of the team.")]
OrganisationOption = Annotated[str, typer.Option(help="Name or id; needed where you are in several.")]


@team.command("ls")
def list_teams(context: typer.Context) -> None:
    """List teams, each with the teams above it, and their projects."""
    session = session_of(context)
    teams = list(session.api.all("/teams"))
    paths = paths_of(teams)
    projects: dict[str, list[str]] = {}
    for project in session.api.all("/projects"):
        if project["team"] is not None:
            projects.setdefault(project["team"]["id"], []).append(project["name"])
    rows = [{**one, "path": paths[one["id"]], "projects": projects.get(one["id"], [])} for one in teams]
    rows.sort(key=lambda row: (row["organisation"]["name"], row["path"]))
    columns: dict[str, Any] = {
        "ID": lambda row: row["id"],
        "TEAM": lambda row: " / ".join(row["path"]),
        "ORGANISATION": lambda row: row["organisation"]["name"],
        "PROJECTS": lambda row: ", ".join(row["projects"]),
    }
    session.output.rows(rows, columns)


@team.command("add")
def add(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name of the new team, which no other team of the organisation has.")],
    below: Annotated[str, typer.Option(help="Name or id of the team that it is a part of.")] = "",
    organisation: OrganisationOption = "",
) -> None:
    """Make a team, directly below the organisation or below another team; for admins."""
    session = session_of(context)
    above = found(session.api, "teams", below) if below else None
    owner = above["organisation"] if above else organisation_named(session.api, organisation)
    made = session.api.post("/teams", name=name, organisation=owner["id"], parent=above and above["id"])
    _show_changed(session, made, f"Made: {made['name']} of {above['name'] if above else owner['name']}.")


@team.command("move")
def move(
    context: typer.Context,
    name: TeamName,
    below: Annotated[str, typer.Argument(help="Name or id of the team to move it below; none: the organisation.")],
) -> None:
    """Move a team below another one, with its projects and all teams below it; for admins."""
    session = session_of(context)
    moved = found(session.api, "teams", name)
    above = None if below == "none" else found(session.api, "teams", below, organisation=moved["organisation"]["id"])
    made = session.api.patch(f"/teams/{moved['id']}", parent=above and above["id"])
    _show_changed(
        session, made, f"{made['name']} is below {above['name'] if above else made['organisation']['name']} now."
    )


@team.command("rename")
def rename(
    context: typer.Context, name: TeamName, new: Annotated[str, typer.Argument(help="The new name of the team.")]
) -> None:
    """Give a team another name; for admins."""
    session = session_of(context)
    made = session.api.patch(f"/teams/{found(session.api, 'teams', name)['id']}", name=new)
    _show_changed(session, made, f"{name} is called {made['name']} now.")


@team.command("rm")
def remove(context: typer.Context, name: TeamName, yes: Yes = False) -> None:
    """Delete a team that has no projects and no teams below it for good; for admins."""
    session = session_of(context)
    gone = found(session.api, "teams", name)
    require_yes(f"Delete the team {gone['name']} of {gone['organisation']['name']} for good?", yes=yes)
    session.api.delete(f"/teams/{gone['id']}")
    session.output.note(f"{gone['name']} is deleted.")


def paths_of(teams: Iterable[dict[str, Any]]) -> dict[str, list[str]]:
    """By id: the names from the top of the organisation down to the team. teams: as the API lists them."""
    by_id = {one["id"]: one for one in teams}

    def path(one: dict[str, Any]) -> list[str]:
        above = by_id.get(one["parent"]["id"]) if one["parent"] else None
        return [*(path(above) if above else []), one["name"]]

    return {pk: path(one) for pk, one in by_id.items()}


def _show_changed(session: Session, made: dict[str, Any], note: str) -> None:
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.line(made["id"])
        session.output.note(note)
