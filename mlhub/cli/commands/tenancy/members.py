# SPDX-License-Identifier: Apache-2.0
"""mlhub member ls|role|rm, mlhub invitation send|ls|withdraw|accept|decline: who belongs to an organisation."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.tenancy.organisations import OrganisationName
from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.names import organisation_named
from mlhub.cli.output import Format, until
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import is_part, short_id

member = typer.Typer(help="Members of an organisation.", no_args_is_help=True)
invitation = typer.Typer(help="Invitations to organisations.", no_args_is_help=True)
Username = Annotated[str, typer.Argument(metavar="USERNAME", help="User name of a member.")]
RoleName = Annotated[
    str, typer.Argument(metavar="ROLE", help="owner, admin, member, submitter, auditor, viewer or outsider.")
]


@member.command("ls")
def list_members(
    context: typer.Context,
    organisation: OrganisationName,
    search: Annotated[str, typer.Option(help="Only names with this in them.")] = "",
) -> None:
    """List the members of an organisation with their roles."""
    session = session_of(context)
    columns = {"NAME": lambda row: row["user"]["username"], "ROLE": lambda row: row["role"]}
    session.output.rows(_members(session, organisation, search), columns)


@member.command("role")
def change_role(context: typer.Context, organisation: OrganisationName, username: Username, role: RoleName) -> None:
    """Give a member another role in the organisation; for its admins."""
    session = session_of(context)
    changed = session.api.patch(f"/memberships/{_member(session, organisation, username)['id']}", role=role)
    if session.output.form is not Format.TABLE:
        session.output.data(changed)
    else:
        session.output.note(f"{username} has the role {changed['role']} in {organisation}.")


@member.command("rm")
def remove_member(
    context: typer.Context,
    organisation: OrganisationName,
    username: Username,
    yes: Yes = False,
) -> None:
    """Remove a member, or leave: jobs and data stay; tokens and streams for the organisation end. For its admins."""
    session = session_of(context)
    found = _member(session, organisation, username)
    require_yes(f"Remove {username} from {organisation}?", yes=yes)
    session.api.delete(f"/memberships/{found['id']}")
    session.output.note(f"Removed: {username} from {organisation}.")


@invitation.command("send")
def send_invitation(
    context: typer.Context,
    organisation: OrganisationName,
    username: Annotated[str, typer.Argument(metavar="[USERNAME]", help="Whom; left out: a link is made.")] = "",
    role: Annotated[str, typer.Option(help="The role that is offered.")] = "member",
    email: Annotated[str, typer.Option(help="Where the link is sent to.")] = "",
) -> None:
    """Invite a person by name, or by a link that works once; for admins, an owner by owners only."""
    if username and email:
        raise CommandError("Give a user name or --email, not both: a link is for who has no account yet.")
    session = session_of(context)
    address = f"/organisations/{organisation_named(session.api, organisation)['id']}/invitations"
    made = session.api.post(address, role=role, **({"username": username} if username else {"email": email}))
    if session.output.form is not Format.TABLE:
        session.output.data(made)
        return
    session.output.line(made["link"] or made["id"])
    whom = username or email or "the holder of the link"
    if made["is_mailed"] is False:
        session.output.note(f"The link was not mailed to {email}: hand it over.")
    session.output.note(f"Invited: {whom} to {organisation} as {made['role']}, until {made['expires_at'][:10]}.")


@invitation.command("ls")
def list_invitations(
    context: typer.Context,
    organisation: Annotated[
        str, typer.Argument(metavar="[ORGANISATION]", help="Those that it sent, for its admins; left out: yours.")
    ] = "",
) -> None:
    """List the invitations that wait for your answer, or those of an organisation that wait for one."""
    session = session_of(context)
    columns: dict[str, Any] = {"ID": short_id}
    if organisation:
        address = f"/organisations/{organisation_named(session.api, organisation)['id']}/invitations"
        columns["TO"] = lambda row: row["username"] or row["email"] or "link"
    else:
        address = "/invitations"
        columns["ORGANISATION"] = lambda row: row["organisation"]["name"]
    columns |= {
        "ROLE": lambda row: row["role"],
        "BY": lambda row: (row["invited_by"] or {}).get("username", ""),
        "EXPIRES": lambda row: until(row["expires_at"]),
    }
    session.output.rows(list(session.api.all(address)), columns)


@invitation.command("accept")
def accept_invitation(context: typer.Context, organisation: OrganisationName) -> None:
    """Accept the invitation to an organisation."""
    session = session_of(context)
    found = _mine(session, organisation)
    session.api.post(f"/invitations/{found['id']}/accept")
    session.output.note(f"You are in {found['organisation']['name']} with the role {found['role']}.")


@invitation.command("decline")
def decline_invitation(context: typer.Context, organisation: OrganisationName) -> None:
    """Refuse the invitation to an organisation, for good."""
    session = session_of(context)
    found = _mine(session, organisation)
    session.api.post(f"/invitations/{found['id']}/decline")
    session.output.note(f"Declined: {found['organisation']['name']}.")


@invitation.command("withdraw")
def withdraw_invitation(
    context: typer.Context,
    organisation: OrganisationName,
    whom: Annotated[str, typer.Argument(metavar="WHOM", help="User name, e-mail address, or the id that ls shows.")],
) -> None:
    """Withdraw an invitation that waits for an answer; for admins."""
    session = session_of(context)
    address = f"/organisations/{organisation_named(session.api, organisation)['id']}/invitations"
    waiting = list(session.api.all(address))
    found = [row for row in waiting if whom in (row["username"], row["email"]) or is_part(whom, row["id"])]
    if len(found) != 1:
        raise CommandError(
            f"{'No invitation' if not found else 'More than one invitation'} of {organisation} is for {whom!r}.",
            remedy=f"`mlhub invitation ls {organisation}` lists them with their ids.",
            code=CommandStatus.REFUSED,
        )
    session.api.delete(f"/invitations/{found[0]['id']}")
    session.output.note(f"Withdrawn: the invitation of {found[0]['username'] or found[0]['email'] or whom}.")


def _members(session: Session, organisation: str, search: str) -> list[dict[str, Any]]:
    address = f"/organisations/{organisation_named(session.api, organisation)['id']}/members"
    query: dict[str, Any] = {"search": search} if search else {}
    return list(session.api.all(address, **query))


def _member(session: Session, organisation: str, username: str) -> dict[str, Any]:
    for row in _members(session, organisation, username):
        if row["user"]["username"] == username:
            return row
    raise CommandError(
        f"{organisation} has no member called {username!r}.",
        remedy=f"`mlhub member ls {organisation}` lists them; `mlhub invitation send` invites a person.",
        code=CommandStatus.REFUSED,
    )


def _mine(session: Session, organisation: str) -> dict[str, Any]:
    """The invitation that waits for the caller, by the organisation's name or id, or by its own id."""
    for row in session.api.all("/invitations"):
        if organisation in (row["organisation"]["name"], row["organisation"]["id"], row["id"]):
            return dict(row)
    raise CommandError(
        f"No invitation to {organisation!r} waits for you.",
        remedy="`mlhub invitation ls` lists those that do. It may have expired: ask for a new one.",
        code=CommandStatus.REFUSED,
    )
