# SPDX-License-Identifier: Apache-2.0
"""E-mail about a budget of GPU-hours: to its admins and owners who chose it, and about a user's own GPU-hours to that
user.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils.dateparse import parse_datetime

from mlhub.events.models import Event
from mlhub.tenants.access_control.assignments import TenantNode, described, holders
from mlhub.tenants.models import Membership, Project, Team, User
from mlhub.tenants.roles import Role
from mlhub.webhooks.models import MailNotices
from mlhub.webhooks.topics import BUDGET, USER_BUDGET
from mlhub.wire.words import hours_text

EFFECTS = {  # by what the budget says, once nothing of it is left; on: of which GPUs it is
    "alert": "jobs go on: this budget only notifies.",
    "stop_new": "no job starts{on} until {until}.",
    "stop_all": "running jobs{on} save a checkpoint and wait until {until}.",
}
USER_EFFECTS = {  # of a user's own
    "alert": "your jobs go on: this limit only notifies.",
    "stop_new": "no job of yours starts{on} until {until}.",
    "stop_all": "your running jobs{on} save a checkpoint and wait until {until}.",
}
PLACES: Mapping[str, type[Team] | type[Project]] = {"team": Team, "project": Project}
TO_NONE = {"To": "undisclosed-recipients:;"}  # a message without this header counts as spam at many servers


def budget_message(event: Event) -> EmailMessage | None:
    """One message to all of them, who do not see each other's addresses; None when no user is to be notified."""
    place = _place(event)
    recipients = _recipients(place)
    if not recipients:
        return None
    whose = described(place)
    lines = [
        f"{whose[:1].upper()}{whose[1:]} has used {_used(event.facts, 'its')}.",
        _effect(EFFECTS, event.facts, "the budget is raised"),
        f"{settings.PUBLIC_URL}/quotas",
        f"You chose on {settings.PUBLIC_URL}/account to be notified of this.",
    ]
    return _message(event, "the", lines, bcc=recipients, headers=TO_NONE)


def user_budget_message(event: Event) -> EmailMessage | None:
    """To the user whose GPU-hours they are; None when that user is not to be notified."""
    user = User.objects.filter(pk=event.facts["of_user"], is_active=True).exclude(email="").first()
    if user is None or not _chose(user, USER_BUDGET) or not _belongs(user, event):
        return None
    lines = [
        f"You have used {_used(event.facts, 'your')} in {described(_place(event))}.",
        _effect(USER_EFFECTS, event.facts, f"an admin of {_admins(event)} raises it"),
        f"{settings.PUBLIC_URL}/",
        f"You chose on {settings.PUBLIC_URL}/account to be notified of this.",
    ]
    return _message(event, "your", lines, to=[user.email])


def _message(event: Event, whose: str, lines: list[str], **fields: Any) -> EmailMessage:
    organisation, name = event.organisation, event.facts["name"]
    place = name if organisation is None or event.subject_kind == "organisation" else f"{organisation.name} / {name}"
    subject = " ".join(f"{place}: {event.facts['percent']} % of {whose} GPU-hours are used".split())[:200]
    return EmailMessage(subject, "\n\n".join(lines), **fields)


def _place(event: Event) -> TenantNode:
    """Whose budget it is; its organisation where the team or project was deleted meanwhile."""
    assert event.organisation is not None  # of events of budgets
    model = PLACES.get(event.subject_kind)
    if model is None:
        return event.organisation
    found: Team | Project | None = (
        model._default_manager.select_related("organisation").filter(pk=event.subject_id).first()
    )
    return found or event.organisation


def _used(facts: Mapping[str, Any], whose: str) -> str:
    """Such as: 8.5 of its 10 GPU-hours on A100 (week, until 2026-11-30 00:00 UTC)."""
    on = f" on {facts['gpu_type']}" if facts.get("gpu_type") else ""
    ends_at = parse_datetime(facts["ends_at"]) if isinstance(facts.get("ends_at"), str) else facts.get("ends_at")
    until = f", until {ends_at:%Y-%m-%d %H:%M} UTC" if isinstance(ends_at, datetime) else ""
    period = "in all" if facts["period"] == "once" else facts["period"]
    used, all_of_it = hours_text(facts["used_gpu_hours"]), hours_text(facts["gpu_hours"])
    return f"{used} of {whose} {all_of_it} GPU-hours{on} ({period}{until})"


def _effect(effects: Mapping[str, str], facts: Mapping[str, Any], raised: str) -> str:
    """What happens now, or will happen when all of it is used. A budget without a period has no next one."""
    until = raised if facts["period"] == "once" else f"the next period, or until {raised}"
    on = f" on {facts['gpu_type']}" if facts.get("gpu_type") else ""
    effect = effects[facts["on_exhausted"]].format(on=on, until=until)
    return effect[:1].upper() + effect[1:] if facts["percent"] >= 100 else f"When all of it is used, {effect}"


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


def _recipients(place: TenantNode) -> list[str]:
    """Addresses of active admins and owners of the place, or of what is above it."""
    chosen = MailNotices.objects.filter(topics__contains=[BUDGET]).values("user")
    leading = holders(place, Role.ADMIN).filter(user__in=chosen).exclude(user__email="")
    return sorted(set(leading.values_list("user__email", flat=True)))
