# SPDX-License-Identifier: Apache-2.0
"""mlhub dataset versions, mlhub model versions: all versions of one, the newest first."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.names import found, project_id
from mlhub.cli.output import metrics_text, size, until
from mlhub.cli.session import session_of
from mlhub.cli.short_ids import short_id

Name = Annotated[str, typer.Argument(help="Name or id.")]
MOST_METRICS = 3  # of a row of a table; JSON and YAML have all


def dataset_versions(context: typer.Context, name: Name) -> None:
    """List all versions of a dataset, the newest first."""
    _list(
        context,
        "datasets",
        name,
        {
            "STATE": lambda row: row["state"],
            "FORMAT": lambda row: row["format"],
            "SIZE": lambda row: size(row["size_bytes"]),
        },
    )


def model_versions(context: typer.Context, name: Name) -> None:
    """List all versions of a model, uploaded, trained or registered, the newest first."""
    _list(
        context,
        "models",
        name,
        {
            "STATE": lambda row: row["state"],
            "SOURCE": lambda row: row["source"],
            "DATASET": _dataset,
            "METRICS": lambda row: metrics_text(row["metrics"] or {}, most=MOST_METRICS),
            "ALIASES": lambda row: ", ".join(f"@{alias}" for alias in row["aliases"]),
        },
    )


def _list(context: typer.Context, collection: str, name: str, columns: dict[str, Any]) -> None:
    session = session_of(context)
    within = {"project": project_id(session.api, session.project)} if session.project else {}
    path = f"/{collection}/{found(session.api, collection, name, **within)['id']}/versions"
    shown = {
        "VERSION": lambda row: row["number"],
        "ID": short_id,
        **columns,
        "CREATED": lambda row: until(row["created_at"]),
    }
    session.output.rows(list(session.api.all(path)), shown)


def _dataset(row: dict[str, Any]) -> str:
    used = row["dataset_version"]
    return f"{used['dataset']['name']} v{used['number']}" if used else ""
