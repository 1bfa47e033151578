# SPDX-License-Identifier: Apache-2.0
"""mlhub checkpoint: list, pin, download and delete the checkpoints of a job, and fork a job from one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from mlhub.cli import following, job_file
from mlhub.cli.commands.training.jobs import JobArgument, submitted
from mlhub.cli.confirmation import Yes, require_yes
from mlhub.cli.failures import CommandError
from mlhub.cli.names import found
from mlhub.cli.output import metrics_text, size, until
from mlhub.cli.session import Session, session_of
from mlhub.wire.report import is_better_when_low
from mlhub.wire.words import counted

checkpoint = typer.Typer(help="Checkpoints of a job.", no_args_is_help=True)
STEP = "Step of a checkpoint; or latest: the newest to resume from; or best: the best weights."
PAGE = 1000  # the most of one answer
MOST_NAMED = 20  # steps in a message
RANGE = re.compile(r"(\d+)-(\d+)")
StepArgument = Annotated[str, typer.Argument(help=STEP)]
COLUMNS = {
    "STEP": lambda row: row["step"],
    "KIND": lambda row: "best" if row["is_best"] else "resume",
    "PINNED": lambda row: "yes" if row["is_pinned"] else "",
    "SIZE": lambda row: size(row["size_bytes"]),
    "WRITTEN": lambda row: until(row["at"]),
    "METRICS": lambda row: metrics_text(row["metrics"]),
}


@checkpoint.command("ls")
def list_checkpoints(context: typer.Context, job: JobArgument) -> None:
    """List the checkpoints of a job, newest first."""
    session = session_of(context)
    session.output.rows(_all(session, _id(session, job)), COLUMNS)


@checkpoint.command()
def fork(
    context: typer.Context,
    job: JobArgument,
    step: StepArgument,
    name: Annotated[str | None, typer.Option(help="The name of the new job.")] = None,
    changes: Annotated[list[str] | None, typer.Option("--set", help="field=value, such as epochs=20.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show its log until it ends.")] = False,
) -> None:
    """Submit a job again, from the weights of a checkpoint."""
    session = session_of(context)
    job_id = _id(session, job)
    body = job_file.with_changes({} if name is None else {"name": name}, changes or [])
    made = session.api.post(f"/jobs/{job_id}/fork", checkpoint=_one(session, job_id, step)["id"], **body)
    submitted(session, made)
    if follow:
        raise typer.Exit(following.show_log(session, made["id"], query={}, tail=0, follow=True))


@checkpoint.command()
def pin(context: typer.Context, job: JobArgument, step: StepArgument) -> None:
    """Keep a checkpoint until a person deletes it."""
    _pin(context, job, step, is_pinned=True)


@checkpoint.command()
def unpin(context: typer.Context, job: JobArgument, step: StepArgument) -> None:
    """Let a checkpoint go with the others."""
    _pin(context, job, step, is_pinned=False)


@checkpoint.command("pull")
def pull_checkpoint(
    context: typer.Context,
    job: JobArgument,
    step: StepArgument,
    to: Annotated[Path | None, typer.Option(help="The file to write.")] = None,
) -> None:
    """Download the weights of a checkpoint (safetensors)."""
    session = session_of(context)
    job_id = _id(session, job)
    one = _one(session, job_id, step)
    path = to or Path(f"step-{one['step']}.safetensors")
    session.api.download(f"/jobs/{job_id}/checkpoints/{one['id']}/weights", path)
    session.output.note(f"Written: {path} ({size(path.stat().st_size)}).")


@checkpoint.command("rm")
def delete_checkpoints(
    context: typer.Context,
    job: JobArgument,
    steps: Annotated[list[str], typer.Argument(help="Steps of the checkpoints, or ranges such as 100-900.")],
    yes: Yes = False,
) -> None:
    """Delete checkpoints of a job for good, all of these or none."""
    session = session_of(context)
    job_id = _id(session, job)
    ids = _chosen(_all(session, job_id), steps)
    require_yes(f"Delete {counted(len(ids), 'checkpoint')} of {job} for good?", yes=yes)
    session.api.post(f"/jobs/{job_id}/checkpoints/delete", checkpoints=ids)
    session.output.note(f"Deleted: {len(ids)}.")


def _pin(context: typer.Context, job: str, step: str, *, is_pinned: bool) -> None:
    session = session_of(context)
    job_id = _id(session, job)
    one = _one(session, job_id, step)
    changed = session.api.patch(f"/jobs/{job_id}/checkpoints/{one['id']}", is_pinned=is_pinned)
    session.output.rows([changed], COLUMNS)


def _id(session: Session, job: str) -> str:
    return str(found(session.api, "jobs", job)["id"])


def _all(session: Session, job_id: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = session.api.get(f"/jobs/{job_id}/checkpoints", limit=PAGE)
    n_new = len(listed)
    while n_new == PAGE:
        further = session.api.get(f"/jobs/{job_id}/checkpoints", limit=PAGE, after=listed[-1]["id"])
        n_new = len(further)
        listed += further
    return listed


def _chosen(listed: list[dict[str, Any]], steps: list[str]) -> list[int]:
    """Ids. A range such as 100-900 has the checkpoints that are not pinned; of best weights only their step has."""
    ids: list[int] = []
    for step in steps:
        ends = RANGE.fullmatch(step)
        if ends is None:
            ids.append(_of_step(listed, step)["id"])
            continue
        low, high = int(ends[1]), int(ends[2])
        within = [row for row in listed if low <= row["step"] <= high and not row["is_pinned"] and not row["is_best"]]
        if not within:
            raise CommandError(
                f"A range leaves pinned checkpoints and best weights out, and of the steps {low} to {high} there is "
                "nothing else.",
                remedy="Unpin what is pinned, and name each step of best weights: `mlhub checkpoint ls` lists them.",
            )
        ids += [row["id"] for row in within]
    return list(dict.fromkeys(ids))


def _one(session: Session, job_id: str, step: str) -> dict[str, Any]:
    listed = _all(session, job_id)
    if step == "best":
        listed = _best_first(listed, session.api.get(f"/jobs/{job_id}")["hyperparameters"])
    return _of_step(listed, step)


def _best_first(listed: list[dict[str, Any]], hyperparameters: dict[str, Any]) -> list[dict[str, Any]]:
    """The checkpoints, of which the best weights come by the monitored metric; keep_best has several of them kept."""
    metric, mode = hyperparameters.get("monitor"), hyperparameters.get("monitor_mode")
    values = [row["metrics"].get(metric) for row in listed if row["is_best"]]
    if metric is None or None in values:
        return listed
    sign = 1 if mode == "min" or (mode is None and is_better_when_low(metric)) else -1
    return sorted(listed, key=lambda row: sign * row["metrics"][metric] if row["is_best"] else 0.0)


def _of_step(listed: list[dict[str, Any]], step: str) -> dict[str, Any]:
    """The newest checkpoint of the step. Of a step that has both kinds, it is the best weights."""
    kinds = {"best": [row for row in listed if row["is_best"]], "latest": [row for row in listed if not row["is_best"]]}
    chosen = kinds.get(step) or [row for row in listed if str(row["step"]) == step]
    if not listed:
        raise CommandError(
            "The job has no checkpoints: it ended before it saved one, or they were removed.",
            remedy="To train on from what it made in the end, name its trained model: `mlhub run --model`.",
        )
    if not chosen:
        steps = ", ".join([*dict.fromkeys(str(row["step"]) for row in listed)][:MOST_NAMED])
        why = " Best weights are saved where the hyperparameter monitor names a metric." if step == "best" else ""
        raise CommandError(f"The job has no checkpoint {step}.", remedy=f"There are those of the steps: {steps}.{why}")
    return min(chosen, key=lambda row: not row["is_best"])
