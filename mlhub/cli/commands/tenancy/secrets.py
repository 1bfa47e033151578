# SPDX-License-Identifier: Apache-2.0
"""mlhub secret: set, list and delete the secrets of a project, which its jobs may ask for by name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mlhub.cli.confirmation import Yes, hidden_answer, require_yes
from mlhub.cli.failures import CommandError
from mlhub.cli.names import project_id
from mlhub.cli.output import until
from mlhub.cli.session import Session, session_of

secret = typer.Typer(help="Secrets of a project.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(help="Name of the environment variable, such as HF_TOKEN.")]
STANDARD_INPUT = Path("-")


@secret.command("ls")
def list_secrets(context: typer.Context) -> None:
    """List the secrets of the project by name; no value is ever shown."""
    session = session_of(context)
    columns = {
        "NAME": lambda row: row["name"],
        "SET BY": lambda row: (row["set_by"] or {}).get("username", ""),
        "SET": lambda row: until(row["updated_at"]),
    }
    session.output.rows(list(session.api.all(_path(session))), columns)


@secret.command("set")
def set_secret(
    context: typer.Context,
    name: NameArgument,
    file: Annotated[Path | None, typer.Option(help="Read the value from this file; - is standard input.")] = None,
) -> None:
    """Set a secret or replace its value, which is asked for: arguments show in lists of processes."""
    session = session_of(context)
    value = hidden_answer(f"Value of {name}") if file is None else _read(file)
    session.api.put(f"{_path(session)}/{name}", value=value)
    session.output.note(f"Set. Jobs get it by `mlhub run --secret {name}`.")


@secret.command("rm")
def delete_secret(context: typer.Context, name: NameArgument, yes: Yes = False) -> None:
    """Delete a secret; pods that run keep it."""
    session = session_of(context)
    path = _path(session)
    require_yes(f"Delete the secret {name} for good?", yes=yes)
    session.api.delete(f"{path}/{name}")
    session.output.note(f"Deleted: {name}.")


def _path(session: Session) -> str:
    return f"/projects/{project_id(session.api, session.project)}/secrets"


def _read(file: Path) -> str:
    """The text without the newline at its end, which editors and `echo` add."""
    try:
        text = sys.stdin.read() if file == STANDARD_INPUT else file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read as text: {error}.") from error
    return text.removesuffix("\n")
