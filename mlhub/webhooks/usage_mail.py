# SPDX-License-Identifier: Apache-2.0
"""E-mail of an organisation's use in a week or a month: to those who chose it among its admins, owners and auditors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils.dateparse import parse_datetime

from mlhub.events.models import Event
from mlhub.tenants.models import Membership
from mlhub.tenants.roles import Role
from mlhub.webhooks.budget_mail import TO_NONE
from mlhub.webhooks.models import MailNotices
from mlhub.wire.words import counted, figure, hours_text

READERS = [role for role in Role if role.covers(Role.AUDITOR)]


def usage_message(event: Event) -> EmailMessage | None:
    """One message to all of them, who do not see each other's addresses; None when no user is to be notified."""
    recipients = _recipients(event)
    if not recipients:
        return None
    facts = event.facts
    since, until = (parse_datetime(facts[name]) for name in ("since", "until"))
    assert since is not None
    assert until is not None
    which = f"{since:%B %Y}" if facts["period"] == "month" else f"the week from {since:%Y-%m-%d}"
    lines = [
        f"{facts['name']} used {hours_text(facts['used_gpu_hours'])} GPU-hours in {which} (UTC), "
        f"by {counted(facts['n_jobs'], 'job')}{_cost(facts, facts['currency'])}.",
        _parts(facts),
        _table("By project", facts["projects"], facts["currency"]),
        _table("By person", facts["users"], facts["currency"]),
        f"{settings.PUBLIC_URL}/usage",
        f"You chose on {settings.PUBLIC_URL}/account to be sent this.",
    ]
    subject = f"{facts['name']}: {hours_text(facts['used_gpu_hours'])} GPU-hours in {which}"
    return EmailMessage(
        " ".join(subject.split())[:200], "\n\n".join(filter(None, lines)), bcc=recipients, headers=TO_NONE
    )


def _parts(facts: Mapping[str, Any]) -> str:
    idle = facts.get("idle_gpu_hours")
    measured = "" if idle is None else f"; the GPUs were idle in {hours_text(idle)}"
    useful, lost = hours_text(facts["useful_gpu_hours"]), hours_text(facts["lost_gpu_hours"])
    return f"Of these {useful} were useful and {lost} lost to preemption and failures{measured}."


def _table(title: str, rows: list[Mapping[str, Any]], currency: str) -> str:
    lines = [f"{one['name']}: {hours_text(one['used_gpu_hours'])} GPU-hours{_cost(one, currency)}" for one in rows]
    return "\n".join([f"{title}:", *lines]) if lines else ""


def _cost(facts: Mapping[str, Any], currency: str) -> str:
    return "" if facts.get("cost") is None else f", {figure(facts['cost'])} {currency}".rstrip()


def _recipients(event: Event) -> list[str]:
    chosen = MailNotices.objects.filter(topics__contains=[event.kind]).values("user")
    reading = Membership.objects.filter(organisation=event.organisation_id, role__in=READERS, user__in=chosen)
    active = reading.filter(user__is_active=True).exclude(user__email="")
    return sorted(set(active.values_list("user__email", flat=True)))
