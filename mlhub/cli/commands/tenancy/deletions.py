# SPDX-License-Identifier: Apache-2.0
"""Deletions of projects and organisations with all that they hold: the count, how far it is, and what is left where."""

from __future__ import annotations

import time
from typing import Any

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.output import Format, size
from mlhub.cli.session import Session
from mlhub.client.api import Api
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
    if session.output.form is not Format.TABLE:
        session.output.data(begun)
    note_ended(session, begun)


def note_ended(session: Session, deletion: dict[str, Any]) -> None:
    """What is gone, and what is not yet: bytes that were stored lately, and copies on machines with agents."""
    things = counted_words(deletion["n_total"], "things")
    session.output.note(f"Deleted: {deletion['name']}, {things}, {size(deletion['bytes_removed'])}.")
    if n := deletion["later_blobs"]:
        session.output.note(
            f"{counted_words(n, 'files')} {'was' if n == 1 else 'were'} stored within the last hour: the bytes go "
            "within two days, unless they are stored again."
        )
    if n := deletion["n_machines_left"]:
        named = deletion["machines_left"]
        names = ", ".join([*named, *([f"{n - len(named):,} more"] if n > len(named) else [])])
        session.output.note(
            f"{counted_words(n, 'machines')} {'has' if n == 1 else 'have'} not yet said that nothing of it is left in "
            f"the cache there: {names}. Agents that are connected remove it within 15 minutes."
        )


def ended_deletion(api: Api, name: str) -> dict[str, Any] | None:
    """The newest deletion that has ended of an organisation of that name or id, of those that one has asked for."""
    ended = [one for one in api.all("/organisation-deletions") if one["ended_at"] is not None]
    named = [one for one in ended if name in (one["name"], one["organisation_id"])]
    return max(named, key=lambda one: str(one["ended_at"]), default=None)
