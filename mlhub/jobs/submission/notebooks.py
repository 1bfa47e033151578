# SPDX-License-Identifier: Apache-2.0
"""Notebooks: interactive jobs of one pod in the same queue, which are reclaimed when nothing is done in them."""

from __future__ import annotations

import functools
import importlib.util
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.jobs.limits.capacity import check_capacity, check_resources, types_of
from mlhub.jobs.models import Attempt, Job, JobKind, ModeChoice, NotebookActivity
from mlhub.jobs.states import JobState, predicate
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import Project, User
from mlhub.tenants.roles import Role
from mlhub.wire.report import PhaseReport

USUAL_IDLE_S = 1800.0
WARNING_S = 300.0  # before the notebook is reclaimed; of a shorter idle_s, half of it
MAX_IDLE_S = 10**7
PROFILE = {"is_script": True, "servers_possible": False}  # as of a script: there is nothing to try out
TAKEN = ("priority", "resources", "limits")  # of a request


def check_notebook(project: Project, request: dict[str, Any]) -> dict[str, Any]:
    """A Job's fields, from the request. Raises InvalidInputError, QuotaExceededError naming field and remedy."""
    check_offered()
    for name in request:
        if name not in TAKEN:
            raise InvalidInputError(f"A notebook does not take {name}.", field=name, remedy=f"Leave {name} out.")
    for name in ("n_servers", "server_memory_gib", "n_workers"):
        if name in request.get("resources", {}):
            raise InvalidInputError(
                "A notebook has one pod.", field=f"resources.{name}", remedy=f"Leave resources.{name} out."
            )
    if "stall_s" in request.get("limits", {}):
        raise InvalidInputError(
            "A notebook makes no steps.", field="limits.stall_s", remedy="Give limits.idle_s instead."
        )
    fields = {
        **request,
        "kind": JobKind.NOTEBOOK,
        "epochs": 1,
        "batch_size": 1,
        "min_workers": 1,
        "max_workers": 1,
        "mode": ModeChoice.ALL_REDUCE,
    }
    check_capacity(project, 1, types_of(request))
    check_resources(fields)
    return fields


def check_offered() -> None:
    """Raises InvalidInputError where this installation has no notebooks, and says what it lacks."""
    refusal = why_not_offered()
    if refusal is not None:
        raise refusal


def why_not_offered() -> InvalidInputError | None:
    """What this installation lacks for notebooks, with the remedy; None where it has them."""
    message, remedy = "", "Run a script instead."
    if settings.BACKEND == "agents":
        message = "This platform offers no notebooks: it connects to none of the machines on which pods run."
    elif settings.BACKEND != "local":
        message = f"This platform offers no notebooks with the backend {settings.BACKEND}."
    elif not settings.NOTEBOOK_ORIGIN:
        message = "This platform offers no notebooks without an address for them."
        remedy = "Ask an administrator to set MLHUB_NOTEBOOK_ORIGIN."
    elif not _has_jupyterlab():
        message = "This platform offers no notebooks without JupyterLab."
        remedy = "Ask an administrator to install it: pip install '.[notebook]' in the checkout of MLHub."
    return InvalidInputError(message, field="kind", remedy=remedy) if message else None


@functools.cache
def _has_jupyterlab() -> bool:
    """Looked up once: the dashboard asks every few seconds."""
    return importlib.util.find_spec("jupyterlab") is not None


def idle_limit_s(job: Job) -> float:
    """Seconds without activity after which the notebook is reclaimed."""
    asked = job.limits.get("idle_s")
    return USUAL_IDLE_S if asked is None else float(asked)


def stops_at(activity: NotebookActivity, job: Job) -> datetime:
    """When the notebook is reclaimed unless something is done in it."""
    return activity.active_at + timedelta(seconds=idle_limit_s(job))


def warns_at(activity: NotebookActivity, job: Job) -> datetime:
    return stops_at(activity, job) - timedelta(seconds=min(WARNING_S, idle_limit_s(job) / 2))


def pause_reason(job: Job) -> str:
    """Why the platform paused the notebook, in a sentence; empty where a person did, or it is not paused."""
    if job.kind != JobKind.NOTEBOOK or job.state != JobState.PAUSED or job.reason == "pause_by_user":
        return ""
    known: Any = job if hasattr(job, "reclaimed_after") else Job.objects.with_what_is_shown().get(pk=job.pk)
    if known.reclaimed_after is None:
        return ""
    idle_s = known.reclaimed_after.total_seconds()
    if idle_s < idle_limit_s(job):
        return "It was paused, since JupyterLab did not answer. Its folder is kept: resume it."
    idle = f"{idle_s / 60:.0f}"
    return f"It was paused, since nothing was done in it for {idle} min. Its folder is kept: resume it."


def record_activity(attempt: Attempt, report: PhaseReport) -> None:
    """Stores when something was last done in the notebook. What a pod cannot know is taken for activity now."""
    if attempt.job.kind != JobKind.NOTEBOOK:
        return
    idle_s, now = report.detail.get("idle_s"), timezone.now()
    is_number = isinstance(idle_s, int | float) and not isinstance(idle_s, bool) and 0 <= idle_s <= MAX_IDLE_S
    active_at = now - timedelta(seconds=float(idle_s) if is_number and idle_s is not None else 0.0)
    NotebookActivity.objects.update_or_create(attempt=attempt, defaults={"active_at": active_at, "reported_at": now})
    Job.objects.filter(pk=attempt.job_id, started_at=None).update(started_at=now)  # it makes no steps


def require_right(job: Job, user: User) -> None:
    """Those who may stop the notebook may work in it: its owner, and administrators. Raises NotAllowedError."""
    needed = Role.SUBMITTER if job.created_by_id == user.pk else Role.ADMIN
    require_role(user, job.project, needed)


def serving_attempt(job: Job) -> Attempt:
    """The attempt whose server answers. Raises ConflictError where there is none, and says what to do."""
    if job.kind != JobKind.NOTEBOOK:
        raise ConflictError(f"{job.name} is no notebook.", code="no_notebook", remedy="Start a notebook.")
    found = Attempt.objects.live().filter(job=job, job__state=JobState.RUNNING).exclude(notebook=None).first()
    if found is None or found.stop_asked_at is not None:
        is_over = job.state in (JobState.PAUSED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
        raise ConflictError(
            f"The notebook does not answer: its job {predicate(job.state)}.",
            code="notebook_away",
            state=job.state,
            remedy="Resume the job." if job.state == JobState.PAUSED
            else "Start another notebook." if is_over else "Wait until it runs.",
        )  # fmt: skip
    return found
