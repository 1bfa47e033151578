"""Writes of the control room from outside the loop: the scheduler's settings."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from mlhub.control.models import SchedulerSettings
from mlhub.core.errors import InvalidInputError
from mlhub.events.actions import append
from mlhub.tenants.models import User
from scheduler import policy_named


def set_scheduler(*, policy: str | None, parameters: dict[str, Any] | None, actor: User) -> SchedulerSettings:
    """Takes effect in the next round. Another policy begins with an empty memory.

    Raises InvalidInputError for an unknown policy or parameter.
    """
    with transaction.atomic():
        SchedulerSettings.objects.get_or_create(pk=1)
        chosen = SchedulerSettings.objects.select_for_update().get(pk=1)
        before = {"policy": chosen.policy, "parameters": chosen.parameters}
        if policy is not None and policy != chosen.policy:
            chosen.policy, chosen.parameters, chosen.memory = policy, {}, {}
        if parameters is not None:
            chosen.parameters = parameters
        try:
            policy_named(chosen.policy, chosen.parameters)
        except (ValueError, TypeError) as error:
            field = "policy" if parameters is None else "parameters"
            raise InvalidInputError(str(error), field=field, remedy="See docs/guides/scheduling.md.") from error
        chosen.save()
        append(
            "scheduler.changed",
            organisation=None,
            subject_kind="scheduler",
            subject_id=None,
            actor=actor,
            before=before,
            after={"policy": chosen.policy, "parameters": chosen.parameters},
        )
    return chosen
