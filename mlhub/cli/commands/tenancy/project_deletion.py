# SPDX-License-Identifier: Apache-2.0
"""Deleting a project with all that it holds, for mlhub project rm --with-data: the count, and how far it is."""

from __future__ import annotations

import time
from typing import Any

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.output import size
from mlhub.cli.session import Session
from mlhub.wire.words import counted_words

POLL_S = 1.0


def contents_of(session: Session, project: dict[str, Any]) -> dict[str, Any]:
    """What would be deleted, as the API says. Raises CommandError where it is refused, before anything is gone."""
    found: dict[str, Any] = session.api.get(f"/projects/{project['id']}/deletion")
    for refusal in found["refusals"] if found["deletion"] is None else ():
        raise CommandError(refusal["message"], remedy=refusal["remedy"], code=CommandStatus.REFUSED)
    return found


def in_words(contents: dict[str, Any]) -> str:
    """As in: 3 jobs, 1 model, 2 datasets, 1.5 MB; "nothing" for an empty project."""
    words = [counted_words(n, kind.replace("_", " ")) for kind, n in contents["counts"].items() if n]
    n_bytes = contents["n_bytes"] + contents["checkpoint_bytes"]
    return ", ".join([*words, *([size(n_bytes)] if n_bytes else [])]) or "nothing"


def delete_with_data(session: Session, project: dict[str, Any], contents: dict[str, Any]) -> None:
    """Begins the deletion, or finds the one under way, and follows it; it goes on when this is interrupted."""
    begun = contents["deletion"] or session.api.post(f"/projects/{project['id']}/deletion", name=project["name"])
    said = ""
    while begun["ended_at"] is None:
        now = begun["problem"] or f"{begun['n_removed']} of {begun['n_total']} things are deleted."
        if now != said:
            session.output.note(now)
        said = now
        time.sleep(POLL_S)
        begun = session.api.get(f"/project-deletions/{begun['id']}")
    session.output.note(
        f"Deleted: {project['name']}, {counted_words(begun['n_total'], 'things')}, {size(begun['bytes_removed'])}."
    )
