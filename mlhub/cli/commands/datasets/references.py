# SPDX-License-Identifier: Apache-2.0
"""mlhub dataset push --from, mlhub dataset refresh: versions whose file the platform fetches from an address."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from mlhub.cli import uploads
from mlhub.cli.failures import CommandError
from mlhub.cli.names import found, project_id
from mlhub.cli.output import size
from mlhub.cli.session import Session, session_of

PLACES = ("sha256", "etag", "endpoint", "region")
PINS = ("sha256", "etag")


def shards_in(path: Path) -> list[dict[str, str]]:
    """The addresses that a file lists, one a line, each with what it must be: URI sha256=... etag=... Raises
    CommandError naming the line."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}.") from error
    found = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            found.append({"uri": words[0], **_pairs(words[1:], f"Line {number} of {path}:", PINS)})
    if not found:
        raise CommandError(f"{path} lists no address.", remedy="Give one address a line.")
    return found


def refer(
    session: Session,
    name: str,
    place: dict[str, Any],
    *,
    fields: dict[str, Any],
    secrets: Sequence[str],
    places: Sequence[str],
) -> dict[str, Any]:
    """The ready version of what is at the address, of the dataset of that name, which is created when it is not there.

    place: uri or shards. secrets: "purpose=NAME"; places: "endpoint=..." and the like. Raises CommandError when the
    platform refuses it.
    """
    source: dict[str, Any] = {**place, **_pairs(places, "--source", PLACES)}
    if secrets:
        source["secrets"] = _pairs(secrets, "--secret")
    project = project_id(session.api, session.project)
    there = session.api.get("/datasets", name=name, project=project, limit=1)["results"]
    if there:
        version = session.api.post(f"/datasets/{there[0]['id']}/references", source=source, **fields)
    else:
        version = session.api.post("/datasets/references", name=name, project=project, source=source, **fields)[
            "latest_version"
        ]
    return uploads.accepted(session, "datasets", version["id"])


def refresh(
    context: typer.Context, name: Annotated[str, typer.Argument(help="Name or id of a dataset from an address.")]
) -> None:
    """Look at the address of a dataset again: a new version of what is there now."""
    session = session_of(context)
    query = {"project": project_id(session.api, session.project)} if session.project else {}
    dataset = session.api.get(f"/datasets/{found(session.api, 'datasets', name, **query)['id']}")
    added = session.api.post(f"/dataset-versions/{dataset['latest_version']['id']}/refresh")
    version = uploads.accepted(session, "datasets", added["id"])
    is_changed = version["source"]["found"].get("is_changed")
    words = {True: "the file has changed", False: "the file has not changed", None: "fetched"}[is_changed]
    if session.output.form != "table":
        session.output.data(version)
    else:
        session.output.line(version["id"])
        session.output.note(f"Version {version['number']} is ready ({size(version['size_bytes'])}): {words}.")


def _pairs(given: Sequence[str], option: str, known: Sequence[str] = ()) -> dict[str, str]:
    pairs = {}
    for one in given:
        name, separator, value = one.partition("=")
        if not separator or (known and name not in known):
            raise CommandError(f"{option} {one!r} is no {'|'.join(known) or 'purpose'}=value.")
        pairs[name] = value
    return pairs
