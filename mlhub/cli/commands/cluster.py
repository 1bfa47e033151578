# SPDX-License-Identifier: Apache-2.0
"""mlhub top, queue, move, quota, usage, node: the cluster, who waits for it, who may use how much of it and did."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from mlhub.cli.commands.admission import note_pause
from mlhub.cli.commands.announcements import note_announcements
from mlhub.cli.commands.tenancy.quota_owners import note_overcommitments
from mlhub.cli.commands.training.jobs import COLUMNS
from mlhub.cli.failures import CommandError
from mlhub.cli.names import found as found_named
from mlhub.cli.output import duration, predicted, size, until
from mlhub.cli.session import Session, session_of
from mlhub.client.problems import refusal_of

node = typer.Typer(help="Nodes; administrators cordon and drain them.", no_args_is_help=True)
ReasonOption = Annotated[str, typer.Option(help="Why, for those who see it.")]
NodeName = Annotated[str, typer.Argument(help="Name of the node.")]


class UsageGroup(StrEnum):
    ORGANISATION = "organisation"
    TEAM = "team"
    PROJECT = "project"
    USER = "user"
    GPU_TYPE = "gpu_type"
    JOB = "job"
    OUTCOME = "outcome"
    DAY = "day"


def _jobs_of(row: dict[str, Any]) -> str:
    jobs = [job for slot in row["slots"] for job in (slot["job"], *slot["colocated"]) if job is not None]
    return ", ".join(sorted({job["name"] or "(of another organisation)" for job in jobs}))


NODES = {
    "NODE": lambda row: row["name"],
    "RACK": lambda row: row["rack"],
    "GPU": lambda row: row["gpu_type"],
    "IN USE": lambda row: f"{sum(slot['job'] is not None for slot in row['slots'])}/{row['n_slots']}",
    "CPUS": lambda row: f"{row['cpus']:g}",
    "MEMORY": lambda row: size(row["memory_bytes"]),
    "STATE": lambda row: state_of_node(row),
    "JOBS": _jobs_of,
}


def state_of_node(row: dict[str, Any]) -> str:
    if not row["is_ready"]:
        return f"not ready: {row['message']}" if row["message"] else "not ready"
    if row["maintenance"] is None and row["exclusion"] is not None and not row["exclusion"]["gpus"]:
        excluded = row["exclusion"]
        n_failures, again = excluded["n_failures"], until(excluded["until"])
        failed = "1 attempt" if n_failures == 1 else f"{n_failures} attempts"
        return f"excluded: {failed} failed ({excluded['cause']}); tried again {again}"
    if row["is_schedulable"]:
        return "ready"
    if row["maintenance"] is not None:
        return "cordoned" if row["maintenance"]["drain_by"] is None else "draining"
    return f"takes no new jobs: {row['message']}" if row["message"] else "takes no new jobs"


def top(context: typer.Context) -> None:
    """Nodes, their GPUs in use, and the jobs on them."""
    _nodes(context)
    note_announcements(session_of(context))


@node.command("ls")
def list_nodes(context: typer.Context) -> None:
    """List nodes."""
    _nodes(context)


@node.command()
def cordon(context: typer.Context, name: NodeName, reason: ReasonOption = "") -> None:
    """Start nothing new on a node."""
    _set_schedulable(context, name, "cordon", reason)


@node.command()
def drain(context: typer.Context, name: NodeName, reason: ReasonOption = "") -> None:
    """Cordon a node, and move its jobs elsewhere from their checkpoints."""
    _set_schedulable(context, name, "drain", reason)


@node.command()
def uncordon(context: typer.Context, name: NodeName) -> None:
    """Use a node again."""
    _set_schedulable(context, name, "uncordon")


def queue(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200)] = 50,
    gpu_type: Annotated[str, typer.Option(help="Only jobs that may use GPUs of this type.")] = "",
) -> None:
    """Jobs that wait, in the order in which they are served."""
    session = session_of(context)
    rows = session.api.get("/queue", limit=limit, **({"gpu_type": gpu_type} if gpu_type else {}))["results"]
    columns: dict[str, Any] = {"PLACE": lambda job: job["place"]}
    columns |= {name: COLUMNS[name] for name in ("ID", "NAME", "BY", "PROJECT")}
    columns |= {"STARTS": lambda job: predicted(job["predicted_start_at"]), "WHY": COLUMNS["WHY"]}
    session.output.rows(rows, columns)
    note_pause(session)
    note_announcements(session)


def move(
    context: typer.Context,
    job: Annotated[str, typer.Argument(help="The job that waits: name, id or its end.")],
    before: Annotated[str, typer.Option(help="The waiting job before which it shall be served.")] = "",
    after: Annotated[str, typer.Option(help="The waiting job behind which it shall be served.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Give it the priority that brings it there.")] = False,
) -> None:
    """Simulate another place in the queue: the priority that it takes, and what it costs whom; --yes makes it so."""
    if bool(before) == bool(after):
        raise CommandError(
            "Name one job: before which, or after which, it shall be.", remedy="Give --before or --after."
        )
    session = session_of(context)
    moved = found_named(session.api, "jobs", job)
    side, other = ("before", before) if before else ("after", after)
    answer = session.api.post("/queue/moves", job=moved["id"], **{side: found_named(session.api, "jobs", other)["id"]})
    session.output.rows(answer["effects"], EFFECTS)
    if not answer["is_reached"]:
        session.output.note(f"No priority brings it {side} {other}: to the policy other things count for more.")
    if answer["priority"] == answer["present_priority"]:
        return
    place = f"place {answer['place']} instead of {answer['present_place']}"
    if not yes:
        session.output.note(
            f"Priority {answer['priority']} gives it {place}. Nothing was changed: --yes gives it that."
        )
        return
    session.api.patch(f"/jobs/{moved['id']}", priority=answer["priority"])
    session.output.note(f"It has priority {answer['priority']} now; the next round gives it {place}.")


def _shift(delta_s: float | None) -> str:
    if delta_s is None or abs(delta_s) < 1:
        return ""
    return f"{duration(abs(delta_s))} {'later' if delta_s > 0 else 'earlier'}"


EFFECTS = {
    "JOB": lambda effect: effect["name"],
    "BY": lambda effect: effect["owner"],
    "ORGANISATION": lambda effect: effect["organisation"],
    "START": lambda effect: _shift(effect["start_delta_s"]),
    "FINISH": lambda effect: _shift(effect["finish_delta_s"]),
}


def usage(
    context: typer.Context,
    by: Annotated[UsageGroup, typer.Option(help="What GPU-hours are grouped by.")] = UsageGroup.PROJECT,
    since: Annotated[str | None, typer.Option(help="Its beginning, such as 2026-11-01T00:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="Its end. [now]")] = None,
    team: Annotated[str, typer.Option(help="Only this team, with all teams below it; name or id.")] = "",
    csv: Annotated[bool, typer.Option("--csv", help="All columns as CSV, as the page exports them.")] = False,
) -> None:
    """GPU-hours of your organisations: held, useful, lost, how busy the GPUs were, and what they cost."""
    session = session_of(context)
    query = {name: value for name, value in {"since": since, "until": until}.items() if value is not None}
    if team:
        query["team"] = found_named(session.api, "teams", team)["id"]
    if csv:
        answer = session.api.transport.exchange("GET", "/usage/export", params={"by": by.value, **query})
        if not answer.is_success:
            raise refusal_of(answer)
        print(answer.text.replace("\r\n", "\n"), end="")
        return
    found = session.api.get("/usage", by=by.value, **query)
    columns: dict[str, Any] = {
        by.value.upper().replace("_", " "): lambda row: row["name"],
        "GPU-HOURS": lambda row: f"{row['gpu_hours']:.2f}",
        "USEFUL": lambda row: f"{row['useful_gpu_hours']:.2f}",
        "START-UP": lambda row: f"{row['startup_gpu_hours']:.2f}",
        "LOST": lambda row: f"{row['lost_gpu_hours']:.2f}",
        "BUSY": lambda row: _measured(row["busy_gpu_hours"], row["measured_gpu_hours"], absent="not measured"),
        "IDLE": lambda row: _measured(row["idle_gpu_hours"], row["measured_gpu_hours"], absent=""),
        "JOBS": lambda row: row["n_jobs"],
        "COST": lambda row: "" if row["cost"] is None else f"{row['cost']:.2f} {found['currency']}".strip(),
    }
    session.output.rows(found["rows"], columns)


def _measured(hours: float | None, measured: float, *, absent: str) -> str:
    return absent if hours is None else f"{hours:.2f} ({hours / measured:.0%})"


def _of(used: Any, limit: Any) -> str:
    return f"{used} of {limit}" if limit is not None else f"{used}, no limit"


def _nodes(context: typer.Context) -> None:
    session = session_of(context)
    cluster = session.api.get("/cluster")
    session.output.rows([{"rack": rack["name"], **row} for rack in cluster["racks"] for row in rack["nodes"]], NODES)
    note_overcommitments(session, cluster["overcommitted"])


def _set_schedulable(context: typer.Context, name: str, verb: str, reason: str = "") -> None:
    session: Session = session_of(context)
    names = [row["name"] for rack in session.api.get("/cluster")["racks"] for row in rack["nodes"]]
    if name not in names:
        raise CommandError(f"There is no node {name}.", remedy=f"There are {', '.join(names[:20])}.")
    asked = {"reason": reason} if reason else {}
    racks = session.api.post(f"/cluster/nodes/{name}/{verb}", **asked)["racks"]
    session.output.rows([{"rack": r["name"], **row} for r in racks for row in r["nodes"] if row["name"] == name], NODES)
    session.output.note(f"The {verb} counts from the next round on.")
