# SPDX-License-Identifier: Apache-2.0
"""What the settings keep for some days is removed after them, in batches, and the job says so."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.utils import timezone

from mlhub.control.models import Round
from mlhub.events.actions import append
from mlhub.events.models import Event
from mlhub.events.verification import verify
from mlhub.jobs import attempts
from mlhub.jobs.models import Artifact, Attempt, Job, PassedValidation, RemovedPart
from mlhub.jobs.retention.retention_rules import cutoffs
from mlhub.metrics.actions import ReportingPod, store_lines
from mlhub.metrics.models import LogLine, MetricPoint
from mlhub.retention import rules
from mlhub.retention.tasks import remove_expired
from mlhub.storage import actions as storage
from mlhub.storage.models import Holding
from mlhub.storage.stores import blob_store
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.recovery.conftest import launch

pytestmark = pytest.mark.django_db
N_LINES = 25


@pytest.fixture
def cast() -> Cast:
    return make_cast()


@pytest.fixture(autouse=True)
def _everything_kept_for_ten_days(settings: Any) -> None:
    settings.KEPT_DAYS = dict.fromkeys(settings.KEPT_DAYS, 10.0)


def trained(cast: Cast, *, name: str, days_ago: float | None) -> Attempt:
    """A job with 25 lines and 25 points; it ended so many days ago, or trains still (None)."""
    found = job(cast.project_a, cast.bob, name=name)
    attempt = launch(found)
    pod = ReportingPod("worker", 0)
    store_lines(attempt, pod, stream="log", first=0, lines=[f"line {i}" for i in range(N_LINES)])
    points = [
        {"type": "metrics", "step": i, "epoch": 0.0, "at": 1.7e9, "values": {"train/loss": 1.0}} for i in range(N_LINES)
    ]
    store_lines(attempt, pod, stream="reports", first=0, lines=points)
    if days_ago is not None:
        at = timezone.now() - timedelta(days=days_ago)
        attempts.close_succeeded(attempt, now=at)
        date_events(at)
    return attempt


def date_events(at: datetime) -> None:
    """Lets all events so far be of that time, as only an administrator of the database could."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        Event.objects.filter(at__gt=at).update(at=at)
        cursor.execute("SET LOCAL session_replication_role = origin")


def left(attempt: Attempt) -> tuple[int, int]:
    """Lines and points."""
    return (
        LogLine.objects.filter(attempt=attempt).count(),
        MetricPoint.objects.filter(series__attempt=attempt).count(),
    )


def test_lines_and_points_of_jobs_that_ended_long_ago_go_and_others_stay(cast: Cast) -> None:
    old = trained(cast, name="old", days_ago=11)
    young, live = trained(cast, name="young", days_ago=9), trained(cast, name="live", days_ago=None)
    removed = remove_expired(batch=10)
    assert (removed["logs"], removed["metrics"]) == (N_LINES, N_LINES)
    assert [left(a) for a in (old, young, live)] == [(0, 0), (N_LINES, N_LINES), (N_LINES, N_LINES)]
    assert "logs" not in remove_expired(batch=10)


def test_nothing_is_removed_of_a_kind_that_is_kept_for_good(cast: Cast, settings: Any) -> None:
    settings.KEPT_DAYS = dict.fromkeys(settings.KEPT_DAYS, 0.0)
    old = trained(cast, name="old", days_ago=5000)
    assert remove_expired() == {}
    assert left(old) == (N_LINES, N_LINES)


def test_a_removal_that_ends_between_two_batches_goes_on_with_the_rest_and_counts_right(cast: Cast) -> None:
    old, now = trained(cast, name="old", days_ago=11), timezone.now()
    assert rules.remove_logs(cutoffs("logs", now=now), 10) == 10
    part = RemovedPart.objects.get(job=old.job, kind="logs")
    assert (left(old)[0], part.n_removed) == (15, 10)
    assert LogLine.objects.filter(attempt=old).order_by("seq").values_list("number", flat=True)[0] == 10
    remove_expired(batch=10)
    part.refresh_from_db()
    assert (left(old)[0], part.n_removed) == (0, 25)


