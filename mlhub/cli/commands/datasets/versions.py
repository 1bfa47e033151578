# SPDX-License-Identifier: Apache-2.0
"""mlhub dataset versions, mlhub model versions: all versions of one, the newest first."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli.commands.completion import names_of
from mlhub.cli.model_names import model_named
from mlhub.cli.names import found, project_id
from mlhub.cli.output import metrics_text, size, until
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import short_id

DatasetName = Annotated[str, typer.Argument(help="Name or id.", autocompletion=names_of("datasets"))]
ModelName = Annotated[str, typer.Argument(help="Name or id.", autocompletion=names_of("models"))]
MOST_METRICS = 3  # of a row of a table; JSON and YAML have all


def dataset_versions(context: typer.Context, name: DatasetName) -> None:
    """List all versions of a dataset, the newest first."""
    session = session_of(context)
    within = {"project": project_id(session.api, session.project)} if session.project else {}
    _list(
        session,
        f"/datasets/{found(session.api, 'datasets', name, **within)['id']}/versions",
        {
            "STATE": lambda row: row["state"],
            "FORMAT": lambda row: row["format"],
            "SIZE": lambda row: size(row["size_bytes"]),
        },
    )


def model_versions(context: typer.Context, name: ModelName) -> None:
    """List all versions of a model, uploaded, trained or registered, the newest first.

    Of a built-in model's name they are those that the project has trained of it.
    """
    session = session_of(context)
    _list(
        session,
        f"/models/{model_named(session, name)['id']}/versions",
        {
            "STATE": lambda row: row["state"],
            "SOURCE": lambda row: row["source"],
            "DATASET": _dataset,
            "METRICS": lambda row: metrics_text(row["metrics"] or {}, most=MOST_METRICS),
            "ALIASES": lambda row: ", ".join(f"@{alias}" for alias in row["aliases"]),
        },
    )


def _list(session: Session, path: str, columns: dict[str, Any]) -> None:
    shown = {
        "VERSION": lambda row: row["number"],
        "ID": short_id,
        **columns,
        "CREATED": lambda row: until(row["created_at"]),
    }
    session.output.rows(list(session.api.all(path)), shown)


def _dataset(row: dict[str, Any]) -> str:
    used = row["dataset_version"]
    if used:
        return f"{used['dataset']['name']} v{used['number']}"
    return f"{row['trained_on_name'].replace(', version ', ' v')} (deleted)" if row["trained_on_name"] else ""
