# SPDX-License-Identifier: Apache-2.0
"""mlhub notebook: start, open, list and stop notebooks, which are jobs of the same queue."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from mlhub.cli.commands.training.jobs import ACTIVE, COLUMNS, JobArgument
from mlhub.cli.failures import CommandError
from mlhub.cli.names import found, project_id
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import short_id

notebook = typer.Typer(help="Notebooks and terminals on a GPU.", no_args_is_help=True)
LOOK_EVERY_S = 2.0
AWAY = ("paused", "succeeded", "failed", "cancelled")


@notebook.command("start")
def start_notebook(
    context: typer.Context,
    name: Annotated[str, typer.Option("--name", help="By default: notebook.")] = "",
    dataset: Annotated[
        str, typer.Option("--dataset", "--data", help="A dataset that is there: $MLHUB_DATASET is its path.")
    ] = "",
    gpu: Annotated[list[str] | None, typer.Option("--gpu", help="Only GPUs of this type; may be repeated.")] = None,
    memory_gib: Annotated[float | None, typer.Option("--memory-gib", help="Memory of the pod.")] = None,
    idle_minutes: Annotated[
        float | None, typer.Option(min=1, help="Paused after so long without activity; by default 30.")
    ] = None,
    secret: Annotated[list[str] | None, typer.Option(help="A secret of the project; may be repeated.")] = None,
    is_waiting: Annotated[bool, typer.Option("--wait", help="Wait until it runs, and print its address.")] = False,
) -> None:
    """Start a notebook in the queue."""
    session = session_of(context)
    resources: dict[str, Any] = {"gpu_types": gpu} if gpu else {}
    if memory_gib is not None:
        resources["memory_gib"] = memory_gib
    body: dict[str, Any] = {"kind": "notebook", "project": project_id(session.api, session.project)}
    body |= {key: value for key, value in (("name", name), ("dataset", dataset), ("secrets", secret)) if value}
    if resources:
        body["resources"] = resources
    if idle_minutes is not None:
        body["limits"] = {"idle_s": 60 * idle_minutes}
    job = session.api.post("/jobs", **body)
    session.output.note(f"Started: {job['name']} {job['id']}.")
    if is_waiting:
        _print_address(session, _waited_for(session, job["id"]))
    else:
        print(job["id"])


@notebook.command("open")
def open_notebook(context: typer.Context, job: JobArgument) -> None:
    """Print the address at which your browser enters a notebook: for one use, within a minute."""
    session = session_of(context)
    _print_address(session, found(session.api, "jobs", job)["id"])


@notebook.command("ls")
def list_notebooks(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", "-a", help="Also those that have ended.")] = False,
) -> None:
    """List notebooks, the newest first."""
    session = session_of(context)
    query: dict[str, Any] = {"kind": "notebook"} | ({} if every else {"state": ACTIVE})
    if session.project:
        query["project"] = project_id(session.api, session.project)
    found_rows = list(session.api.all("/jobs", **query))
    columns = {name: column for name, column in COLUMNS.items() if name not in ("PROGRESS", "FINISHES")}
    session.output.rows(found_rows, columns)


@notebook.command("stop")
def stop_notebook(context: typer.Context, job: JobArgument) -> None:
    """Stop a notebook and give its GPU back; `mlhub resume` starts it again with its folder."""
    session = session_of(context)
    row = found(session.api, "jobs", job)
    session.api.post(f"/jobs/{row['id']}/pause")
    session.output.note(f"Stopping: {row['name']}. `mlhub resume {short_id(row)}` starts it again.")


def _waited_for(session: Session, job_id: str) -> str:
    """Raises CommandError for one that ended instead."""
    while not session.api.get(f"/jobs/{job_id}/notebook")["is_ready"]:
        job = session.api.get(f"/jobs/{job_id}")
        if job["state"] in AWAY:
            message = (job["failure"] or {}).get("message", "")
            raise CommandError(f"The notebook is {job['state']}. {message}".strip(), remedy=f"`mlhub logs {job_id}`")
        time.sleep(LOOK_EVERY_S)
    return job_id


def _print_address(session: Session, job_id: str) -> None:
    print(session.api.post(f"/jobs/{job_id}/notebook")["url"])  # whole, however narrow the terminal is
