# SPDX-License-Identifier: Apache-2.0
"""mlhub role ls|give|withdraw|why: roles in teams and projects, from where they come, and what they allow."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.names import meant, places_named, several_places
from mlhub.cli.output import Format
from mlhub.cli.session import Session, session_of

role = typer.Typer(help="Roles in teams and projects.", no_args_is_help=True)
PlaceName = Annotated[str, typer.Argument(metavar="PLACE", help="Name or id of a team or a project.")]
AnyPlaceName = Annotated[str, typer.Argument(metavar="PLACE", help="Name or id of an organisation, team or project.")]
UserName = Annotated[str, typer.Argument(help="User name of a member of the organisation.")]


@role.command("ls")
def list_roles(context: typer.Context, place: PlaceName) -> None:
    """List who has which role there, and from where."""
    session = session_of(context)
    columns = {
        "NAME": lambda row: row["user"]["username"],
        "ROLE": lambda row: row["role"],
        "FROM": lambda row: ", ".join(_source(one) for one in row["assignments"]),
    }
    session.output.rows(list(session.api.all(f"{_address(session, place)}/roles")), columns)


@role.command("give")
def give_role(
    context: typer.Context,
    username: UserName,
    name: Annotated[str, typer.Argument(metavar="ROLE", help="viewer, submitter, member or admin.")],
    place: PlaceName,
) -> None:
    """Give a member a role there, or another one than was given before; admins of the place may."""
    session = session_of(context)
    address = _address(session, place)
    given = _given(session, address, username)
    if given is None:
        made = session.api.post(f"{address}/roles", username=username, role=name)
    else:
        made = session.api.patch(f"/role-bindings/{given}", role=name)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.note(f"{username} has the role {made['role']} in {place}.")


@role.command("withdraw")
def withdraw_role(context: typer.Context, username: UserName, place: PlaceName) -> None:
    """Withdraw the role that was given there; those of the organisation and of the team stay."""
    session = session_of(context)
    given = _given(session, _address(session, place), username)
    if given is None:
        raise CommandError(
            f"{username} was given no role in {place}.",
            remedy=f"`mlhub role ls {place}` shows from where roles come.",
            code=CommandStatus.REFUSED,
        )
    session.api.delete(f"/role-bindings/{given}")
    session.output.note(f"The role of {username} in {place} is withdrawn.")


@role.command()
def why(
    context: typer.Context,
    place: AnyPlaceName,
    user: Annotated[str, typer.Option(help="Of this member, for admins of the place; left out: of yourself.")] = "",
) -> None:
    """Show what you may do there, by which role, and who gives the roles that other actions need."""
    session = session_of(context)
    address = _address(session, place, kinds=("organisation", "team", "project"))
    found = session.api.get(f"{address}/permissions", **({"username": user} if user else {}))
    if session.output.form is not Format.TABLE:
        session.output.data(found)
        return
    columns: dict[str, Any] = {
        "ACTION": lambda row: row["action"].replace("_", " "),
        "ALLOWED": lambda row: "yes" if row["is_allowed"] else "no",
        "NEEDS": lambda row: f"{row['needed_role']} in {row['place']}" if row["needed_role"] else "an administrator",
        "REMEDY": lambda row: row["remedy"],
    }
    session.output.rows(found["permissions"], columns)
    sources = ", ".join(_source(one) for one in found["assignments"])
    session.output.note(f"{found['user']['username']}: {sources or 'no role here'}.")


def _address(session: Session, name: str, kinds: tuple[str, ...] = ("team", "project")) -> str:
    """Where the API has the place of that name or id."""
    rows = [(kind, one) for kind in kinds for one in meant(session.api, f"{kind}s", name.removeprefix(f"{kind}/"))]
    found = [(kind, one["id"]) for kind, one in places_named(name, rows)]
    if len(found) == 1:
        return f"/{found[0][0]}s/{found[0][1]}"
    if found:
        raise several_places(name, found)
    raise CommandError(
        f"There is no {', '.join(kinds[:-1])} or {kinds[-1]} {name} that you may see.",
        remedy="`mlhub project ls` lists projects.",
        code=CommandStatus.REFUSED,
    )


def _given(session: Session, address: str, username: str) -> str | None:
    """The id of the role binding of that user in the place itself."""
    place_id = address.rpartition("/")[2]
    for row in session.api.all(f"{address}/roles"):
        if row["user"]["username"] == username:
            for one in row["assignments"]:
                if one["binding"] is not None and one["place_id"] == place_id:
                    return str(one["binding"])
    return None


def _source(assignment: dict[str, Any]) -> str:
    place = f"{assignment['place']} {assignment['place_name']}".strip()
    return f"{assignment['role']} ({place})"
