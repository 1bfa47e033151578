# SPDX-License-Identifier: Apache-2.0
"""Tags and notes of jobs: what people write on them. Neither changes what a job does: they may be set at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Func, TextField

from mlhub.core.tags import checked_tags
from mlhub.jobs.events import append_of_job
from mlhub.jobs.models import Job
from mlhub.tenants.access_control.permissions import require_role
from mlhub.tenants.models import User
from mlhub.tenants.roles import Role

MAX_NOTES_LENGTH = 10_000
MAX_LISTED_TAGS = 200


def annotate_job(job: Job, *, actor: User, tags: Iterable[str] | None = None, notes: str | None = None) -> Job:
    """Replaces the tags or the notes; None leaves them. For members, and for submitters of the job.

    Raises InvalidInputError for too many tags, NotAllowedError.
    """
    require_role(actor, job.project, Role.SUBMITTER if job.created_by_id == actor.pk else Role.MEMBER)
    return _write(job, actor, lambda _: None if tags is None else list(tags), notes)


def retag_job(job: Job, *, actor: User, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Job:
    """Adds and removes tags; the others stay. Raises what annotate_job raises."""
    require_role(actor, job.project, Role.SUBMITTER if job.created_by_id == actor.pk else Role.MEMBER)
    added, removed = list(add), set(remove)
    return _write(job, actor, lambda present: [*(tag for tag in present if tag not in removed), *added], None)


def tags_in_use(user: User) -> list[dict[str, Any]]:
    """The tags of the jobs that the user may see, with how many jobs have each: the most used first."""
    each = Func(F("tags"), function="jsonb_array_elements_text", output_field=TextField(), set_returning=True)
    tagged = Job.objects.visible_to(user).exclude(tags=[]).annotate(tag=each)
    counted = tagged.order_by().values("tag").annotate(n_jobs=Count("id")).order_by("-n_jobs", "tag")
    return list(counted[:MAX_LISTED_TAGS])


def _write(job: Job, actor: User, tags_after: Callable[[list[str]], list[str] | None], notes: str | None) -> Job:
    with transaction.atomic():
        found = Job.objects.select_for_update(of=("self",)).select_related("project__organisation").get(pk=job.pk)
        after: dict[str, Any] = {}
        tags = tags_after(found.tags)
        if tags is not None:
            after["tags"] = checked_tags(tags, of="A job")
        if notes is not None:
            after["notes"] = notes
        before = {name: getattr(found, name) for name in after}
        if after != before:
            named = ("tags",) if "tags" in after else ()  # an event has no room for notes
            Job.objects.filter(pk=found.pk).update(**after)
            append_of_job(
                "job.annotated",
                found,
                actor=actor,
                before={name: before[name] for name in named},
                after={name: after[name] for name in named},
                is_noted="notes" in after,
            )
    job.refresh_from_db()
    return job
