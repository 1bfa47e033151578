# SPDX-License-Identifier: Apache-2.0
"""mlhub profile: records torch's profiler in a job that runs, and prints what its steps consist of."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from mlhub.cli.commands.training.jobs import JobArgument
from mlhub.cli.failures import CommandError
from mlhub.cli.names import found
from mlhub.cli.output import size
from mlhub.cli.session import Session, session_of

POLL_S = 1.0
SHOWN = 15  # operators of a table
COLUMNS = {
    "OPERATOR": lambda row: row["name"],
    "CALLS": lambda row: row["calls"],
    "OWN CPU": lambda row: milliseconds(row["self_cpu_s"]),
    "CPU": lambda row: milliseconds(row["cpu_s"]),
    "GPU": lambda row: milliseconds(row["device_s"]) if row["device_s"] else "",
    "MEMORY": lambda row: ("-" if row["self_memory_bytes"] < 0 else "") + size(abs(row["self_memory_bytes"])),
}
OF_SERVERS = {  # whose times are those that passed, on all its threads
    "PHASE": lambda row: row["name"],
    "TIMES": lambda row: row["calls"],
    "TIME": lambda row: milliseconds(row["self_cpu_s"]),
}
TRACES = {"worker": "traces", "server": "server-traces"}
PARTS = {"input": "reading", "compute": "computing", "sync": "synchronising", "wait": "waiting for others"}


def profile(
    context: typer.Context,
    job: JobArgument,
    steps: Annotated[int, typer.Option("--steps", min=1, help="How many steps to record.")] = 5,
    rank: Annotated[list[int] | None, typer.Option("--rank", min=0, help="A worker; may be repeated.")] = None,
    server: Annotated[
        list[int] | None, typer.Option("--server", min=0, help="A parameter server; may be repeated.")
    ] = None,
    to: Annotated[Path, typer.Option("--to", help="The folder to write the traces to.")] = Path(),
    wait: Annotated[bool, typer.Option(help="Wait for the recording, and show it.")] = True,
) -> None:
    """Record the profiler of torch for some steps of a job that runs, and save the traces."""
    session = session_of(context)
    _check_folder(to)
    row = found(session.api, "jobs", job)
    chosen = {name: pods for name, pods in (("ranks", rank), ("servers", server)) if pods}  # neither: worker 0
    recording = session.api.post(f"/jobs/{row['id']}/profiles", steps=steps, **chosen)
    address = f"/jobs/{row['id']}/profiles/{recording['id']}"
    session.output.note(f"Profile {recording['id']} is asked for.")
    if not wait:
        session.output.data(recording)
        return
    while recording["ended_at"] is None:
        time.sleep(POLL_S)
        recording = session.api.get(address)
    if recording["state"] != "done":
        raise CommandError(f"Nothing was recorded: {recording['reason']}")
    if session.output.form != "table":
        session.output.data(recording)
    for trace in recording["traces"]:
        _show(session, trace)
        if trace["state"] == "done":
            path = to / f"{row['name'].replace('/', '_')}.{trace['role']}-{trace['rank']}.trace.json.gz"
            to.mkdir(parents=True, exist_ok=True)
            session.api.download(f"{address}/{TRACES[trace['role']]}/{trace['rank']}", path)
            session.output.note(f"{path}: open it with ui.perfetto.dev.")


def _check_folder(to: Path) -> None:
    """Raises CommandError where no file can be written to the folder, which is made once there is a trace."""
    there = next(folder for folder in (to, *to.absolute().parents) if os.path.exists(folder))
    if not there.is_dir():
        raise CommandError(f"{there} is no folder.", remedy="Give another one as --to.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise CommandError(f"No file can be written to {there}.", remedy="Give another folder as --to.")


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.2f} ms"


def _show(session: Session, trace: dict[str, Any]) -> None:
    if session.output.form != "table":
        return
    pod = f"{trace['role'].capitalize()} {trace['rank']}"
    if trace["state"] != "done":
        session.output.line(f"{pod}: {trace['reason']}")
        return
    n, parts = trace["n_steps"], trace["step_s"]
    whole = sum(parts.values())
    said = [f"{label} {parts[name] / whole:.0%}" for name, label in PARTS.items() if parts[name]]
    head = f"{pod}, {n} steps of {milliseconds(whole / n)}"
    session.output.line(f"{head}: {', '.join(said)}. {trace['note']}".rstrip())
    session.output.rows(trace["operators"][:SHOWN], OF_SERVERS if trace["role"] == "server" else COLUMNS)
