# SPDX-License-Identifier: Apache-2.0
"""What an organisation used in a week or a month goes out once the period is over, by webhook and by e-mail, once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail as outgoing

from mlhub.events.models import Event
from mlhub.tenants.models import Membership, Project, User
from mlhub.tenants.roles import Role
from mlhub.usage.scheduled_reports import ReportPeriod, report_periods
from mlhub.webhooks import mail
from mlhub.webhooks.delivery import make_deliveries
from mlhub.webhooks.models import Delivery
from tests.cast import Cast, make_cast
from tests.usage.test_api import entry

pytestmark = pytest.mark.django_db(transaction=True)
TUESDAY = datetime(2026, 3, 10, 12, tzinfo=UTC)
NEXT_MONDAY = datetime(2026, 3, 16, tzinfo=UTC)


@pytest.fixture
def cast(settings: Any) -> Cast:
    settings.HAS_MAIL_SERVER, settings.GPU_PRICES, settings.CURRENCY = True, {"T4": 0.5}, "EUR"
    found = make_cast()
    mail.send_notices()  # from here on
    return found


def choose(cast: Cast, person: User, *topics: str) -> None:
    answer = cast.client(person).put("/api/v1/auth/notices", {"topics": list(topics)}, format="json")
    assert answer.status_code == 200


def reports(kind: str = "usage.weekly") -> list[Event]:
    return list(Event.objects.filter(kind=kind).order_by("id"))


@pytest.mark.parametrize(
    ("period", "now", "since", "until"),
    [
        ("week", datetime(2026, 3, 16, tzinfo=UTC), "2026-03-09", "2026-03-16"),
        ("week", datetime(2026, 3, 15, 23, 59, tzinfo=UTC), "2026-03-02", "2026-03-09"),
        ("month", datetime(2026, 3, 1, tzinfo=UTC), "2026-02-01", "2026-03-01"),
        ("month", datetime(2026, 1, 31, 12, tzinfo=UTC), "2025-12-01", "2026-01-01"),
    ],
)
def test_a_period_is_the_last_one_that_is_over(period: str, now: datetime, since: str, until: str) -> None:
    window = ReportPeriod(period).last_before(now)
    assert (window.since.date().isoformat(), window.until.date().isoformat()) == (since, until)


def test_a_week_is_reported_once_when_it_is_over_and_only_of_who_used_gpus(cast: Cast) -> None:
    other = Project.objects.create(organisation=cast.a, name="speech")
    entry(cast.project_a, cast.bob, began=TUESDAY)
    entry(other, cast.alice, hours=6, began=TUESDAY)
    # half of it is of the week before
    entry(other, cast.alice, hours=2, began=datetime(2026, 3, 8, 23, tzinfo=UTC))
    report_periods(NEXT_MONDAY - timedelta(seconds=1))
    assert {(e.facts["since"][:10], e.facts["used_gpu_hours"]) for e in reports()} == {("2026-03-02", 1.0)}
    assert report_periods(NEXT_MONDAY) == 1
    assert report_periods(NEXT_MONDAY + timedelta(minutes=10)) == 0
    assert report_periods(NEXT_MONDAY + timedelta(days=6)) == 0
    found = reports()[-1]
    assert (found.organisation, found.facts["since"][:10], found.facts["until"][:10]) == (
        cast.a, "2026-03-09", "2026-03-16"
    )  # fmt: skip
    assert (found.facts["used_gpu_hours"], found.facts["cost"], found.facts["n_jobs"]) == (9.0, 4.5, 3)
    assert [(one["name"], one["used_gpu_hours"], one["cost"]) for one in found.facts["projects"]] == [
        ("speech", 7.0, 3.5), ("vision", 2.0, 1.0)
    ]  # fmt: skip
    assert [one["name"] for one in found.facts["users"]] == ["alice", "bob"]
    assert not Event.objects.filter(organisation=cast.b, kind__startswith="usage.").exists()


def test_a_month_goes_by_mail_to_admins_and_auditors_who_chose_it_and_to_no_one_else(cast: Cast) -> None:
    Membership.objects.filter(user=cast.victor).update(role=Role.AUDITOR)
    for person in (cast.alice, cast.bob, cast.victor, cast.charlie):
        User.objects.filter(pk=person.pk).update(email=f"{person.username}@example.org")
        choose(cast, User.objects.get(pk=person.pk), "usage.monthly")
    entry(cast.project_a, cast.bob, began=TUESDAY)
    assert report_periods(datetime(2026, 4, 1, tzinfo=UTC)) == 1  # the last week of March had no use
    assert mail.send_notices() == 1
    assert mail.send_notices() == 0
    (message,) = outgoing.outbox
    assert message.bcc == ["alice@example.org", "victor@example.org"]
    assert message.to == []
    assert message.subject == "A: 2 GPU-hours in March 2026"
    assert "A used 2 GPU-hours in March 2026 (UTC), by 1 job, 1 EUR." in message.body
    assert "Of these 1.7 were useful and 0.2 lost to preemption and failures." in message.body
    assert "By project:\nvision: 2 GPU-hours, 1 EUR" in message.body
    assert "By person:\nbob: 2 GPU-hours, 1 EUR" in message.body


def test_a_webhook_gets_the_report_with_its_figures_without_prices_no_cost(cast: Cast, settings: Any) -> None:
    settings.GPU_PRICES = {}
    made = cast.client(cast.alice).post(
        f"/api/v1/organisations/{cast.a.pk}/webhooks",
        {"url": "https://example.org/x", "topics": ["usage.weekly"]},
        format="json",
    )
    assert made.status_code == 201, made.content
    entry(cast.project_a, cast.bob, began=TUESDAY)
    entry(cast.project_b, cast.charlie, began=TUESDAY, hours=5)
    assert report_periods(NEXT_MONDAY) == 2
    make_deliveries()
    data = json.loads(Delivery.objects.get().body)["data"]
    assert (data["organisation"]["name"], data["period"], data["used_gpu_hours"]) == ("A", "week", 2.0)
    assert (data["since"], data["until"]) == ("2026-03-09T00:00:00Z", "2026-03-16T00:00:00Z")
    assert ("cost" in data, "currency" in data) == (False, False)
    assert [one["name"] for one in data["projects"]] == ["vision"]


def test_a_name_with_hostile_characters_stays_one_line_of_the_subject(cast: Cast) -> None:
    User.objects.filter(pk=cast.alice.pk).update(email="alice@example.org")
    choose(cast, User.objects.get(pk=cast.alice.pk), "usage.weekly")
    cast.a.name = "A\nBcc: eve@example.org"
    cast.a.save()
    entry(cast.project_a, cast.bob, began=TUESDAY)
    report_periods(NEXT_MONDAY)
    assert mail.send_notices() == 1
    assert outgoing.outbox[0].subject.startswith("A Bcc: eve@example.org: 2 GPU-hours")
