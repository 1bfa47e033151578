# SPDX-License-Identifier: Apache-2.0
"""What a webhook can be notified of, and with which content: the one place that names topics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings

from mlhub.events.models import Event
from mlhub.jobs.states import JobState
from mlhub.tenants.models import Organisation

TOPICS: Mapping[str, str] = {
    "job.running": "A job started to run, or runs again.",
    "job.succeeded": "A job ended, and its model is there.",
    "job.failed": "A job ended with an error.",
    "job.cancelled": "A job was cancelled.",
    "job.paused": "A job was paused.",
    "job.preempted": "A job gives its GPUs back, saves a checkpoint and waits: reclaimed, or for another job.",
    "job.waiting_long": "A job has waited longer than MLHUB_LONG_WAIT_S.",
    "dataset.ready": "An uploaded dataset was inspected, and may be used.",
    "dataset.refused": "An uploaded dataset was inspected, and was refused.",
    "quota.requested": "A member asks for more quota.",
    "quota.request_approved": "A request for quota was approved.",
    "quota.request_refused": "A request for quota was refused.",
    "budget.reached": "80 or 100 % of a budget of GPU-hours is used.",
    "user_budget.reached": "80 or 100 % of the GPU-hours of one user are used.",
    "usage.weekly": "A week is over in which the organisation used GPUs: what it used.",
    "usage.monthly": "A month is over in which the organisation used GPUs: what it used.",
}
BUDGET, USER_BUDGET = "budget.reached", "user_budget.reached"
USAGE = ("usage.weekly", "usage.monthly")
# of which people are notified by e-mail: of jobs that they submitted, of their own GPU-hours, as admins and owners of
# budgets, and, auditors too, of the use of their organisation
MAIL_TOPICS = (*(topic for topic in TOPICS if topic.startswith("job.")), USER_BUDGET, BUDGET, *USAGE)
TEST = "webhook.test"  # sent on request, whatever was chosen
LONG_WAIT = "job.waiting_long"
PREEMPTED = "job.preempted"  # of the event job.state: it stops, and for this reason
CHOICES = list(TOPICS.items())
MAIL_CHOICES = [(topic, TOPICS[topic]) for topic in MAIL_TOPICS]
DELIVERY_CHOICES = [*CHOICES, (TEST, "A test, sent on request.")]
FACTS = (  # of events, passed on
    "name", "reason", "why", "before", "trigger", "number", "version_id", "error", "waited_s", "percent", "gpu_hours",
    "used_gpu_hours", "since", "until", "useful_gpu_hours", "lost_gpu_hours", "idle_gpu_hours", "cost", "currency",
    "n_jobs", "projects", "users", "period", "gpu_type", "on_exhausted", "ends_at",
    "extra_guarantee", "extra_max_gpus", "extra_gpus_by_type", "extra_guarantee_by_type", "owner_kind", "user",
)  # fmt: skip


def topic_of(event: Event) -> str | None:
    """None for an event that no webhook can be notified of."""
    topic = event.kind
    if event.kind == "job.state":
        moved = event.facts.get("after") == JobState.STOPPING and event.facts.get("reason") == "preempted"
        topic = PREEMPTED if moved else f"job.{event.facts.get('after')}"
    return topic if topic in TOPICS else None


def body_of(event: Event, topic: str, organisation: Organisation) -> str:
    """A CloudEvent 1.0 in JSON."""
    facts = {name: event.facts[name] for name in FACTS if event.facts.get(name) not in (None, "")}
    return _cloud_event(
        str(event.id), topic, organisation, at=event.at, subject=(event.subject_kind, event.subject_id), facts=facts
    )


def test_body(delivery_id: UUID, organisation: Organisation, *, at: datetime) -> str:
    subject = ("organisation", organisation.pk)
    return _cloud_event(str(delivery_id), TEST, organisation, at=at, subject=subject, facts={"name": organisation.name})


def _cloud_event(
    identity: str,
    topic: str,
    organisation: Organisation,
    *,
    at: datetime,
    subject: tuple[str, UUID | None],
    facts: Mapping[str, Any],
) -> str:
    kind, pk = subject
    data: dict[str, Any] = {"id": pk, "organisation": {"id": organisation.pk, "name": organisation.name}, **facts}
    if kind in ("job", "dataset"):
        data["url"] = f"{settings.PUBLIC_URL}/{kind}s/{pk}"
    return json.dumps(
        {
            "specversion": "1.0",
            "id": identity,
            "source": settings.PUBLIC_URL,
            "type": f"mlhub.{topic}",
            "subject": f"{kind}/{pk}",
            "time": at.isoformat(),
            "datacontenttype": "application/json",
            "data": data,
        },
        default=str,
    )
