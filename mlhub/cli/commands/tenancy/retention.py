# SPDX-License-Identifier: Apache-2.0
"""mlhub project retention: how long a project keeps what its jobs leave, and what other days would remove."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.completion import names_of
from mlhub.cli.failures import CommandError
from mlhub.cli.given_values import finite
from mlhub.cli.names import project_id
from mlhub.cli.output import Format, size
from mlhub.cli.session import session_of

retention = typer.Typer(help="How long a project keeps what its jobs leave.", no_args_is_help=True)
ProjectName = Annotated[
    str, typer.Argument(help="Name, organisation/name, or id of the project.", autocompletion=names_of("projects"))
]
Rules = Annotated[list[str], typer.Argument(metavar="KIND=DAYS", help="As in logs=30; 0: for good; usual: no rule.")]


@retention.command("show")
def show(context: typer.Context, project: ProjectName) -> None:
    """Show what is kept for how long, and what there is of it."""
    session = session_of(context)
    found = session.api.get(f"/projects/{project_id(session.api, project)}/retention")
    columns: dict[str, Any] = {
        "KIND": lambda row: row["kind"],
        "DAYS": lambda row: "for good" if row["days"] is None else f"{row['days']:g}",
        "RULE": lambda row: row["rule_of"],
        "BOUND": lambda row: _bound_text(row["clamped_by"]),
        "ITEMS": lambda row: row["stored"]["n_items"],
        "JOBS": lambda row: row["stored"]["n_jobs"],
        "SIZE": lambda row: size(row["stored"]["n_bytes"]),
        "DUE": lambda row: size(row["due"]["n_bytes"]) if row["due"]["n_items"] else "",
    }
    session.output.rows(found["kinds"], columns)
    if any(row["due"]["n_items"] for row in found["kinds"]):
        session.output.note("What is due is past its days, and is removed within some minutes.")


@retention.command("set")
def set_rules(
    context: typer.Context,
    project: ProjectName,
    rules: Rules,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
) -> None:
    """Keep kinds for other days; what is due is removed within some minutes, for good."""
    session = session_of(context)
    days = dict(_rule(one) for one in rules)
    path = f"/projects/{project_id(session.api, project)}/retention"
    if dry_run:
        columns: dict[str, Any] = {
            "KIND": lambda row: row["kind"],
            "ITEMS": lambda row: row["n_items"],
            "JOBS": lambda row: row["n_jobs"],
            "SIZE": lambda row: size(row["n_bytes"]),
        }
        session.output.rows(session.api.post(f"{path}/preview", **days), columns)
        return
    made = session.api.patch(path, **days)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.note("The rules are saved; what is due goes within some minutes.")


def _bound_text(bound: dict[str, Any] | None) -> str:
    """The bound that made other days of the rule."""
    return "" if bound is None else f"{bound['side'].replace('_', ' ')} {bound['days']:g} ({bound['owner']})"


def _rule(text: str) -> tuple[str, float | None]:
    kind, mark, days = text.partition("=")
    try:
        if mark and kind:
            return kind, None if days == "usual" else finite(days)
    except ValueError:
        pass
    raise CommandError(f"{text!r} is no kind with days.", remedy="Give it as in logs=30, logs=0 or logs=usual.")
