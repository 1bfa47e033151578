# SPDX-License-Identifier: Apache-2.0
"""mlhub dataset columns: what is in each column of a table, and which of them are learned from."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from mlhub.cli import uploads
from mlhub.cli.commands.completion import names_of
from mlhub.cli.failures import CommandError
from mlhub.cli.names import found, project_id
from mlhub.cli.session import session_of

Pairs = list[str] | None
TABLE = {
    "COLUMN": lambda row: row["name"],
    "ROLE": lambda row: row.get("role", ""),
    "TYPE": lambda row: _type(row),
    "MISSING": lambda row: row["n_missing"],
    "DISTINCT": lambda row: "many" if row["n_distinct"] is None else row["n_distinct"],
    "EXAMPLES": lambda row: ", ".join(row["examples"][:2])[:24],
}


def columns(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or id of a dataset.", autocompletion=names_of("datasets"))],
    target: Annotated[str, typer.Option(help="The column to predict.")] = "",
    ignore: Annotated[list[str] | None, typer.Option(help="A column not to learn from; repeatable.")] = None,
    types: Annotated[
        Pairs, typer.Option("--type", help="column=number, category, date, text or split; repeatable.")
    ] = None,
    missing: Annotated[Pairs, typer.Option(help="column=indicator, fill or drop; repeatable.")] = None,
    numbers: Annotated[
        Pairs, typer.Option(help="Of CSV: column=comma (1.234,56) or point (1,234.56); repeatable.")
    ] = None,
) -> None:
    """Show the columns of a table, or choose others of the file that is there already.

    `-o yaml` shows also what is done with each column, and its distribution.
    """
    session = session_of(context)
    query = {"project": project_id(session.api, session.project)} if session.project else {}
    dataset = session.api.get(f"/datasets/{found(session.api, 'datasets', name, **query)['id']}")
    version: dict[str, Any] = dataset["latest_version"]
    pairs = {"types": types, "missing": missing, "numbers": numbers}
    given = {"target": target, "ignore": ignore, **{field: _pairs(of_columns) for field, of_columns in pairs.items()}}
    asked = {field: value for field, value in given.items() if value}
    if asked:
        # what is not named stays as it was chosen
        kept = {field: version["options"][field] for field in given if field in version["options"]}
        sent = session.api.post(f"/dataset-versions/{version['id']}/columns", **{**kept, **asked})
        version = uploads.accepted(session, "datasets", sent["id"])
    statistics = version["statistics"] or {}
    rows = statistics.get("columns")
    if not rows:
        raise CommandError(f"{dataset['name']} has no columns: it is {version['format']}, {version['state']}.")
    session.output.rows(rows, TABLE)
    if encoding := statistics.get("encoding"):
        session.output.note(
            f"The file is not UTF-8 and is read as {encoding}. If letters look wrong, save it as UTF-8."
        )
    if asked:
        session.output.note(f"Version {version['number']} is ready.")


def _type(row: dict[str, Any]) -> str:
    """The type of a column; of numbers that are written in a format of their own with the decimal mark."""
    found = str(row.get("used_as") or row["type"])
    number_format = row.get("number_format")
    return f"{found} ({number_format})" if number_format and found == "number" else found


def _pairs(given: Pairs) -> dict[str, str]:
    """column=value as a mapping. The last = counts: a column's name may hold one. Raises CommandError."""
    pairs = {}
    for one in given or []:
        column, separator, value = one.rpartition("=")
        if not separator:
            raise CommandError(f"{one!r} is no column=value.")
        pairs[column] = value
    return pairs
