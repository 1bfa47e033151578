# SPDX-License-Identifier: Apache-2.0
"""Organisations, teams and projects by name, as commands about quotas take them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.names import places_named, several_places
from mlhub.cli.session import Session
from mlhub.client.api import Api

OwnerName = Annotated[
    str, typer.Argument(help="Name or id of an organisation, a team or a project; team/NAME: only a team.")
]


def owners_of(api: Api) -> list[dict[str, Any]]:
    """All organisations, teams and projects that the caller sees, with their rules, books and boosts."""
    outside = [one["organisation"] for one in api.get("/auth/me")["memberships"] if one["role"] == "outsider"]
    ids = {one["id"]: None for one in (*api.all("/organisations"), *outside)}  # in this order, each once
    return [owner for id in ids for owner in api.get(f"/organisations/{id}/quota-tree")["owners"]]


def owner_of(session: Session, name: str) -> dict[str, Any]:
    found = [one for _, one in places_named(name, [(one["kind"], one) for one in owners_of(session.api)])]
    if len(found) == 1:
        return found[0]
    if found:
        raise several_places(name, [(one["kind"], one["id"]) for one in found])
    raise CommandError(
        f"There is no organisation, team or project {name} that you may see.",
        remedy="The page Quotas lists them.",
        code=CommandStatus.REFUSED,
    )


def note_overcommitments(session: Session, found: Iterable[dict[str, Any]], *, are: str = "are") -> None:
    """Says, each once, which guarantees the cluster could not honour for all organisations at once.

    are: "would be" in the answer to a question, where nothing is set.
    """
    for sentence in dict.fromkeys(_overcommitment(row, are) for row in found):
        session.output.note(f"Warning: {sentence}")


def _overcommitment(row: dict[str, Any], are: str) -> str:
    what = f"GPUs of type {row['gpu_type']}" if row["gpu_type"] else "GPUs"
    if row["guaranteed"] is None:
        return (
            f"organisations {are} guaranteed more {what} in sum than the {row['gpus']} that the cluster has, so a "
            "guarantee may not be met in full. Administrators of the platform can lower guarantees or add nodes."
        )
    return (
        f"organisations {are} guaranteed {row['guaranteed']} {what} in sum, and the cluster has {row['gpus']}: not all "
        "can be honoured at once. Lower a guarantee, or add nodes."
    )
