# SPDX-License-Identifier: Apache-2.0
"""E-mail to those who submitted a job: of what they chose, once, while they may see it."""

from __future__ import annotations

from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail as outgoing
from django.core.mail import EmailMessage
from django.core.mail.backends.locmem import EmailBackend
from django.utils import timezone

from mlhub.events.actions import append
from mlhub.jobs.attempts import record_stop
from mlhub.jobs.lifecycle import advance
from mlhub.jobs.models import Attempt
from mlhub.jobs.states import Trigger
from mlhub.tenants.actions import create_team
from mlhub.tenants.models import Membership, RoleBinding, User
from mlhub.webhooks import mail
from tests.cast import Cast, make_cast
from tests.jobs.builders import job as submitted

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/api/v1/auth/notices"


@pytest.fixture
def cast(settings: Any) -> Cast:
    settings.HAS_MAIL_SERVER = True
    found = make_cast()
    mail.send_notices()  # from here on
    return found


def choose(cast: Cast, person: User, *topics: str) -> None:
    assert cast.client(person).put(ADDRESS, {"topics": list(topics)}, format="json").status_code == 200


def failed(cast: Cast, person: User, name: str = "digits") -> None:
    job = submitted(cast.project_a, person, name=name)
    assert advance(job.pk, trigger=Trigger.REJECT, reason="Its data has no column y.")


def test_who_submitted_a_job_is_told_once_of_what_they_chose(cast: Cast) -> None:
    choose(cast, cast.bob, "job.failed")
    choose(cast, cast.alice, "job.succeeded")
    failed(cast, cast.bob)
    failed(cast, cast.alice)
    assert mail.send_notices() == 1
    assert mail.send_notices() == 0
    (message,) = outgoing.outbox
    assert (message.to, message.subject) == (["bob@example.org"], "digits failed")
    assert "Its data has no column y." in message.body
    assert "/jobs/" in message.body


def test_a_notice_says_only_once_how_the_job_ended(cast: Cast) -> None:
    choose(cast, cast.bob, "job.succeeded")
    job = submitted(cast.project_a, cast.bob, name="digits", state="running")
    assert advance(job.pk, trigger=Trigger.GANG_SUCCEEDED, reason="succeeded")
    assert mail.send_notices() == 1
    (message,) = outgoing.outbox
    assert message.body.split("\n\n")[1].endswith(f"/jobs/{job.pk}")


def test_who_submitted_a_job_is_told_why_its_gpus_are_taken_back_and_not_of_a_resize(cast: Cast) -> None:
    choose(cast, cast.bob, "job.preempted")
    for reason, why in (("resized", ""), ("preempted", "Reclaimed: vision is guaranteed 4.")):
        job = submitted(cast.project_a, cast.bob, name="digits", state="running")
        attempt = Attempt.objects.create(job=job, number=1, mode="all_reduce", n_workers=1)
        assert record_stop(attempt, reason=reason, why=why, now=timezone.now())
    assert mail.send_notices() == 1
    (message,) = outgoing.outbox
    assert message.subject == "digits gives its GPUs back and waits"
    assert "Reclaimed: vision is guaranteed 4." in message.body


def test_nobody_is_told_without_having_asked_or_after_leaving(cast: Cast) -> None:
    failed(cast, cast.bob)
    choose(cast, cast.bob, "job.failed")
    assert mail.send_notices() == 1
    failed(cast, cast.bob)
    Membership.objects.filter(user=cast.bob).delete()
    assert mail.send_notices() == 0