def test_a_batch_that_fails_is_neither_removed_nor_recorded(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    old, now = trained(cast, name="old", days_ago=11), timezone.now()

    def cut(*_: Any, **__: Any) -> None:
        raise ConnectionError("the database went away")

    with monkeypatch.context() as failing:
        failing.setattr(rules, "_record", cut)
        with pytest.raises(ConnectionError):
            rules.remove_logs(cutoffs("logs", now=now), 10)
    assert left(old)[0] == N_LINES
    assert not RemovedPart.objects.exists()


def test_a_job_says_what_was_removed_and_when(cast: Cast) -> None:
    old = trained(cast, name="old", days_ago=11)
    remove_expired()
    shown = cast.client(cast.bob).get(f"/api/v1/jobs/{old.job_id}").json()["removed_parts"]
    by_kind = {part["kind"]: part for part in shown}
    assert {"logs", "metrics", "events"} <= set(by_kind)
    assert (by_kind["logs"]["kept_days"], by_kind["logs"]["n_removed"]) == (10.0, N_LINES)
    assert datetime.fromisoformat(by_kind["logs"]["before"]) < timezone.now() - timedelta(days=9)
    assert cast.client(cast.charlie).get(f"/api/v1/jobs/{old.job_id}").status_code == 404


def test_the_oldest_events_go_up_to_the_first_of_an_unfinished_job_and_the_chain_stays_whole(cast: Cast) -> None:
    for actor in (None, cast.alice):
        append("quota.changed", organisation=cast.a, subject_kind="organisation", subject_id=cast.a.id, actor=actor)
    live = trained(cast, name="live", days_ago=None)
    append("quota.changed", organisation=cast.a, subject_kind="organisation", subject_id=cast.a.id)
    date_events(timezone.now() - timedelta(days=100))
    remove_expired(batch=1)
    assert Event.objects.filter(subject_id=cast.a.id).count() == 1
    assert Event.objects.filter(subject_id=live.job_id).exists()
    assert Event.objects.filter(kind="audit.pruned").exists()


def test_events_of_their_own_time_stay_verifiable_when_the_oldest_are_removed(cast: Cast, settings: Any) -> None:
    for number in range(5):
        append("quota.changed", organisation=cast.a, subject_kind="organisation", subject_id=cast.a.id, n=number)
    before = timezone.now()
    append("quota.changed", organisation=cast.a, subject_kind="organisation", subject_id=cast.a.id, n=5)
    assert rules.remove_events(before, before, 3) == 3
    assert verify().is_intact
    while rules.remove_events(before, before, 3):
        pass
    assert verify().is_intact
    assert [e.facts["n"] for e in Event.objects.filter(kind="quota.changed")] == [5]


def test_predictions_are_removed_with_what_their_organisation_holds_and_asking_for_them_says_so(cast: Cast) -> None:
    found = job(cast.project_a, cast.bob, kind="predict")
    attempt = launch(found)
    with blob_store().stage(limit_bytes=100) as staging:
        staging.write(b"predicted")
        blob = storage.keep(staging, place=cast.a, owner_kind="artifact", owner_id=attempt.id)
    Artifact.objects.create(attempt=attempt, name="predictions.npz", blob=blob)
    attempts.close_succeeded(attempt, now=timezone.now() - timedelta(days=11))
    address = f"/api/v1/jobs/{found.pk}/result"
    assert cast.client(cast.bob).get(address).status_code == 200
    assert remove_expired()["results"] == 1
    assert not Holding.objects.filter(owner_id=attempt.id).exists()
    answer = cast.client(cast.bob).get(address)
    assert (answer.status_code, answer.json()["code"]) == (410, "removed")
    assert "10 days" in answer.json()["detail"]


def test_old_rounds_go_and_a_second_run_at_the_same_time_does_nothing(cast: Cast) -> None:
    for days in (1, 11, 12):
        Round.objects.create(at=timezone.now() - timedelta(days=days), policy=str(uuid4()), snapshot={})
    assert remove_expired(batch=1) == {"rounds": 2}
    assert Round.objects.count() == 1
    assert Job.objects.count() == 0


def test_dry_runs_that_passed_long_ago_are_forgotten_and_jobs_keep_their_profiles(cast: Cast) -> None:
    old, new = (
        PassedValidation.objects.create(organisation=cast.a, key=str(days) * 64, profile={"example_s": 1.0})
        for days in (1, 2)
    )
    by_old = job(cast.project_a, cast.bob, validation=old)
    PassedValidation.objects.filter(pk=old.pk).update(at=timezone.now() - timedelta(days=11))
    assert remove_expired()["validations"] == 1
    assert list(PassedValidation.objects.all()) == [new]
    by_old.refresh_from_db()
    assert (by_old.validation, by_old.preflight, by_old.profile["example_s"]) == (None, "passed", 0.001)
