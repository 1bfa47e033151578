# SPDX-License-Identifier: Apache-2.0
"""mlhub announcement list, create, delete, dismiss: what administrators of the platform say to everybody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.names import organisation_named
from mlhub.cli.output import Format, until
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import SHOWN, is_part, short_id

PATH = "/announcements"
announcement = typer.Typer(
    help="What administrators say to everybody; they create and delete that.", no_args_is_help=True
)
AnnouncementId = Annotated[str, typer.Argument(metavar="ID", help="Its id, or the end of it, as `list` shows it.")]
COLUMNS: dict[str, Any] = {
    "ID": short_id,
    "STATE": lambda row: row["state"],
    "SEVERITY": lambda row: row["severity"],
    "FOR": lambda row: "everybody" if row["organisation"] is None else row["organisation"]["name"],
    "BEGINS": lambda row: until(row["begins_at"]),
    "ENDS": lambda row: until(row["ends_at"]),
    "TEXT": lambda row: " ".join(row["text"].split()),
}


@announcement.command("list")
def list_announcements(context: typer.Context) -> None:
    """List announcements: those that are shown to you; to administrators of the platform all."""
    session = session_of(context)
    session.output.rows(list(session.api.all(PATH)), COLUMNS)


@announcement.command("create")
def create_announcement(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="What to say, in plain text.")],
    warning: Annotated[bool, typer.Option("--warning", help="As a warning, else as information.")] = False,
    organisation: Annotated[str, typer.Option(help="Only to members of this one: its name or id.")] = "",
    begins: Annotated[str, typer.Option(help="From then on, such as 2026-12-01T06:00:00Z; by default from now.")] = "",
    ends: Annotated[str, typer.Option(help="Until then; by default until it is deleted.")] = "",
    hours: Annotated[float | None, typer.Option(min=0.01, max=8760, help="For so long, from its begin on.")] = None,
    stays: Annotated[bool, typer.Option("--stays", help="People cannot dismiss it.")] = False,
) -> None:
    """Say something to everybody, on every page and in `mlhub`."""
    if hours is not None and ends:
        raise CommandError("The end is given twice.", remedy="Give --hours or --ends, not both.")
    session = session_of(context)
    made = session.api.post(
        PATH,
        text=text,
        severity="warning" if warning else "information",
        organisation=organisation_named(session.api, organisation)["id"] if organisation else None,
        begins_at=begins or None,
        ends_at=ends or None if hours is None else _end(begins, hours),
        is_dismissible=not stays,
    )
    if session.output.form is not Format.TABLE:
        session.output.data(made)
        return
    begin = "It is shown now" if made["state"] == "current" else f"It is shown {until(made['begins_at'])}"
    end = (
        f"it ends {until(made['ends_at'])}"
        if made["ends_at"]
        else f"`mlhub announcement delete {short_id(made)}` ends it"
    )
    session.output.note(f"{begin}; {end}.")


@announcement.command("delete")
def delete_announcement(context: typer.Context, announced: AnnouncementId) -> None:
    """Delete an announcement: pages show it no more."""
    session = session_of(context)
    session.api.delete(f"{PATH}/{_found(session, announced)['id']}")
    session.output.note("Deleted.")


@announcement.command("dismiss")
def dismiss_announcement(context: typer.Context, announced: AnnouncementId) -> None:
    """See an announcement no more, neither here nor on pages."""
    session = session_of(context)
    session.api.post(f"{PATH}/{_found(session, announced)['id']}/dismissal")
    session.output.note("Dismissed.")


def note_announcements(session: Session) -> None:
    """Says on standard error what administrators say now, warnings first."""
    for one in session.api.get(f"{PATH}/current")["announcements"]:
        kind = "Warning" if one["severity"] == "warning" else "Announcement"
        away = f" (`mlhub announcement dismiss {short_id(one)}`)" if one["is_dismissible"] else ""
        session.output.note(f"{kind}: {one['text']}{away}")


def _found(session: Session, announced: str) -> dict[str, Any]:
    """Raises CommandError."""
    rows = [row for row in session.api.all(PATH) if is_part(announced, row["id"])]
    if len(rows) == 1:
        return rows[0]
    if rows:
        raise CommandError(f"Several announcements have {announced} in their id.", remedy="Give more of it.")
    raise CommandError(
        f"There is no announcement {announced}.",
        remedy=f"`mlhub announcement list` shows the last {SHOWN} characters of each id.",
        code=CommandStatus.REFUSED,
    )


def _end(begins: str, hours: float) -> str:
    """Raises CommandError for a begin that is no time."""
    try:
        begin = datetime.fromisoformat(begins) if begins else datetime.now(UTC)
    except ValueError as error:
        raise CommandError(
            f"--begins {begins} is no time.", remedy="Write it as 2026-12-01T06:00:00Z.", code=CommandStatus.REFUSED
        ) from error
    return (begin + timedelta(hours=hours)).isoformat()
