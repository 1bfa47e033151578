# SPDX-License-Identifier: Apache-2.0
"""E-mail about a budget of GPU-hours: to admins and owners of its organisation who chose it, and about a user's
own GPU-hours to that user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage

from mlhub.events.models import Event
from mlhub.tenants.models import Membership, User
from mlhub.tenants.roles import Role
from mlhub.webhooks.models import MailNotices
from mlhub.webhooks.topics import BUDGET, USER_BUDGET

EFFECTS = {  # by what the budget says, once nothing of it is left
    "stop_new": "No job starts until the next period, or until the budget is raised.",
    "stop_all": "Running jobs save a checkpoint and wait until the next period, or until the budget is raised.",
}
USER_EFFECTS = {  # of a user's own
    "stop_new": "No job of yours starts until the next period, or until an admin of {admins} raises it.",
    "stop_all": "Your running jobs save a checkpoint and wait until the next period, or until an admin of {admins} "
    "raises it.",
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


def user_budget_message(event: Event) -> EmailMessage | None:
    """To the user whose GPU-hours they are; None when that user is not to be notified."""
    facts = event.facts
    user = User.objects.filter(pk=facts["of_user"], is_active=True).exclude(email="").first()
    if user is None or not _chose(user, USER_BUDGET) or not _belongs(user, event):
        return None
    scope = f" on {facts['gpu_type']}" if facts.get("gpu_type") else ""
    effect = USER_EFFECTS.get(facts["on_exhausted"], "") if facts["percent"] >= 100 else ""
    effect = effect.format(admins=_admins(event))
    lines = [
        f"You have used {facts['used_gpu_hours']:g} of your {facts['gpu_hours']:g} GPU-hours{scope} "
        f"({facts['period']}) in {facts['name']}.",
        effect.replace("the next period, or until ", "") if facts["period"] == "once" else effect,
        f"{settings.PUBLIC_URL}/",
        f"You chose on {settings.PUBLIC_URL}/account to be notified of this.",
    ]
    subject = " ".join(f"{facts['name']}: {facts['percent']} % of your GPU-hours are used".split())[:200]
    return EmailMessage(subject, "\n\n".join(line for line in lines if line), to=[user.email])


def _admins(event: Event) -> str:
    """Whose admins can raise limits of users there: of the team or project itself, and of its organisation."""
    near, organisation = event.facts["name"], event.organisation
    if event.subject_kind == "organisation" or organisation is None:
        return near
    return f"{near} or of {organisation.name}"


def _chose(user: User, topic: str) -> bool:
    return MailNotices.objects.filter(user=user, topics__contains=[topic]).exists()


def _belongs(user: User, event: Event) -> bool:
    """Whether the user may still see the organisation."""
    return user.is_staff or Membership.objects.filter(organisation=event.organisation_id, user=user).exists()


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