@pytest.mark.slow
def test_a_server_that_is_away_delays_and_a_refused_message_delays_no_other(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(cast, cast.bob, "job.failed")
    choose(cast, cast.alice, "job.failed")
    failed(cast, cast.bob)
    failed(cast, cast.alice)
    real, code = EmailBackend.send_messages, [450]

    def away(self: object) -> None:
        raise ConnectionRefusedError

    def refuse_bob(self: Any, messages: list[EmailMessage]) -> int:
        if messages[0].to == ["bob@example.org"]:
            raise SMTPRecipientsRefused({"bob@example.org": (code[0], b"no")})
        return int(real(self, messages))

    with monkeypatch.context() as here:
        here.setattr(EmailBackend, "open", away)
        assert [mail.send_notices() for _ in range(mail.MAX_TRIES + 1)] == [0] * (mail.MAX_TRIES + 1)
    with monkeypatch.context() as here:
        here.setattr(EmailBackend, "send_messages", refuse_bob)
        assert [mail.send_notices() for _ in range(3)] == [0, 0, 0]  # not now: tried again
        code[0] = 550
        assert [mail.send_notices() for _ in range(2)] == [0, 1]  # for good: left out
    assert [message.to for message in outgoing.outbox] == [["alice@example.org"]]


def test_a_message_that_is_refused_again_and_again_is_left_out(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(cast, cast.bob, "job.failed")
    failed(cast, cast.bob)

    def broken(self: object, messages: object) -> int:
        raise SMTPServerDisconnected

    with monkeypatch.context() as here:
        here.setattr(EmailBackend, "send_messages", broken)
        assert sum(mail.send_notices() for _ in range(mail.MAX_TRIES)) == 0
    assert mail.send_notices() == 0
    failed(cast, cast.bob, "next")
    assert mail.send_notices() == 1


def test_one_chooses_for_oneself_and_unknown_topics_are_refused(cast: Cast) -> None:
    choose(cast, cast.bob, "job.failed", "job.waiting_long")
    shown = cast.client(cast.bob).get(ADDRESS).json()
    assert shown == {"topics": ["job.failed", "job.waiting_long"], "email": "bob@example.org", "has_mail_server": True}
    assert cast.client(cast.alice).get(ADDRESS).json()["topics"] == []
    refused = cast.client(cast.bob).put(ADDRESS, {"topics": ["dataset.ready"]}, format="json")
    assert refused.status_code == 422


def test_an_account_without_an_address_chooses_nothing_and_may_still_end_what_it_chose(cast: Cast) -> None:
    choose(cast, cast.bob, "job.failed")
    User.objects.filter(pk=cast.bob.pk).update(email="")
    refused = cast.client(cast.bob).put(ADDRESS, {"topics": ["job.failed", "job.preempted"]}, format="json")
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert (error["field"], error["message"]) == (
        "topics",
        "Your account has no e-mail address, so that nothing could be sent.",
    )
    assert cast.client(cast.bob).get(ADDRESS).json()["topics"] == ["job.failed"]
    choose(cast, cast.bob)
    assert cast.client(cast.bob).get(ADDRESS).json()["topics"] == []


def test_admins_who_chose_it_are_notified_of_a_budget_that_is_reached(cast: Cast) -> None:
    choose(cast, cast.alice, "budget.reached")
    choose(cast, cast.bob, "budget.reached")
    facts = {"gpu_hours": 10.0, "used_gpu_hours": 10.5, "period": "week", "gpu_type": "", "on_exhausted": "stop_new"}
    append(
        "budget.reached", organisation=cast.a, subject_kind="organisation", subject_id=cast.a.pk, name="A", percent=100,
        **facts,
    )  # fmt: skip
    assert mail.send_notices() == 1
    (message,) = outgoing.outbox
    assert (message.to, message.bcc) == ([], ["alice@example.org"])
    assert message.subject == "A: 100 % of the GPU-hours are used"
    assert "A has used 10.5 of its 10 GPU-hours (week)." in message.body
    assert "No job starts until the next period" in message.body
    append(
        "budget.reached", organisation=cast.a, subject_kind="organisation", subject_id=cast.a.pk, name="A", percent=100,
        **facts | {"period": "once"},
    )  # fmt: skip
    assert mail.send_notices() == 1
    assert "No job starts until the budget is raised." in outgoing.outbox[1].body


def test_a_message_about_a_budget_says_whose_it_is_until_when_and_what_happens_when_it_is_used_up(cast: Cast) -> None:
    team = create_team(cast.a, name="seeing", actor=cast.alice)
    RoleBinding.objects.create(membership=cast.a.memberships.get(user=cast.bob), team=team, role="admin")
    for person in (cast.alice, cast.bob, cast.victor, cast.charlie):
        choose(cast, person, "budget.reached")
    facts = {"name": "seeing", "period": "week", "gpu_type": "A100", "ends_at": "2026-11-30T00:00:00Z"}
    of_team = {"organisation": cast.a, "subject_kind": "team", "subject_id": team.pk, **facts}
    append("budget.reached", percent=80, gpu_hours=1e6, used_gpu_hours=812345.678, on_exhausted="stop_new", **of_team)
    append("budget.reached", percent=100, gpu_hours=0.005, used_gpu_hours=0.0051, on_exhausted="stop_all", **of_team)
    append("budget.reached", percent=100, gpu_hours=2.0, used_gpu_hours=2.0, on_exhausted="alert", **of_team)
    assert mail.send_notices() == 3
    nearly, used_up, only_notified = outgoing.outbox
    assert nearly.bcc == ["alice@example.org", "bob@example.org"]  # the organisation's admin, and the team's own
    assert nearly.message()["To"] == "undisclosed-recipients:;"
    assert nearly.subject == "A / seeing: 80 % of the GPU-hours are used"
    used = "812,345.68 of its 1,000,000 GPU-hours on A100 (week, until 2026-11-30 00:00 UTC)"
    assert f"The team seeing of A has used {used}." in nearly.body
    stops = "no job starts on A100 until the next period, or until the budget is raised."
    assert f"When all of it is used, {stops}" in nearly.body
    assert "has used 0.0051 of its 0.005 GPU-hours" in used_up.body
    assert "Running jobs on A100 save a checkpoint and wait until the next period" in used_up.body
    assert "Jobs go on: this budget only notifies." in only_notified.body
