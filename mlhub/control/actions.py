# SPDX-License-Identifier: Apache-2.0
"""Writes of the control room from outside the loop: the scheduler's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from mlhub.control.deciding.memory import MemoryOwner, load_memory, store_memory
from mlhub.control.models import SchedulerSettings
from mlhub.core.errors import ConflictError, InvalidInputError
from mlhub.events.actions import append
from mlhub.tenants.models import User
from scheduler import parameters_of, policy_named

SHOWN = (
    "policy", "parameters", "budget_s", "shadow_policy", "shadow_parameters", "shares_fairly", "half_life_s"
)  # fmt: skip
GUIDE = "See docs/guides/operating-the-scheduler.md."


def set_scheduler(*, actor: User, version: int | None = None, **changes: Any) -> SchedulerSettings:
    """Takes effect in the next round. Another policy begins with its default parameters and without memory of its own.

    changes: any of SHOWN; a shadow_policy "" ends the shadow. version: the one that was seen.
    Raises InvalidInputError for an unknown policy or parameter, ConflictError for a stale version.
    """
    with transaction.atomic():
        SchedulerSettings.objects.get_or_create(pk=1)
        chosen = SchedulerSettings.objects.select_for_update().get(pk=1)
        if version is not None and version != chosen.version:
            raise ConflictError(
                "Another administrator changed the scheduler meanwhile.",
                code="stale",
                remedy="Look again.",
                version=chosen.version,
            )
        before = {name: getattr(chosen, name) for name in SHOWN}
        if changes.get("policy", chosen.policy) != chosen.policy:
            chosen.parameters = {}
            store_memory(MemoryOwner.POLICY, load_memory(MemoryOwner.POLICY).for_other_policy())
        if changes.get("shadow_policy", chosen.shadow_policy) != chosen.shadow_policy:
            chosen.shadow_parameters = {}
        for name, value in changes.items():
            setattr(chosen, name, value)
        check_policy(chosen.policy, chosen.parameters)
        if chosen.shadow_policy:
            check_policy(chosen.shadow_policy, chosen.shadow_parameters, prefix="shadow_")
        chosen.version += 1
        chosen.save()
        after = {name: getattr(chosen, name) for name in SHOWN}
        append(
            "scheduler.changed",
            organisation=None,
            subject_kind="scheduler",
            subject_id=None,
            actor=actor,
            before=before,
            after=after,
        )
    return chosen


def check_policy(policy: str, parameters: Mapping[str, Any], *, prefix: str = "") -> None:
    """Raises InvalidInputError whose field is the policy, or the one parameter that is wrong."""
    try:
        parameters_of(policy)
    except ValueError as error:
        raise InvalidInputError(str(error), field=f"{prefix}policy", remedy=GUIDE) from error
    for name, value in parameters.items():
        _check_parameters(policy, {name: value}, field=f"{prefix}parameters.{name}")
    _check_parameters(policy, parameters, field=f"{prefix}parameters")


def _check_parameters(policy: str, parameters: Mapping[str, Any], *, field: str) -> None:
    try:
        policy_named(policy, parameters)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(str(error), field=field, remedy=GUIDE) from error
