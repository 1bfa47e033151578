# SPDX-License-Identifier: Apache-2.0
"""mlhub admission show, pause, resume: whether waiting jobs are started; administrators of the platform pause that."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.output import Format
from mlhub.cli.output import until as until_in_words
from mlhub.cli.session import Session, session_of

PATH = "/scheduler/admission-pause"
admission = typer.Typer(help="Whether jobs are started; administrators pause and resume that.", no_args_is_help=True)


@admission.command("show")
def show_admission(context: typer.Context) -> None:
    """Say whether admission is paused, since when and why."""
    session = session_of(context)
    _print(session, session.api.get(PATH))


@admission.command("pause")
def pause_admission(
    context: typer.Context,
    reason: Annotated[str, typer.Option(help="Why, for those whose jobs wait.")],
    hours: Annotated[float | None, typer.Option(min=0.01, max=8760, help="Resume by itself after so many.")] = None,
    until: Annotated[str, typer.Option(help="Resume by itself then, such as 2026-12-01T06:00:00Z.")] = "",
    change: Annotated[bool, typer.Option("--change", help="Give a pause that is there this reason and end.")] = False,
) -> None:
    """Start no waiting job from the next round on; running jobs go on."""
    if hours is not None and until:
        raise CommandError("The end is given twice.", remedy="Give --hours or --until, not both.")
    session = session_of(context)
    ends_at = until or None if hours is None else (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    present = session.api.get(PATH)
    if present["is_paused"] and not change:
        raise CommandError(
            _in_words(present),
            remedy="Give --change to give it your reason and end instead.",
            code=CommandStatus.REFUSED,
        )
    _print(session, session.api.put(PATH, reason=reason, until=ends_at, version=present["version"]))


@admission.command("resume")
def resume_admission(context: typer.Context) -> None:
    """Let jobs be started again, from the next round on."""
    session = session_of(context)
    was_paused = session.api.get(PATH)["is_paused"]
    session.api.delete(PATH)
    if session.output.form is not Format.TABLE:
        session.output.data(session.api.get(PATH))
        return
    session.output.note("Jobs are started again, from the next round on." if was_paused else "It was not paused.")


def note_pause(session: Session) -> None:
    """Says on standard error that admission is paused, where it is: why nothing in the queue starts."""
    found = session.api.get(PATH)
    if found["is_paused"]:
        session.output.note(_in_words(found))


def _print(session: Session, found: dict[str, Any]) -> None:
    if session.output.form is not Format.TABLE:
        session.output.data(found)
        return
    session.output.line(_in_words(found) if found["is_paused"] else "Admission is not paused.")


def _in_words(found: dict[str, Any]) -> str:
    by = f" by {found['paused_by']}" if found["paused_by"] else ""
    end = "" if found["until"] is None else f"; it is resumed {until_in_words(found['until'])}"
    return f"Admission is paused{by} since {found['since'][:16].replace('T', ' ')} UTC{end}: {found['reason']}"
