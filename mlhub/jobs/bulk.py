# SPDX-License-Identifier: Apache-2.0
"""One verb on many jobs: each is done alone, so that what one job refuses does not keep the others from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db import models

from mlhub.core.errors import DomainError, InvalidInputError, NotFoundError
from mlhub.jobs.actions import cancel_job, pause_job, resume_job
from mlhub.jobs.annotations import retag_job
from mlhub.jobs.models import Job
from mlhub.jobs.retention.deletion import delete_job
from mlhub.jobs.submission.changes import change_job
from mlhub.tenants.models import User

MAX_JOBS = 200  # of one request


class BulkAction(models.TextChoices):
    """What is done to each of the jobs."""

    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"
    TAG = "tag"
    UNTAG = "untag"
    PRIORITY = "priority"


ACTIONS: dict[str, Callable[..., Any]] = {
    BulkAction.CANCEL: cancel_job,
    BulkAction.PAUSE: pause_job,
    BulkAction.RESUME: resume_job,
    BulkAction.DELETE: delete_job,
}
WITH_TAG = (BulkAction.TAG, BulkAction.UNTAG)


@dataclass(frozen=True)
class JobOutcome:
    """What became of one job. refusal: why it was left as it is, "" = it was not; remedy: what to do then."""

    id: UUID
    name: str
    refusal: str = ""
    remedy: str = ""


def act_on_jobs(
    ids: Sequence[UUID], *, action: str, tag: str, priority: int | None = None, actor: User
) -> list[JobOutcome]:
    """Does the action to each job, in the order given. Raises InvalidInputError where a tag or priority is missing.

    A job that the actor does not see is refused like one that is not there.
    """
    if (action in WITH_TAG) != bool(tag):
        raise InvalidInputError(
            "The actions tag and untag need a tag; the others take none.",
            field="tag",
            remedy="Name the tag." if action in WITH_TAG else "Leave it out.",
        )
    if (action == BulkAction.PRIORITY) != (priority is not None):
        raise InvalidInputError(
            "The action priority needs a priority; the others take none.",
            field="priority",
            remedy="Give a number from -100 to 100." if priority is None else "Leave it out.",
        )
    return [_act(job_id, _verb(action, tag, priority), actor) for job_id in dict.fromkeys(ids)]


def _verb(action: str, tag: str, priority: int | None) -> Callable[..., Any]:
    if action == BulkAction.PRIORITY:
        return partial(change_job, priority=priority)
    if action == BulkAction.TAG:
        return partial(retag_job, add=[tag])
    if action == BulkAction.UNTAG:
        return partial(retag_job, remove=[tag])
    return ACTIONS[action]


def _act(job_id: UUID, verb: Callable[..., Any], actor: User) -> JobOutcome:
    name = ""
    try:
        job = Job.objects.select_related("project__organisation").get_visible(actor, job_id)
        name = job.name
        verb(job, actor=actor)
    except NotFoundError:
        return JobOutcome(job_id, "", "There is no such job that you may see.", "Load the list again.")
    except DomainError as error:
        return JobOutcome(job_id, name, error.message, error.remedy)
    return JobOutcome(job_id, name)
