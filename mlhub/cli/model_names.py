# SPDX-License-Identifier: Apache-2.0
"""NAME, NAME:3, NAME@best: a trained version as people write it on the command line."""

from __future__ import annotations

from typing import Any

from mlhub.cli.failures import CommandError, CommandStatus
from mlhub.cli.names import found, project_id
from mlhub.cli.session import Session

EXAMPLES = "Name of the model, with :NUMBER or @ALIAS for one of its versions; by default the newest trained one."

OF_BUILT_IN = " (trained)"  # follows the name of a built-in model in that of what a project has trained of it


def version_path(session: Session, written: str) -> str:
    """The address of a version below /api/v1, such as /models/{id}/versions/3. Raises CommandError."""
    name, alias, number = parts_of(written)
    model = model_named(session, name)
    version = f"@{alias}" if alias else number or _newest(session, model)
    return f"/models/{model['id']}/versions/{version}"


def version_named(session: Session, written: str) -> dict[str, Any]:
    """The trained version of a model, as its list has it; by default the newest. Raises CommandError."""
    name, alias, number = parts_of(written)
    model = model_named(session, name)
    return version_of(session, model, alias=alias, number=number, source="training")


def version_of(session: Session, model: dict[str, Any], *, alias: str, number: str, source: str = "") -> dict[str, Any]:
    """The newest version of a model that has this alias and this number, where they are given. Raises CommandError.

    source: such as training; "" = any.
    """
    query: dict[str, Any] = {"source": source} if source else {}
    for row in session.api.all(f"/models/{model['id']}/versions", **query):
        if (alias in row["aliases"]) if alias else (not number or row["number"] == int(number)):
            return dict(row)
    kind = "trained version" if source == "training" else "version"
    raise CommandError(
        f"{model['name']} has no {kind}{f' {number}' if number else ''}{f' @{alias}' if alias else ''}.",
        remedy=f"`mlhub model versions '{model['name']}'` lists those that there are.",
        code=CommandStatus.REFUSED,
    )


def parts_of(written: str) -> tuple[str, str, str]:
    """Name, alias and number, of which the latter two are "" where they are not given. Raises CommandError."""
    name, separator, alias = written.rpartition("@")
    if separator:
        return name, alias, ""
    name, separator, number = written.rpartition(":")
    if not separator:
        return written, "", ""
    if not number.isdecimal():
        raise CommandError(f"{written!r} names no version.", remedy=EXAMPLES)
    return name, "", number


def model_named(session: Session, name: str) -> dict[str, Any]:
    """The model of that name; of a built-in one, what a project has trained of it. Raises CommandError."""
    query = {"project": project_id(session.api, session.project)} if session.project else {}
    rows = session.api.get("/models", name=name, limit=1, **query)["results"]
    if not rows or rows[0]["project"] is None:
        trained = f"{name}{OF_BUILT_IN}"
        name = trained if session.api.get("/models", name=trained, limit=1, **query)["results"] else name
    return found(session.api, "models", name, **query)


def _newest(session: Session, model: dict[str, Any]) -> int:
    rows = session.api.get(f"/models/{model['id']}/versions", source="training", limit=1)["results"]
    if not rows:
        raise CommandError(f"{model['name']} has no trained version.", remedy="Train it first: `mlhub run`.")
    return int(rows[0]["number"])
