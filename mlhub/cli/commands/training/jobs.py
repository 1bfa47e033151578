# SPDX-License-Identifier: Apache-2.0
"""mlhub ps, show, why, startup, metrics, cancel, pause, resume, clone: what is asked of jobs that exist."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mlhub.cli import following, job_file
from mlhub.cli.commands.admission import note_pause
from mlhub.cli.commands.announcements import note_announcements
from mlhub.cli.commands.completion import names_of
from mlhub.cli.failures import CommandError
from mlhub.cli.names import found, project_id
from mlhub.cli.output import duration, is_past, predicted, size, until
from mlhub.cli.session import Session, session_of
from mlhub.cli.short_ids import short_id
from mlhub.client import job_parts

JobArgument = Annotated[
    str,
    typer.Argument(
        help="Name or id of a job, or a part of its id as `mlhub ps` shows it.", autocompletion=names_of("jobs")
    ),
]
ACTIVE = ["queued", "starting", "running", "stopping", "paused"]
# as `mlhub why` says it of jobs of which the platform explains nothing else
STATES = {"paused": "The job is paused.", "cancelled": "The job was cancelled.", "succeeded": "The job succeeded."}


def why_of(job: Mapping[str, Any]) -> str:
    """Why the job is in its state, in a sentence: of one that failed, the first line of its cause."""
    if job["failure"]:
        return str(job["failure"]["message"]).partition("\n")[0]
    if job["explanations"]:
        return str(job["explanations"][0]["sentence"])
    return str(job.get("pause_reason") or STATES.get(job["state"], ""))


COLUMNS = {
    "ID": short_id,
    "NAME": lambda job: job["name"],
    "STATE": lambda job: job["state"],
    "PROGRESS": lambda job: f"{job['progress']:.0%}" if job["progress"] is not None else "",
    "BY": lambda job: (job["created_by"] or {}).get("username", ""),
    "PROJECT": lambda job: job["project"]["name"],
    "SUBMITTED": lambda job: until(job["submitted_at"]),
    "FINISHES": lambda job: predicted(job["predicted_finish_at"]) if job["state"] in ACTIVE else "",
    "WHY": lambda job: why_of(job),
}


def ps(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", "-a", help="Also those that have ended.")] = False,
    state: Annotated[list[str] | None, typer.Option(help="Only jobs of this state; may be repeated.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="The most jobs.")] = 50,
) -> None:
    """List jobs, the newest first."""
    session = session_of(context)
    query: dict[str, Any] = {} if every and not state else {"state": state or ACTIVE}
    if session.project:
        query["project"] = project_id(session.api, session.project)
    jobs = list(session.api.all("/jobs", at_most=limit, **query))
    session.output.rows(jobs, COLUMNS)
    if not jobs and "state" in query and not state:
        session.output.note("No job is pending or running; `mlhub ps --all` also lists those that have ended.")
    note_announcements(session)


def show(
    context: typer.Context,
    job: JobArgument,
    as_file: Annotated[bool, typer.Option("--as-file", help="As a YAML file that `mlhub run` reads.")] = False,
) -> None:
    """Everything that is known of a job."""
    session = session_of(context)
    detail = session.api.get(f"/jobs/{found(session.api, 'jobs', job)['id']}")
    if as_file:
        print(job_file.dumped(job_file.of_job(detail)), end="")
    else:
        session.output.data(detail)


def why(context: typer.Context, job: JobArgument) -> None:
    """Why a job waits, runs where it runs, or ended; when it starts and finishes, and what would help."""
    session = session_of(context)
    answer = session.api.get(f"/jobs/{found(session.api, 'jobs', job)['id']}/why")
    if session.output.form != "table":
        session.output.data(answer)
        return
    line = session.output.line
    line(answer["headline"])
    sentences = [explanation["sentence"] for explanation in answer["explanations"]]
    for sentence in sentences if sentences != [answer["headline"]] else []:
        line(f"  - {sentence}")
    if answer["place"] is not None:
        line(f"Place in the queue: {answer['place']}.")
    if answer["predicted_start_at"] and answer["state"] == "queued":
        line(f"Predicted start: {predicted(answer['predicted_start_at'])}.")
    if answer["predicted_finish_at"]:
        finish, latest = (predicted(answer[name]) for name in ("predicted_finish_at", "predicted_finish_p90_at"))
        line(f"Predicted finish: {finish}" + (f"; P90: {latest}." if latest and latest != finish else "."))
    if answer["analysis"]:
        for text in analysis_lines(answer["analysis"]):
            line(text)
    elif answer["state"] in ACTIVE:
        line(answer["note"])
    if any(explanation["reason"] == "admission_paused" for explanation in answer["explanations"]):
        note_pause(session)


def analysis_lines(analysis: dict[str, Any]) -> list[str]:
    """What the job lacks, who is ahead, and what would help, a line each."""
    lines = [f"Lacking: {one['sentence']}" for one in analysis["blockers"] if one["is_blocking"]]
    ahead = analysis["ahead"]
    lines += [f"Ahead: {one['name']}. {one['explanation']['sentence']}" for one in ahead["jobs"]]
    if ahead["n_others"]:
        lines.append(f"Ahead: {ahead['n_others']} of other organisations.")
    for action in analysis["actions"]:
        gain = "" if action["gain_s"] is None else f", {duration(action['gain_s'])} earlier"
        is_now = action["starts_now"] or is_past(action["start_at"])  # it took a while to compute
        start = "in the next round" if is_now else until(action["start_at"])
        finish = "any moment now" if is_past(action["finish_at"]) else until(action["finish_at"])
        effect = f"starts {start}" if action["start_at"] else f"finishes {finish}"
        n = action["n_delayed"]
        cost = f"{n} jobs end later" if n > 1 else "1 job ends later" if n else "no other job ends later"
        # of a quota the sentence says who can
        whose = " (an administrator may)" if action["by"] == "administrator" and not action["tenant"] else ""
        lines.append(f"Would help: {action['sentence']}{whose} It {effect}{gain}; {cost}.")
    return lines


def startup(
    context: typer.Context,
    job: JobArgument,
    attempt: Annotated[int | None, typer.Option(min=1, help="The number of an attempt; by default the newest.")] = None,
) -> None:
    """How long each phase of the start of a job took, from the request to the first step."""
    session = session_of(context)
    query = {} if attempt is None else {"attempt": attempt}
    answer = session.api.get(f"/jobs/{found(session.api, 'jobs', job)['id']}/startup", **query)
    if session.output.form != "table":
        session.output.data(answer)
        return
    total_s = answer["total_s"]
    columns = {
        "PHASE": lambda phase: phase["name"],
        "SECONDS": lambda phase: f"{phase['duration_s']:.2f}",
        "SHARE": lambda phase: f"{phase['duration_s'] / total_s:.0%}" if total_s else "",
    }
    session.output.rows(answer["phases"], columns)
    session.output.line(f"{'All' if answer['is_complete'] else 'So far'}: {total_s:.2f} s.")
    for one in answer["inputs"]:
        session.output.line(f"Inputs on {one['node']}: {_how_brought(one)}.")


def _how_brought(inputs: dict[str, Any]) -> str:
    """ "80 MB found on the node, 1.2 GB fetched in 8.0 s"."""
    fetched = f"{size(inputs['fetched_bytes'])} fetched in {inputs['fetch_s']:.1f} s"
    parts = [f"{size(inputs['found_bytes'])} found on the node"] if inputs["found_bytes"] else []
    return ", ".join([*parts, fetched] if inputs["fetched_bytes"] or not parts else parts)


def metrics(
    context: typer.Context,
    job: JobArgument,
    key: Annotated[str, typer.Option(help="Only this metric, with all its points, such as train/loss.")] = "",
) -> None:
    """The newest value of each metric of a job, or the points of one."""
    session = session_of(context)
    job_id = found(session.api, "jobs", job)["id"]
    if key:
        points = list(job_parts.points(session.api, job_id, key))
        columns = {"STEP": lambda p: p["step"], "EPOCH": lambda p: p["epoch"], "VALUE": lambda p: f"{p['value']:.6g}"}
        session.output.rows(points, columns)
        return
    columns = {
        "METRIC": lambda p: p["key"],
        "STEP": lambda p: p["last_step"],
        "VALUE": lambda p: f"{p['last_value']:.6g}",
    }
    session.output.rows(list(job_parts.names(session.api, job_id)), columns)


def logs(
    context: typer.Context,
    job: JobArgument,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
    tail: Annotated[int, typer.Option(min=0, help="Only the last lines; 0: all.")] = 0,
    role: Annotated[str, typer.Option(help="Only of worker, or of server.")] = "",
    index: Annotated[int | None, typer.Option(help="Only of the pod of this index.")] = None,
) -> None:
    """The log of a job: all its attempts, oldest line first."""
    session = session_of(context)
    one = found(session.api, "jobs", job)
    query = {name: value for name, value in (("role", role), ("index", index)) if value not in ("", None)}
    code = following.show_log(session, one["id"], query=query, tail=tail, follow=follow)
    if follow:
        raise typer.Exit(code)


def wait(context: typer.Context, job: JobArgument) -> None:
    """Wait until a job ends; status 0 when it succeeded."""
    session = session_of(context)
    raise typer.Exit(following.wait(session, found(session.api, "jobs", job)["id"]))


def cancel(context: typer.Context, jobs: Annotated[list[str], typer.Argument(help="Names or ids.")]) -> None:
    """End jobs for good."""
    _ask(context, jobs, "cancel")


def pause(context: typer.Context, jobs: Annotated[list[str], typer.Argument(help="Names or ids.")]) -> None:
    """Save a checkpoint of jobs, and free their GPUs until they are resumed."""
    _ask(context, jobs, "pause")


def resume(context: typer.Context, jobs: Annotated[list[str], typer.Argument(help="Names or ids.")]) -> None:
    """Put paused jobs back into the queue; they go on from their checkpoints."""
    _ask(context, jobs, "resume")


def clone(
    context: typer.Context,
    job: JobArgument,
    name: Annotated[str | None, typer.Option(help="The name of the new job.")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="field=value, such as epochs=20.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show its log until it ends.")] = False,
) -> None:
    """Submit a job again, with changes."""
    session = session_of(context)
    body = job_file.with_changes({} if name is None else {"name": name}, changes or [])
    made = session.api.post(f"/jobs/{found(session.api, 'jobs', job)['id']}/clone", **body)
    submitted(session, made)
    if follow:
        raise typer.Exit(following.show_log(session, made["id"], query={}, tail=0, follow=True))


def result(
    context: typer.Context,
    job: JobArgument,
    to: Annotated[Path | None, typer.Option(help="The file to write.")] = None,
) -> None:
    """Download what a prediction gave."""
    session = session_of(context)
    one = session.api.get(f"/jobs/{found(session.api, 'jobs', job)['id']}")
    if one["result_file"] is None:
        raise CommandError(
            f"{one['name']} has no result: its state is {one['state']}.", remedy=f"`mlhub why {job}` says more."
        )
    path = to or Path(f"{one['name']}-{one['result_file']['name']}".replace("/", "-"))
    session.api.download(f"/jobs/{one['id']}/result", path)
    session.output.note(f"Written: {path}.")


def submitted(session: Session, job: dict[str, Any]) -> None:
    """Says which job was made."""
    if session.output.form != "table":
        session.output.data(job)
        return
    session.output.line(job["id"])
    session.output.note(f"Job {job['name']} is {job['state']}: {session.api.url}/jobs/{job['id']}")


def _ask(context: typer.Context, names: list[str], verb: str) -> None:
    session = session_of(context)
    answers = []
    for name in names:
        answers.append(session.api.post(f"/jobs/{found(session.api, 'jobs', name)['id']}/{verb}"))
    columns = {c: COLUMNS[c] for c in ("ID", "NAME", "STATE")}
    session.output.rows(answers, {**columns, "WAITED": lambda job: duration(job["waited_s"])})
