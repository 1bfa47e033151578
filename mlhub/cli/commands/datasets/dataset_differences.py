# SPDX-License-Identifier: Apache-2.0
"""mlhub dataset diff: what differs between two versions of a dataset."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from mlhub.cli.commands.completion import names_of
from mlhub.cli.names import dataset_version, found, project_id
from mlhub.cli.output import Output, size
from mlhub.cli.session import session_of

BYTES = ("size_bytes", "n_bytes")
COUNTED = ("n_missing", "n_distinct", "mean", "std", "min", "max", "first", "last")


def diff(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or id of a dataset.", autocompletion=names_of("datasets"))],
    before: Annotated[int, typer.Argument(metavar="V1", help="The number of a version.", min=1)],
    after: Annotated[int, typer.Argument(metavar="V2", help="By default the newest one.", min=0)] = 0,
) -> None:
    """What differs from one version of a dataset to another: columns, classes, files, counts and sizes."""
    session = session_of(context)
    query = {"project": project_id(session.api, session.project)} if session.project else {}
    row = found(session.api, "datasets", name, **query)
    numbers = (before, after or (row["latest_version"] or {}).get("number", 0))
    ids = [dataset_version(session.api, row, number)["id"] for number in numbers]
    answer = session.api.get(f"/dataset-versions/{ids[0]}/difference", to=ids[1])
    if session.output.form != "table":
        session.output.data(answer)
        return
    _print(session.output, answer, numbers)


def _print(output: Output, answer: dict[str, Any], numbers: tuple[int, int]) -> None:
    before, after = (f"V{number}" for number in numbers)
    rows = [
        *(("", fact["name"], _value(fact, "before"), _value(fact, "after")) for fact in answer["facts"]),
        *(line for column in answer["columns"] for line in _column(column)),
        *(("class", one["name"], _shown(one["before"]), _shown(one["after"])) for one in answer["classes"]),
        *(("file", file["path"], _bytes(file["size_before"]), _bytes(file["size_after"])) for file in answer["files"]),
    ]
    if rows:
        headings = ("", "WHAT", before, after)
        numbered = [{str(i): cell for i, cell in enumerate(row)} for row in rows]
        output.rows(numbered, {heading: _cell(str(i)) for i, heading in enumerate(headings)})
    elif not answer["notes"]:
        output.line("Nothing differs.")
    if (counts := answer["file_counts"]) is not None:
        output.note(
            f"Files: {counts['n_added']} added, {counts['n_removed']} removed, {counts['n_changed']} changed, "
            f"{counts['n_same']} the same."
        )
    for kind in ("columns", "classes", "files"):
        if n := answer[f"n_{kind}_left_out"]:
            output.note(f"{n} more {kind} differ.")
    for note in answer["notes"]:
        output.note(note)


def _column(column: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """One line of what became of it, one of each plain statistic that differs."""
    old, new, name = column["before"] or {}, column["after"] or {}, column["name"]
    first = ("column", name, str(old.get("type", "-")), str(new.get("type", "-")))
    if column["change"] != "changed":
        return [first]
    lines = [("column", f"{name}: {key}", _shown(old.get(key)), _shown(new.get(key))) for key in COUNTED]
    shown = [line for key, line in zip(COUNTED, lines, strict=True) if key in column["differs"]]
    return [first, *shown] if "type" in column["differs"] or not shown else shown


def _cell(index: str) -> Any:
    return lambda row: row[index]


def _value(fact: dict[str, Any], side: str) -> str:
    return _bytes(fact[side]) if fact["name"] in BYTES else _shown(fact[side])


def _bytes(value: Any) -> str:
    return "-" if value is None else size(value)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value)
