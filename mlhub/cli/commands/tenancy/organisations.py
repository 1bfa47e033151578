# SPDX-License-Identifier: Apache-2.0
"""mlhub organisation ls|create|rename|archive|unarchive|rm|deletion|retention."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.tenancy.deletions import ended_deletion, note_ended
from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.failures import CommandError
from mlhub.cli.given_values import finite
from mlhub.cli.names import meant, organisation_named
from mlhub.cli.output import Format, size
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import short_id

organisation = typer.Typer(help="Organisations.", no_args_is_help=True)
retention = typer.Typer(help="Bounds on how long projects keep what their jobs leave.", no_args_is_help=True)
organisation.add_typer(retention, name="retention")
OrganisationName = Annotated[str, typer.Argument(help="Name or id of the organisation.")]
Bounds = Annotated[
    list[str],
    typer.Argument(metavar="KIND.BOUND=DAYS", help="As in logs.most=90, logs.least=30, logs.default=60; none: not."),
]
FIELDS = {"least": "least_days", "most": "most_days", "default": "default_days"}


@organisation.command("ls")
def list_organisations(
    context: typer.Context,
    search: Annotated[str, typer.Option(help="Only those whose name contains this, in any case.")] = "",
) -> None:
    """List your organisations."""
    session = session_of(context)
    columns: dict[str, Any] = {
        "ID": short_id,
        "NAME": lambda one: one["name"],
        "ROLE": lambda one: one["role"] or "",
    }
    query: dict[str, Any] = {"search": search} if search else {}
    session.output.rows(list(session.api.all("/organisations", **query)), columns)


@organisation.command("create")
def create_organisation(
    context: typer.Context, name: Annotated[str, typer.Argument(help="The name of the new organisation.")]
) -> None:
    """Make an organisation with an empty quota; for administrators of the platform."""
    session = session_of(context)
    made = session.api.post("/organisations", name=name)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.line(made["id"])
        session.output.note(f"Made: {made['name']}.")


@organisation.command("rename")
def rename_organisation(
    context: typer.Context, name: OrganisationName, new: Annotated[str, typer.Argument(help="The new name.")]
) -> None:
    """Give an organisation another name; for owners."""
    _change(context, name, "Renamed", {"name": new})


@organisation.command("archive")
def archive_organisation(context: typer.Context, name: OrganisationName) -> None:
    """Close an organisation: it takes no projects, uploads and jobs, and stays readable; for owners."""
    _change(context, name, "Archived", {"is_archived": True})


@organisation.command("unarchive")
def unarchive_organisation(context: typer.Context, name: OrganisationName) -> None:
    """Open an archived organisation again; for owners."""
    _change(context, name, "Open again", {"is_archived": False})


@organisation.command("rm")
def remove_organisation(context: typer.Context, name: OrganisationName, yes: Yes = False) -> None:
    """Delete an empty organisation for good; for owners. With its data it is deleted on the page Members."""
    session = session_of(context)
    row = organisation_named(session.api, name)
    require_yes(f"Delete the organisation {row['name']} for good?", yes=yes)
    session.api.delete(f"/organisations/{row['id']}")
    session.output.note(f"Deleted: {row['name']}.")


@organisation.command("deletion")
def show_deletion(context: typer.Context, name: OrganisationName) -> None:
    """What deleting the organisation with all its data would remove, what forbids it, or how far that is.

    The deletion itself needs your password, and begins on the page Members. Once it has ended: what it removed, and on
    which machines copies may still be.
    """
    session = session_of(context)
    if not meant(session.api, "organisations", name) and (ended := ended_deletion(session.api, name)) is not None:
        if session.output.form is not Format.TABLE:
            session.output.data(ended)
        note_ended(session, ended)
        return
    found = session.api.get(f"/organisations/{organisation_named(session.api, name)['id']}/deletion")
    if session.output.form is not Format.TABLE:
        session.output.data(found)
        return
    rows = [{"kind": kind.replace("_", " "), "n": n} for kind, n in found["counts"].items() if n]
    session.output.rows(rows, {"KIND": lambda row: row["kind"], "NUMBER": lambda row: row["n"]})
    session.output.note(f"Stored: {size(found['n_bytes'])}, of which others store {size(found['shared_bytes'])}, too.")
    if (running := found["deletion"]) is not None:
        session.output.note(f"Being deleted: {running['n_removed']} of {running['n_total']}. {running['problem']}")
        return
    for refusal in found["refusals"]:
        session.output.note(f"{refusal['message']} {refusal['remedy']}")


@retention.command("show")
def show(context: typer.Context, name: OrganisationName) -> None:
    """Show the bounds, and the rules of projects that they change."""
    session = session_of(context)
    found = session.api.get(_address(session, name))
    if session.output.form is not Format.TABLE:
        session.output.data(found)
        return
    session.output.rows(
        found["kinds"],
        {
            "KIND": lambda row: row["kind"],
            "LEAST": lambda row: _days(row["least_days"], "-"),
            "MOST": lambda row: _days(row["most_days"], "-"),
            "DEFAULT": lambda row: _days(row["default_days"], "-"),
            "INSTALLATION": lambda row: _days(row["installation_days"], "for good"),
        },
    )
    for row in found["clamped"]:
        kept, chosen = _days(row["days"], "for good"), _days(row["chosen_days"], "for good")
        session.output.note(f"{row['project']['name']}: {row['kind']} {kept} in place of {chosen}.")


@retention.command("set")
def set_bounds(
    context: typer.Context,
    name: OrganisationName,
    bounds: Bounds,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change and be removed.")] = False,
) -> None:
    """Change bounds and defaults; what is due by them is removed within some minutes, for good."""
    session = session_of(context)
    rules: dict[str, dict[str, float | None]] = {}
    for kind, field, days in map(_bound, bounds):
        rules.setdefault(kind, {})[field] = days
    path = _address(session, name)
    if dry_run:
        columns: dict[str, Any] = {
            "PROJECT": lambda row: row["project"]["name"],
            "KIND": lambda row: row["kind"],
            "BEFORE": lambda row: _days(row["days_before"], "for good"),
            "AFTER": lambda row: _days(row["days_after"], "for good"),
            "ITEMS": lambda row: row["n_items"],
            "JOBS": lambda row: row["n_jobs"],
            "SIZE": lambda row: size(row["n_bytes"]),
        }
        session.output.rows(session.api.post(f"{path}/preview", **rules), columns)
        return
    made = session.api.patch(path, **rules)
    if session.output.form is not Format.TABLE:
        session.output.data(made)
    else:
        session.output.note("The bounds are saved; what is due goes within some minutes.")


def _change(context: typer.Context, name: str, done: str, changes: dict[str, Any]) -> None:
    session = session_of(context)
    row = session.api.patch(f"/organisations/{organisation_named(session.api, name)['id']}", **changes)
    if session.output.form is not Format.TABLE:
        session.output.data(row)
    else:
        session.output.note(f"{done}: {row['name']}.")


def _address(session: Session, name: str) -> str:
    return f"/organisations/{organisation_named(session.api, name)['id']}/retention"


def _bound(text: str) -> tuple[str, str, float | None]:
    name, mark, days = text.partition("=")
    kind, _, bound = name.partition(".")
    try:
        if mark and kind and bound in FIELDS:
            return kind, FIELDS[bound], None if days == "none" else finite(days)
    except ValueError:
        pass
    raise CommandError(f"{text!r} is no bound.", remedy="As in logs.most=90, logs.default=0 or logs.least=none.")


def _days(days: float | None, without: str) -> str:
    return without if days is None else f"{days:g}"
