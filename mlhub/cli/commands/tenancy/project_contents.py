# SPDX-License-Identifier: Apache-2.0
"""What a project holds, counted and deleted, for mlhub project rm --with-data."""

from __future__ import annotations

from typing import Any

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.session import Session
from mlhub.client.api import Refused
from mlhub.wire.words import counted_words

# in an order in which what is deleted first uses what comes later
KINDS = ("studies", "jobs", "runs", "models", "datasets")
ENDED = {"studies": ("completed", "failed", "stopped"), "jobs": ("succeeded", "failed", "cancelled")}
MOST_NAMED = 5

Contents = dict[str, list[dict[str, Any]]]


def contents_of(session: Session, project: dict[str, Any]) -> Contents:
    """By kind, all that the project's lists show. Raises CommandError where it may not be deleted by the caller, or
    where something in it has not ended: before anything is gone.
    """
    found = session.api.get(f"/projects/{project['id']}/permissions")["permissions"]
    for needed in (one for one in found if one["action"] == "change_others" and not one["is_allowed"]):
        raise CommandError(
            f"Deleting {project['name']} with its data deletes what others made.",
            remedy=needed["remedy"],
            code=CommandStatus.REFUSED,
        )
    contents = {kind: list(session.api.all(f"/{kind}", project=project["id"])) for kind in KINDS}
    contents["runs"] = [run for run in contents["runs"] if run.get("job") is None]  # the others go with their jobs
    for kind, ended in ENDED.items():
        live = [one["name"] for one in contents[kind] if one["state"] not in ended]
        if live:
            named = ", ".join(live[:MOST_NAMED]) + (" and more" if len(live) > MOST_NAMED else "")
            raise CommandError(
                f"{project['name']} has {counted_words(len(live), kind)} that did not end: {named}.",
                remedy=f"End what is not needed with `mlhub {'cancel' if kind == 'jobs' else 'study stop'}`, or wait.",
                code=CommandStatus.REFUSED,
            )
    return contents


def in_words(contents: Contents) -> str:
    """As in: 3 jobs, 1 model, 2 datasets; "nothing" for an empty project."""
    words = [counted_words(len(rows), kind) for kind, rows in contents.items() if rows]
    return ", ".join(words) or "nothing"


def delete_all(session: Session, contents: Contents) -> list[str]:
    """Deletes one after the other, and returns why some stay. What is used by what was refused is tried once more."""
    left = [(kind, row) for kind, rows in contents.items() for row in rows]
    while True:
        refused = [(one, why) for one in left if (why := _refusal(session, *one))]
        if len(refused) in (0, len(left)):
            return [why for _, why in refused]
        left = [one for one, _ in refused]


def _refusal(session: Session, kind: str, row: dict[str, Any]) -> str:
    try:
        session.api.delete(f"/{kind}/{row['id']}")
    except Refused as error:
        if error.problem.get("status") == 404:
            return ""  # someone else deleted it
        detail = str(error.problem.get("detail") or error)
        return f"{row.get('name') or row['id']}: {detail} {error.remedy}".strip()
    return ""
