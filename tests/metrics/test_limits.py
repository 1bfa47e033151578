# SPDX-License-Identifier: Apache-2.0
"""What a job's pods may have stored: further lines and points are dropped, counted, and marked in their place."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.jobs import attempts
from mlhub.jobs.models import Checkpoint
from mlhub.metrics import actions as metrics_actions
from mlhub.metrics.models import LogLine, MetricPoint
from mlhub.storage.actions import used_bytes
from mlhub.tenants.models import Quota
from mlhub.wire.exits import Cause
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.test_ingest import metric, opened, post


@pytest.fixture
def cast(db) -> Cast:
    return make_cast()


@pytest.fixture
def attempt(cast):
    return opened(job(cast.project_a, cast.bob))


@pytest.fixture
def clock(monkeypatch):
    """The time at which lines come, moved by the test alone: on a slow machine a second passes between two posts."""
    found = SimpleNamespace(at=timezone.now())
    monkeypatch.setattr("mlhub.metrics.logs.log_store.timezone", SimpleNamespace(now=lambda: found.at))
    return found


@pytest.fixture
def log_of(cast, attempt):
    def read():
        lines = cast.client(cast.bob).get(f"/api/v1/jobs/{attempt.job_id}/logs").json()["lines"]
        return [(line["number"], line["text"], line["n_dropped"]) for line in lines]

    return read


@pytest.fixture
def dropped(cast, attempt):
    def read():
        found = cast.client(cast.bob).get(f"/api/v1/jobs/{attempt.job_id}").json()["dropped"]
        return {(d["part"], d["limit"]): (d["n"], d["sentence"]) for d in found}

    return read


def test_lines_faster_than_the_limit_are_dropped_with_a_mark_in_their_place(settings, attempt, log_of, dropped):
    settings.MAX_LOG_LINES_PER_S = 1  # so that 60 lines may come at once
    assert post(attempt, 0, *[f"line {i}" for i in range(100)], stream="log").json() == {"next": 100}
    log = log_of()
    assert [number for number, _, _ in log] == list(range(61))
    assert log[59] == (59, "line 59", 0)
    assert log[60] == (60, "[40 lines were dropped here: a job may write 1 lines a second to its log]", 40)
    assert dropped() == {
        ("log", "log_rate"): (40, "40 lines were dropped, because a job may write 1 lines a second to its log.")
    }


def test_after_a_pause_lines_are_stored_again_behind_the_mark(settings, attempt, log_of, dropped, clock):
    settings.MAX_LOG_LINES_PER_S = 1
    post(attempt, 0, *["x"] * 70, stream="log")
    clock.at += timedelta(seconds=3.5)
    assert post(attempt, 70, *["y"] * 5, stream="log").json() == {"next": 75}
    assert [(number, text) for number, text, _ in log_of()][61:64] == [(70, "y"), (71, "y"), (72, "y")]
    assert dropped()["log", "log_rate"][0] == 10 + 2


def test_all_pods_of_a_job_share_its_lines(settings, attempt, clock):
    settings.MAX_LOG_LINES_PER_S = 1
    post(attempt, 0, *["x"] * 50, stream="log")
    post(attempt, 0, *["x"] * 50, stream="log", index=1)
    assert LogLine.objects.filter(n_dropped=0).count() == 60
    assert LogLine.objects.get(n_dropped__gt=0).n_dropped == 40


def test_a_log_that_is_full_says_so_once_and_only_counts_from_then_on(settings, attempt, log_of, dropped):
    settings.MAX_LOG_BYTES = 10
    post(attempt, 0, "12345", "é234", "x", stream="log")
    post(attempt, 3, "y", "z", stream="log")
    assert log_of() == [
        (0, "12345", 0),
        (1, "é234", 0),
        (2, "[All further lines are dropped: the log of a job may have 10 bytes]", 1),
    ]
    assert dropped()["log", "log_bytes"][0] == 3


def test_a_metric_has_at_most_so_many_points_and_others_go_on(settings, attempt, dropped):
    settings.MAX_POINTS_PER_METRIC = 3
    post(attempt, 0, *(metric(i, loss=i) for i in range(2)))
    post(attempt, 2, *(metric(i, loss=i, accuracy=i) for i in range(2, 5)))
    kept = MetricPoint.objects.values_list("series__key", "step").order_by("series__key", "step")
    assert list(kept) == [("train/accuracy", i) for i in (2, 3, 4)] + [("train/loss", i) for i in (0, 1, 2)]
    assert dropped() == {
        ("metrics", "points_per_metric"): (2, "2 points were dropped, because a metric may have 3 points.")
    }


def test_the_metrics_of_a_job_have_at_most_so_many_points_together(settings, attempt, dropped):
    settings.MAX_POINTS_PER_JOB = 3
    post(attempt, 0, *(metric(i, loss=i, accuracy=i) for i in range(2)))
    assert MetricPoint.objects.count() == 3
    assert dropped()["metrics", "points_per_job"][0] == 1


def test_a_job_has_at_most_so_many_metrics_and_those_that_it_has_go_on(settings, attempt, dropped):
    settings.MAX_METRICS_PER_JOB = 2
    post(attempt, 0, metric(0, a=1, b=1, c=1, d=1))
    post(attempt, 1, metric(1, a=1, c=1))
    kept = MetricPoint.objects.values_list("series__key", "step").order_by("series__key", "step")
    assert list(kept) == [("train/a", 0), ("train/a", 1), ("train/b", 0)]
    assert dropped()["metrics", "metrics_per_job"][0] == 3


def test_another_job_has_counters_of_its_own(settings, cast, attempt):
    settings.MAX_POINTS_PER_JOB = settings.MAX_METRICS_PER_JOB = 1
    other = opened(job(cast.project_a, cast.bob))
    for one in (attempt, other):
        post(one, 0, metric(0, a=1))
    assert MetricPoint.objects.count() == 2


def put_artifact(attempt, content, *, name="weights.safetensors"):
    client = APIClient(headers={"Authorization": f"Bearer {attempts.token_of(attempt.id)}"})
    headers = {"X-Content-SHA256": hashlib.sha256(content).hexdigest()}
    path = f"/api/v1/ingest/attempts/{attempt.id}/artifacts/{name}"
    return client.put(path, content, content_type="application/octet-stream", headers=headers)


def test_an_artifact_counts_against_the_storage_quota_and_is_refused_over_it(cast, attempt):
    Quota.objects.filter(organisation=cast.a).update(max_storage_bytes=100)
    assert put_artifact(attempt, b"x" * 60).status_code == 201
    assert put_artifact(attempt, b"x" * 60).status_code == 200
    refused = put_artifact(attempt, b"y" * 41, name="predictions.npz")
    assert refused.status_code == 422
    facts = refused.json()
    assert (facts["code"], facts["limit_bytes"], facts["used_bytes"]) == ("quota_exceeded", 100, 60)
    assert facts["asked_bytes"] == 41
    assert used_bytes(cast.a) == 60
    assert attempt.artifacts.count() == 1


def test_a_job_whose_result_had_no_room_has_failed_for_good_with_the_reason(cast, attempt):
    message = "weights.safetensors: A may store 100 bytes and uses 60; this needs 41 more."
    failure = {"type": "failure", "at": 0, "cause": "storage_quota", "message": message, "traceback": ""}
    assert post(attempt, 0, failure).status_code == 200
    attempts.close_failed(attempt, cause=Cause.STORAGE_QUOTA, message="exit 72", now=timezone.now())
    shown = cast.client(cast.bob).get(f"/api/v1/jobs/{attempt.job_id}").json()
    assert (shown["state"], shown["failure"]["cause"], shown["failure"]["fault"]) == ("failed", "storage_quota", "user")
    assert message in shown["failure"]["message"]
    assert "larger quota" in shown["failure"]["remedy"]


def checkpoint(step, **more):
    report = {"type": "checkpoint", "at": 1.7e9, "step": step, "name": f"step-{step}", "size_bytes": 8}
    return report | {"write_s": 0.1, "stall_s": 0.1} | more


def test_a_job_has_at_most_so_many_checkpoints_and_the_oldest_that_is_not_pinned_makes_room(attempt, monkeypatch):
    monkeypatch.setattr(metrics_actions, "MAX_CHECKPOINTS", 3)
    post(attempt, 0, checkpoint(1))
    Checkpoint.objects.update(is_pinned=True)
    post(attempt, 1, *(checkpoint(step) for step in (2, 3)), checkpoint(3), *(checkpoint(step) for step in (4, 5)))
    assert list(Checkpoint.objects.order_by("step").values_list("step", flat=True)) == [1, 4, 5]


def test_a_checkpoint_is_reported_with_at_most_fifty_metrics(attempt):
    metrics = {f"eval/{i}": 0.5 for i in range(51)}
    refused = post(attempt, 0, checkpoint(1, metrics=metrics))
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "lines.0.metrics"), refused.content
    metrics.popitem()
    assert post(attempt, 0, checkpoint(1, metrics=metrics)).json() == {"next": 1}
