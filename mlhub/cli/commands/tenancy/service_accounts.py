# SPDX-License-Identifier: Apache-2.0
"""mlhub service-account: an organisation's accounts for programs, such as CI, and their tokens."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.account import signed_in
from mlhub.cli.commands.tenancy.organisations import OrganisationName
from mlhub.cli.confirmation import Yes, hidden_answer, require_yes
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.names import organisation_named, project_id
from mlhub.cli.output import Format, until
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import is_part, short_id
from mlhub.wire.words import counted_running

service_account = typer.Typer(
    help="Accounts of an organisation for programs, such as CI; for its admins.", no_args_is_help=True
)
token = typer.Typer(help="Tokens of a service account.", no_args_is_help=True)
service_account.add_typer(token, name="token")
ServiceAccountName = Annotated[str, typer.Argument(metavar="NAME", help="Such as ci, or ci@acme.service.")]


@service_account.command("ls")
def list_accounts(context: typer.Context, organisation: OrganisationName) -> None:
    """List the service accounts of an organisation."""
    session = session_of(context)
    columns = {
        "NAME": lambda row: row["username"],
        "ROLE": lambda row: row["role"],
        "ACTIVE": lambda row: "yes" if row["is_active"] else "no",
        "USED": lambda row: until(row["last_used_at"]) or "never",
    }
    session.output.rows(_accounts(session, organisation), columns)


@service_account.command("create")
def create_account(
    context: typer.Context,
    organisation: OrganisationName,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for, such as ci.")],
    role: Annotated[str, typer.Option(help="member, submitter, viewer or outsider.")] = "member",
) -> None:
    """Make a service account; it has no password, and works by tokens that are made for it."""
    session = session_of(context)
    address = f"/organisations/{organisation_named(session.api, organisation)['id']}/service-accounts"
    made = session.api.post(address, name=name, role=role)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.line(made["username"])
        session.output.note(f"Made. A token for it: `mlhub service-account token create {organisation} {name}`.")


@service_account.command("role")
def change_role(
    context: typer.Context,
    organisation: OrganisationName,
    name: ServiceAccountName,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="member, submitter, viewer or outsider.")],
) -> None:
    """Give a service account another role in its organisation."""
    _change(context, organisation, name, f"It has the role {role}", role=role)


@service_account.command("deactivate")
def deactivate_account(context: typer.Context, organisation: OrganisationName, name: ServiceAccountName) -> None:
    """Refuse all tokens of a service account until it is activated again."""
    _change(context, organisation, name, "Deactivated", is_active=False)


@service_account.command("activate")
def activate_account(context: typer.Context, organisation: OrganisationName, name: ServiceAccountName) -> None:
    """Accept the tokens of a deactivated service account again."""
    _change(context, organisation, name, "Active again", is_active=True)


@service_account.command("rm")
def remove_account(
    context: typer.Context,
    organisation: OrganisationName,
    name: ServiceAccountName,
    reassign_to: Annotated[str, typer.Option(help="User name of who becomes the maker of what it made.")] = "",
    yes: Yes = False,
) -> None:
    """Delete a service account and its tokens for good; what it made goes to a member of the organisation."""
    session = session_of(context)
    gone = _account(session, organisation, name)
    left = session.api.get(f"/service-accounts/{gone['id']}/deletion")["remains"]
    made = ", ".join(counted_running(one["n"], one["kind"], one["n_running"]) for one in left)
    if made and not reassign_to:
        raise CommandError(
            f"{gone['username']} made {made}, and what it made stays.",
            remedy="Name with --reassign-to who becomes their maker.",
            code=CommandStatus.REFUSED,
        )
    heir = f"?reassign_to={_member_id(session, organisation, reassign_to)}" if reassign_to else ""
    goes_to = f"; {made} go to {reassign_to}" if made else ""
    require_yes(f"Delete {gone['username']} for good{goes_to}?", yes=yes)
    session.api.delete(f"/service-accounts/{gone['id']}{heir}")
    session.output.note(f"Deleted: {gone['username']}{goes_to}.")


@token.command("ls")
def list_tokens(context: typer.Context, organisation: OrganisationName, name: ServiceAccountName) -> None:
    """List the tokens of a service account, the newest first; expired ones stay until they are revoked."""
    session = session_of(context)
    columns = {
        "ID": short_id,
        "NAME": lambda row: row["name"],
        "SCOPES": lambda row: ", ".join(row["scopes"]),
        "PROJECT": lambda row: (row["project"] or {}).get("name", "all"),
        "EXPIRES": lambda row: until(row["expires_at"]),
        "USED": lambda row: until(row["last_used_at"]) or "never",
    }
    session.output.rows(_tokens(session, _account(session, organisation, name)), columns)


@token.command("create")
def create_token(
    context: typer.Context,
    organisation: OrganisationName,
    name: ServiceAccountName,
    called: Annotated[str, typer.Option("--name", help="What the token is for.")] = "ci",
    scope: Annotated[list[str] | None, typer.Option(help="read, submit or write; repeatable.")] = None,
    only: Annotated[str, typer.Option("--only", metavar="PROJECT", help="The only project that it reaches.")] = "",
    days: Annotated[int, typer.Option(min=1, max=3650, help="Days after which it expires.")] = 90,
) -> None:
    """Make a token, which is shown once. Asks for your password: tokens make no tokens.

    To rotate one, make a new one, put it where the program reads it, and revoke the old one.
    """
    session = session_of(context)
    account = _account(session, organisation, name)
    project = project_id(session.api, only) if only else None
    wanted = {
        "name": called, "scopes": scope or ["read", "submit"], "project": project, "expires_in_days": days
    }  # fmt: skip
    username = session.api.get("/auth/me")["username"]
    with signed_in(session.api.url, username, hidden_answer(f"Password of {username}")) as post:
        made = post(f"/service-accounts/{account['id']}/tokens", wanted)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
        return
    session.output.line(made["token"])
    session.output.note(
        f"Shown this once; for {account['username']}, until {made['expires_at'][:10]}. "
        "Programs read it from MLHUB_TOKEN."
    )


@token.command("revoke")
def revoke_token(
    context: typer.Context,
    organisation: OrganisationName,
    name: ServiceAccountName,
    token_id: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id as `ls` shows it, or its name.")],
    yes: Yes = False,
) -> None:
    """Revoke a token of a service account; it is refused at once."""
    session = session_of(context)
    account = _account(session, organisation, name)
    rows = _tokens(session, account)
    found = [row for row in rows if is_part(token_id, row["id"])] or [row for row in rows if row["name"] == token_id]
    if len(found) != 1:
        raise CommandError(
            f"{token_id} is {'the name of several tokens' if found else 'no token'} of {account['username']}.",
            remedy=f"`mlhub service-account token ls {organisation} {name}` lists them with their ids.",
            code=CommandStatus.REFUSED,
        )
    require_yes(f"Revoke the token {found[0]['name']} of {account['username']}?", yes=yes)
    session.api.delete(f"/service-accounts/{account['id']}/tokens/{found[0]['id']}")
    session.output.note(f"Revoked: {found[0]['name']} of {account['username']}.")


def _change(context: typer.Context, organisation: str, name: str, done: str, **changes: Any) -> None:
    session = session_of(context)
    row = session.api.patch(f"/service-accounts/{_account(session, organisation, name)['id']}", **changes)
    if session.output.form is not Format.TABLE:
        session.output.data(row)
    else:
        session.output.note(f"{done}: {row['username']}.")


def _accounts(session: Session, organisation: str, **query: Any) -> list[dict[str, Any]]:
    address = f"/organisations/{organisation_named(session.api, organisation)['id']}/service-accounts"
    return [dict(row) for row in session.api.all(address, **query)]


def _account(session: Session, organisation: str, name: str) -> dict[str, Any]:
    for row in _accounts(session, organisation, search=name.partition("@")[0]):
        if name in (row["username"], row["username"].partition("@")[0]):
            return row
    raise CommandError(
        f"{organisation} has no service account {name!r}.",
        remedy=f"`mlhub service-account ls {organisation}` lists them.",
        code=CommandStatus.REFUSED,
    )


def _tokens(session: Session, account: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(row) for row in session.api.all(f"/service-accounts/{account['id']}/tokens")]


def _member_id(session: Session, organisation: str, username: str) -> str:
    address = f"/organisations/{organisation_named(session.api, organisation)['id']}/members"
    for row in session.api.all(address, search=username):
        if row["user"]["username"] == username:
            return str(row["user"]["id"])
    raise CommandError(
        f"{organisation} has no member {username!r}.",
        remedy=f"`mlhub member ls {organisation}` lists them.",
        code=CommandStatus.REFUSED,
    )
