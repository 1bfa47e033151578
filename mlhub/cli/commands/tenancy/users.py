# SPDX-License-Identifier: Apache-2.0
"""mlhub user ls|create|email|deactivate|activate|sign-out|rm: the accounts of the platform, for its administrators."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.names import organisation_named
from mlhub.cli.output import Format
from mlhub.cli.session import Session, session_of
from mlhub.wire.words import counted_running

user = typer.Typer(help="Accounts; for administrators of the platform.", no_args_is_help=True)
AccountName = Annotated[str, typer.Argument(metavar="USERNAME", help="User name of an account.")]


@user.command("ls")
def list_users(
    context: typer.Context,
    search: Annotated[str, typer.Option(help="Only user names, full names and e-mail addresses with this.")] = "",
) -> None:
    """List accounts with their organisations."""
    session = session_of(context)
    columns: dict[str, Any] = {
        "NAME": lambda row: row["username"],
        "E-MAIL": lambda row: row["email"],
        "ACTIVE": lambda row: "yes" if row["is_active"] else "no",
        "ADMINISTRATOR": lambda row: "yes" if row["is_staff"] else "",
        "ORGANISATIONS": lambda row: ", ".join(map(_place, row["memberships"])),
    }
    query: dict[str, Any] = {"search": search} if search else {}
    session.output.rows(list(session.api.all("/users", **query)), columns)


@user.command("create")
def create_user(
    context: typer.Context,
    username: Annotated[str, typer.Argument(metavar="USERNAME", help="The new account's user name.")],
    email: Annotated[str, typer.Option(help="Its e-mail address.")] = "",
    organisation: Annotated[str, typer.Option(help="Name or id of an organisation to put it into.")] = "",
    role: Annotated[str, typer.Option(help="Its role there.")] = "member",
    administrator: Annotated[bool, typer.Option("--administrator", help="Of the platform.")] = False,
) -> None:
    """Make an account, and print the link at which its user sets the password."""
    session = session_of(context)
    place = organisation_named(session.api, organisation)["id"] if organisation else None
    body = {"username": username, "email": email, "organisation": place, "is_staff": administrator}
    made = session.api.post("/users", **body, **({"role": role} if organisation else {}))
    if session.output.form is not Format.TABLE:
        session.output.data(made)
        return
    session.output.line(made["link"])
    session.output.note(f"Made: {username}; the link works once, until {made['link_expires_at'][:10]}.")


@user.command("email")
def change_email(
    context: typer.Context,
    username: AccountName,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="The new address; '' for none.")],
) -> None:
    """Enter another e-mail address for an account: notices and links to set a forgotten password go there."""
    _change(context, username, "Changed", email=address)


@user.command("deactivate")
def deactivate_user(context: typer.Context, username: AccountName) -> None:
    """End the sessions of an account and refuse its tokens, until it is activated again; what it made stays."""
    _change(context, username, "Deactivated", is_active=False)


@user.command("activate")
def activate_user(context: typer.Context, username: AccountName) -> None:
    """Let a deactivated account sign in again."""
    _change(context, username, "Active again", is_active=True)


@user.command("sign-out")
def sign_out(context: typer.Context, username: AccountName) -> None:
    """Sign an account out of all browsers; its tokens stay."""
    session = session_of(context)
    session.api.delete(f"/users/{_user(session, username)['id']}/sessions")
    session.output.note(f"Signed out of all browsers: {username}.")


@user.command("rm")
def remove_user(
    context: typer.Context,
    username: AccountName,
    reassign_to: Annotated[str, typer.Option(help="User name of who becomes the maker of what it made.")] = "",
    yes: Yes = False,
) -> None:
    """Delete an account for good; what it made goes to another account of the same organisations."""
    session = session_of(context)
    gone = _user(session, username)
    heir = _user(session, reassign_to) if reassign_to else None
    left = session.api.get(f"/users/{gone['id']}/deletion")
    if owned := left["sole_owner_of"]:
        raise CommandError(
            f"{username} is the only owner of {', '.join(owned)}.",
            remedy="Make another member an owner first: `mlhub member role ORGANISATION USERNAME owner`.",
            code=CommandStatus.REFUSED,
        )
    made = ", ".join(counted_running(one["n"], one["kind"], one["n_running"]) for one in left["remains"])
    if made and heir is None:
        raise CommandError(
            f"{username} made {made}, and what it made stays.",
            remedy="Name with --reassign-to who becomes their maker.",
            code=CommandStatus.REFUSED,
        )
    goes_to = f"; {made} go to {heir['username']}" if made and heir is not None else ""
    require_yes(f"Delete the account {username} for good{goes_to}?", yes=yes)
    session.api.delete(f"/users/{gone['id']}" + (f"?reassign_to={heir['id']}" if heir is not None else ""))
    session.output.note(f"Deleted: {username}{goes_to}.")


def _change(context: typer.Context, username: str, done: str, **changes: Any) -> None:
    session = session_of(context)
    row = session.api.patch(f"/users/{_user(session, username)['id']}", **changes)
    if session.output.form is not Format.TABLE:
        session.output.data(row)
    else:
        session.output.note(f"{done}: {username}.")


def _place(membership: dict[str, Any]) -> str:
    return f"{membership['organisation']['name']} ({membership['role']})"


def _user(session: Session, username: str) -> dict[str, Any]:
    for row in session.api.all("/users", username=username):
        if row["username"] == username:
            return dict(row)
    raise CommandError(
        f"There is no account {username!r}.", remedy="`mlhub user ls` lists them.", code=CommandStatus.REFUSED
    )
