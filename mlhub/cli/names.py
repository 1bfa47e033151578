# SPDX-License-Identifier: Apache-2.0
"""Names where the API wants ids: people write `iris`, a job's name, or a part of an id as tables show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.short_ids import is_part
from mlhub.client.api import Api, Refused

LISTED = 200
MOST_NAMED = 10  # candidates in a message


def found(api: Api, collection: str, name: str, **query: Any) -> dict[str, Any]:
    """One object of a collection ("jobs", "datasets" ...) by id, exact name, or the end or the beginning of its id.

    Of several jobs of one name it is the newest. Raises CommandError when there is none, or when several fit.
    """
    name = name.strip()  # as lists read it
    if is_id(name):
        return _by_id(api, collection, name)
    rows = meant(api, collection, name, **query)
    is_name = any(row["name"] == name for row in rows)
    if len(rows) == 1 or (is_name and collection == "jobs"):
        return rows[0]
    if is_name:
        ids = ", ".join(row["id"] for row in rows)
        raise CommandError(f"Several {collection} are called {name}.", remedy=f"Give --project, or an id: {ids}.")
    if rows:
        raise _several(rows, name, collection)
    kind = _kind(collection)
    raise CommandError(
        f"There is no {kind} {name} that you may see.",
        remedy=f"`mlhub {_listing(collection)}` lists what there is.",
        code=CommandStatus.REFUSED,
    )


def found_near(api: Api, collection: str, name: str, *, project: str) -> dict[str, Any]:
    """As found(); what has that name in the project comes before what is built in, and that before its namesakes
    elsewhere, as where the platform reads names."""
    name = name.strip()
    if is_id(name):
        return _by_id(api, collection, name)
    if any(row["name"] == name for row in meant(api, collection, name, project=project)):
        return found(api, collection, name, project=project)
    built_in = [row for row in meant(api, collection, name) if row["name"] == name and row["project"] is None]
    return built_in[0] if built_in else found(api, collection, name)


def meant(api: Api, collection: str, name: str, **query: Any) -> list[dict[str, Any]]:
    """What the platform finds by that name, else by that part of an id: all, or one more than a message names."""
    if not name.strip():
        return []  # a list takes an empty filter for none
    rows: list[dict[str, Any]] = api.get(f"/{collection}", ref=name, limit=MOST_NAMED + 1, **query)["results"]
    return rows


def project_id(api: Api, name: str) -> str:
    """The project that was named, or the only one. Raises CommandError."""
    if name:
        return str(project_named(api, name)["id"])
    rows = [p for p in api.get("/projects", limit=LISTED)["results"] if not p.get("archived_at")]
    if len(rows) == 1:
        return str(rows[0]["id"])
    names = ", ".join(_with_organisation(rows))
    if not rows:
        raise CommandError(
            "You are in no project.", remedy="`mlhub project create NAME` makes one, where you are admin or owner."
        )
    raise CommandError("Which project?", remedy=f"Give --project; there are: {names}.")


def project_named(api: Api, name: str) -> dict[str, Any]:
    """The project of that id, name, or name behind that of its organisation: `organisation/project`, with
    the name or id of the first. Raises CommandError, with the candidates where several fit."""
    name = name.strip()
    if is_id(name):
        return _by_id(api, "projects", name)
    rows = meant(api, "projects", name)
    if not rows and "/" in name:
        rows = _of_organisation(api, name)
    if len(rows) > 1 and any(row["name"] == name.rpartition("/")[2] or row["name"] == name for row in rows):
        named = _with_organisation(rows[:MOST_NAMED])
        more = " and more" if len(rows) > MOST_NAMED else ""
        ids = [f"{place} ({row['id']})" for place, row in zip(named, rows, strict=False)]
        is_clear = len(set(named)) == len(named)
        raise CommandError(
            f"Several projects are called {name}.", remedy=f"Give one of {', '.join(named if is_clear else ids)}{more}."
        )
    return rows[0] if len(rows) == 1 else found(api, "projects", name)


def _of_organisation(api: Api, name: str) -> list[dict[str, Any]]:
    """The projects that `organisation/project` means. Both names may have slashes: each one is tried."""
    parts = name.split("/")
    rows: dict[str, dict[str, Any]] = {}
    for n in range(1, len(parts)):
        organisation, project = "/".join(parts[:n]).strip(), "/".join(parts[n:])
        try:
            found = meant(api, "projects", project, organisation=organisation) if organisation else []
        except Refused as error:
            if error.problem.get("status") != 404:  # there is no organisation of that name
                raise
            continue
        rows |= {row["id"]: row for row in found}
    return list(rows.values())


def _with_organisation(rows: Sequence[dict[str, Any]]) -> list[str]:
    return [f"{row['organisation']['name']}/{row['name']}" for row in rows]


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
    chosen = meant(api, "organisations", name) if name else []
    if len(chosen) > 1:
        raise _several(chosen, name, "organisations")
    rows = chosen or api.get("/organisations", limit=MOST_NAMED + 1)["results"]
    if len(rows) == 1 and (chosen or not name):
        return rows[0]
    if not rows:
        raise CommandError(
            "You are in no organisation.",
            remedy="Ask an owner of one for an invitation, or make one, as an administrator of the platform: "
            "`mlhub organisation create NAME`.",
        )
    names = ", ".join(row["name"] for row in rows[:MOST_NAMED]) + (" and more" if len(rows) > MOST_NAMED else "")
    raise CommandError(
        f"You are in no organisation {name}." if name else "Which organisation?",
        remedy=f"Name one; there are: {names}.",
        code=CommandStatus.REFUSED if name else CommandStatus.USAGE,  # as for what else is named and is not there
    )


def places_named(given: str, rows: Sequence[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    """Those with this id or name, else with this part of an id; `team/vision` is no project vision.

    rows: organisations, teams and projects, each behind its kind.
    """
    exact = [(kind, row) for kind, row in rows if given in (row["id"], row["name"], f"{kind}/{row['name']}")]
    return exact or [(kind, row) for kind, row in rows if is_part(given, row["id"])]


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


def _several(rows: Sequence[dict[str, Any]], part: str, collection: str) -> CommandError:
    """The error where several ids have this part, with the candidates."""
    named = ", ".join(f"{row['id']} ({row['name']})" for row in rows[:MOST_NAMED])
    is_all = len(rows) <= MOST_NAMED
    number = f"{len(rows)}" if is_all else f"more than {MOST_NAMED}"
    return CommandError(
        f"The ids of {number} {collection} begin or end with {part}.",
        remedy=f"Give more of one of {named}{'' if is_all else ' and more'}.",
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


def is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
