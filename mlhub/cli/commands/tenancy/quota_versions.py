# SPDX-License-Identifier: Apache-2.0
"""mlhub quota history|restore: who changed a quota, and the return to the rules of an older version."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.tenancy.quota_owners import OwnerName, note_overcommitments, owner_of
from mlhub.cli.output import Format, until
from mlhub.cli.session import session_of


def show_history(context: typer.Context, name: OwnerName) -> None:
    """List who changed a quota, when, and what; the newest first."""
    session = session_of(context)
    owner = owner_of(session, name)
    columns = {
        "VERSION": lambda row: row["version"],
        "WHEN": lambda row: until(row["at"]),
        "BY": lambda row: row["actor"] or "the platform",
        "BEFORE": lambda row: _in_words(row["before"]),
        "AFTER": lambda row: _in_words(row["after"]),
    }
    session.output.rows(session.api.get(f"/{owner['kind']}s/{owner['id']}/quota/versions"), columns)


def restore(
    context: typer.Context,
    name: OwnerName,
    version: Annotated[int, typer.Argument(min=1, help="The version whose rules return, as `history` lists it.")],
) -> None:
    """Undo changes of a quota: the rules of an older version return, as a new version."""
    session = session_of(context)
    owner = owner_of(session, name)
    made = session.api.post(f"/{owner['kind']}s/{owner['id']}/quota/restore", version=version, seen=owner["version"])
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.note(
            f"The quota of {owner['name']} is that of version {version} again, as version {made['version']}."
        )
    note_overcommitments(session, made["overcommitted"])


def _in_words(rules: dict[str, Any]) -> str:
    return ", ".join(f"{name} {'none' if value in (None, {}, []) else value}" for name, value in rules.items())
