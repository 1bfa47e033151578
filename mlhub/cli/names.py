# SPDX-License-Identifier: Apache-2.0
"""Names where the API wants ids: people write `iris`, a job's name, or the first characters of an id."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.client.api import Api, Refused

SHORTEST_PREFIX = 4
LISTED = 200


def found(api: Api, collection: str, name: str, **query: Any) -> dict[str, Any]:
    """One object of a collection ("jobs", "datasets" ...) by id, exact name, or the beginning of its id.

    Of several jobs of one name it is the newest. Raises CommandError when there is none, or when several fit.
    """
    if _is_id(name):
        return _by_id(api, collection, name)
    rows: list[dict[str, Any]] = api.get(f"/{collection}", name=name, limit=2, **query)["results"]
    if collection == "jobs" and rows:
        return rows[0]
    if not rows and len(name) >= SHORTEST_PREFIX:
        rows = [r for r in api.get(f"/{collection}", limit=LISTED, **query)["results"] if r["id"].startswith(name)]
    if len(rows) == 1:
        return rows[0]
    kind = _kind(collection)
    if rows:
        ids = ", ".join(row["id"] for row in rows)
        raise CommandError(f"Several {collection} are called {name}.", remedy=f"Give --project, or an id: {ids}.")
    raise CommandError(
        f"There is no {kind} {name} that you may see.",
        remedy=f"`mlhub {_listing(collection)}` lists what there is.",
        code=CommandStatus.REFUSED,
    )


def project_id(api: Api, name: str) -> str:
    """The project that was named, or the only one. Raises CommandError."""
    if name:
        return str(found(api, "projects", name)["id"])
    rows = [p for p in api.get("/projects", limit=LISTED)["results"] if not p.get("archived_at")]
    if len(rows) == 1:
        return str(rows[0]["id"])
    names = ", ".join(row["name"] for row in rows)
    if not rows:
        raise CommandError(
            "You are in no project.", remedy="`mlhub project create NAME` makes one, where you are admin or owner."
        )
    raise CommandError("Which project?", remedy=f"Give --project; there are: {names}.")


def dataset_version(api: Api, dataset: dict[str, Any], number: int) -> dict[str, Any]:
    """The version of that number. Raises CommandError."""
    versions = api.all(f"/datasets/{dataset['id']}/versions")
    version = next((one for one in versions if one["number"] == number), None)
    if version is None:
        newest = (dataset["latest_version"] or {}).get("number", 0)
        raise CommandError(
            f"{dataset['name']} has no version {number}.", remedy=f"Its newest is {newest}.", code=CommandStatus.REFUSED
        )
    return version


def organisation_named(api: Api, name: str) -> dict[str, Any]:
    """The organisation of that name or id, or the only one. Raises CommandError."""
    rows: list[dict[str, Any]] = list(api.all("/organisations"))
    chosen = [row for row in rows if not name or name in (row["name"], row["id"])]
    if len(chosen) == 1:
        return chosen[0]
    if not rows:
        raise CommandError(
            "You are in no organisation.",
            remedy="Ask an owner of one for an invitation, or make one, as an administrator of the platform: "
            "`mlhub organisation create NAME`.",
        )
    names = ", ".join(row["name"] for row in rows)
    raise CommandError(
        f"You are in no organisation {name}." if name else "Which organisation?",
        remedy=f"Name one; there are: {names}.",
        code=CommandStatus.REFUSED if name else CommandStatus.USAGE,  # as for what else is named and is not there
    )


def is_place_named(given: str, kind: str, row: dict[str, Any]) -> bool:
    """Whether an organisation, a team or a project has this id or name; `team/vision` is no project vision."""
    return given in (row["id"], row["name"], f"{kind}/{row['name']}")


def several_places(given: str, found: list[tuple[str, str]]) -> CommandError:
    """The error where several places have that name. found: the kind and the id of each."""
    kinds = [kind for kind, _ in found]
    name = given.partition("/")[2] if given.partition("/")[0] in kinds else given
    alone = [f"{kind}/{name}" for kind in kinds if kinds.count(kind) == 1]
    ids = ", ".join(f"{id} ({kind})" for kind, id in found)
    return CommandError(
        f"{len(found)} are called {given}.",
        remedy=f"Give {' or '.join(alone)}, or an id: {ids}." if alone else f"Give an id: {ids}.",
    )


def _by_id(api: Api, collection: str, pk: str) -> dict[str, Any]:
    try:
        row: dict[str, Any] = api.get(f"/{collection}/{pk}")
    except Refused as error:
        if error.problem.get("status") != 404:
            raise
        raise CommandError(
            f"There is no {_kind(collection)} {pk} that you may see.", code=CommandStatus.REFUSED
        ) from error
    return row


def _listing(collection: str) -> str:
    return "ps --all" if collection == "jobs" else f"{_kind(collection)} ls"


def _kind(collection: str) -> str:
    """One of them: job, study."""
    return collection.removesuffix("ies") + "y" if collection.endswith("ies") else collection.rstrip("s")


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
