# SPDX-License-Identifier: Apache-2.0
"""mlhub environment: list the packages that were built for code, stop a build, build one again, delete one."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

import typer

from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.output import size, until
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import is_part, short_id

environment = typer.Typer(help="Packages that code requires, built once.", no_args_is_help=True)
EnvironmentArgument = Annotated[
    str, typer.Argument(metavar="ENVIRONMENT", help="Its id, a part of it, or the name of a model that requires it.")
]
LISTED = {
    "STATE": lambda row: row["state"],
    "REQUIRES": lambda row: _shortened(row["requirements"]),
    "SIZE": lambda row: size(row["size_bytes"]) if row["size_bytes"] else "",
    "USED BY": lambda row: _users(row),
    "REQUESTED": lambda row: until(row["created_at"]),
    "ID": short_id,
}
SHOWN = 3  # requirements of a table


@environment.command("ls")
def list_environments(context: typer.Context) -> None:
    """List environments, newest first."""
    session = session_of(context)
    session.output.rows(list(session.api.all("/environments")), LISTED)


@environment.command("show")
def show_environment(context: typer.Context, name: EnvironmentArgument) -> None:
    """Show an environment: its packages, what uses it, and why it failed."""
    session = session_of(context)
    session.output.data(_one(session, name))


@environment.command("log")
def show_log(context: typer.Context, name: EnvironmentArgument) -> None:
    """Print the log of the newest build."""
    session = session_of(context)
    session.output.line(session.api.get(f"/environments/{_one(session, name)['id']}/log")["log"].rstrip())


@environment.command("stop")
def stop_build(context: typer.Context, name: EnvironmentArgument) -> None:
    """Stop a build that waits or runs; what waits for it is refused with that cause."""
    _act(context, name, "stop")


@environment.command("build")
def build_again(context: typer.Context, name: EnvironmentArgument) -> None:
    """Build an environment again whose build failed or was stopped."""
    _act(context, name, "build")


@environment.command("rm")
def delete_environment(context: typer.Context, name: EnvironmentArgument, yes: Yes = False) -> None:
    """Delete an environment that no code requires."""
    session = session_of(context)
    one = _one(session, name)
    require_yes(f"Delete the environment {short_id(one)} ({_shortened(one['requirements'])}) for good?", yes=yes)
    session.api.delete(f"/environments/{one['id']}")
    session.output.note(f"Deleted: {short_id(one)}.")


def _act(context: typer.Context, name: str, verb: str) -> None:
    session = session_of(context)
    session.output.rows([session.api.post(f"/environments/{_one(session, name)['id']}/{verb}")], LISTED)


def _one(session: Session, name: str) -> dict[str, Any]:
    """By id, a part of it, or the name of a model of which a version requires it. Raises CommandError, Refused."""
    name = name.strip()
    try:
        row: dict[str, Any] = session.api.get(f"/environments/{UUID(name)}")
    except ValueError:
        rows = list(session.api.all("/environments"))
    else:
        return row
    found = [row for row in rows if name in (user["model"]["name"] for user in row["used_by"])]
    found = found or [row for row in rows if is_part(name, row["id"])]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(short_id(row) for row in found[:10])
        raise CommandError(f"Several environments are meant by {name}.", remedy=f"Give one of these ids: {ids}.")
    raise CommandError(
        f"There is no environment {name} that you may see.",
        remedy="`mlhub environment ls` lists what there is.",
        code=CommandStatus.REFUSED,
    )


def _shortened(requirements: list[str]) -> str:
    more = len(requirements) - SHOWN
    return ", ".join(requirements[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _users(row: dict[str, Any]) -> str:
    named = ", ".join(f"{user['model']['name']} v{user['number']}" for user in row["used_by"][:SHOWN])
    more = row["n_versions"] - len(row["used_by"][:SHOWN])
    return named + (f" and {more} more" if more > 0 else "")
