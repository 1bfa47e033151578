# SPDX-License-Identifier: Apache-2.0
"""E-mail about a budget of GPU-hours: to admins and owners of its organisation who chose it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage

from mlhub.events.models import Event
from mlhub.tenants.models import Membership
from mlhub.tenants.roles import Role
from mlhub.webhooks.models import MailNotices
from mlhub.webhooks.topics import BUDGET

EFFECTS = {  # by what the budget says, once nothing of it is left
    "stop_new": "No job starts until the next period, or until the budget is raised.",
    "stop_all": "Running jobs save a checkpoint and wait until the next period, or until the budget is raised.",
}


def budget_message(event: Event) -> EmailMessage | None:
    """One message to all of them, who do not see each other's addresses; None when no user is to be notified."""
    recipients = _recipients(event)
    if not recipients:
        return None
    facts = event.facts
    scope = f" on {facts['gpu_type']}" if facts.get("gpu_type") else ""
    lines = [
        f"{facts['name']} has used {facts['used_gpu_hours']:g} of its {facts['gpu_hours']:g} GPU-hours{scope} "
        f"({facts['period']}).",
        _effect(facts) if facts["percent"] >= 100 else "",
        f"{settings.PUBLIC_URL}/quotas",
        f"You chose on {settings.PUBLIC_URL}/account to be notified of this.",
    ]
    subject = " ".join(f"{facts['name']}: {facts['percent']} % of the GPU-hours are used".split())[:200]
    return EmailMessage(subject, "\n\n".join(line for line in lines if line), bcc=recipients)


def _effect(facts: Mapping[str, Any]) -> str:
    """What happens now. A budget without a period has no next one."""
    effect = EFFECTS.get(facts["on_exhausted"], "")
    return effect.replace("the next period, or until ", "") if facts["period"] == "once" else effect


def _recipients(event: Event) -> list[str]:
    """Addresses of active admins and owners."""
    chosen = MailNotices.objects.filter(topics__contains=[BUDGET]).values("user")
    leading = Membership.objects.filter(
        organisation=event.organisation_id,
        role__in=[Role.ADMIN.value, Role.OWNER.value],
        user__in=chosen,
        user__is_active=True,
    )
    return sorted(set(leading.exclude(user__email="").values_list("user__email", flat=True)))
