# SPDX-License-Identifier: Apache-2.0
"""mlhub diff: what differs between two jobs."""

from __future__ import annotations

import json
from typing import Any

import typer

from mlhub.cli.commands.training.jobs import JobArgument
from mlhub.cli.names import found
from mlhub.cli.output import Output
from mlhub.cli.session import session_of


def diff(context: typer.Context, job: JobArgument, other: JobArgument) -> None:
    """What differs from one job to another: settings, and the code of each as a unified diff."""
    session = session_of(context)
    ids = [str(found(session.api, "jobs", name)["id"]) for name in (job, other)]
    answer = session.api.get(f"/jobs/{ids[0]}/difference", to=ids[1])
    if session.output.form != "table":
        session.output.data(answer)
        return
    _print(session.output, answer)


def _print(output: Output, answer: dict[str, Any]) -> None:
    settings, code = answer["settings"], answer["code"]
    if settings:
        columns = {
            "SETTING": lambda row: row["name"],
            "BEFORE": lambda row: _value(row["before"]),
            "AFTER": lambda row: _value(row["after"]),
        }
        output.rows(settings, columns)
    for file in code["files"]:
        output.line(f"\n{file['path']} ({file['change']})")
        output.line((file["diff"] + file["note"]).rstrip("\n"))
    if code["n_left_out"]:
        output.line(f"\n{code['n_left_out']} more files differ.")
    if code["note"]:
        output.note(code["note"])
    if not settings and not code["files"] and not code["note"]:
        output.line("Nothing differs.")


def _value(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value)
