# SPDX-License-Identifier: Apache-2.0
"""What Prometheus reads, by the address that it reads."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from mlhub.clusters.models import Node, Rack
from mlhub.control.models import QuarantineRecord, Round, SchedulerState
from mlhub.jobs.models import Attempt
from mlhub.jobs.states import JobState
from tests.cast import make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db


def read(**headers: str) -> dict[tuple[str, ...], float]:
    """Samples by name and label values, by the labels' names."""
    answer = Client(headers=headers).get("/metrics")
    assert answer.status_code == 200
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }


def test_an_empty_platform_shows_no_jobs() -> None:
    found = read()
    assert found["mlhub_jobs", "queued"] == found["mlhub_jobs", "running"] == 0
    assert found["mlhub_job_wait_seconds_count",] == 0


def test_jobs_gpus_and_waits_are_counted() -> None:
    cast = make_cast()
    now = timezone.now()
    rack = Rack.objects.create(name="r", uplink_bps=1e9)
    for name, is_ready in (("a", True), ("b", False)):
        Node.objects.create(
            name=name, rack=rack, gpu_type="t4", n_slots=4, cpus=8, memory_bytes=1, nic_bps=1e9, is_ready=is_ready,
            observed_at=now,
        )  # fmt: skip
    waits = job(cast.project_a, cast.bob)
    type(waits).objects.filter(pk=waits.pk).update(reason="no_free_gpus")
    runs = job(cast.project_a, cast.bob)
    type(runs).objects.filter(pk=runs.pk).update(
        state=JobState.RUNNING, submitted_at=now - timedelta(seconds=45), started_at=now
    )
    Attempt.objects.create(job=runs, number=1, mode="all_reduce", n_workers=3, token_hash="x")
    Round.objects.create(at=now - timedelta(seconds=5), policy="mlhub", snapshot={}, decide_ms=12.0)
    SchedulerState.objects.create(round_at=now - timedelta(seconds=5), attempted_at=now - timedelta(seconds=5))
    seen = {"since": now, "last_seen_at": now}
    QuarantineRecord.objects.create(kind="node", name="c", reason="its nic_bps is 0", **seen)
    QuarantineRecord.objects.create(kind="node", name="d", reason="it was so", ended_at=now, **seen)
    found = read()
    assert found["mlhub_jobs", "queued"] == found["mlhub_jobs", "running"] == 1
    assert (found["mlhub_quarantined_items", "node"], found["mlhub_quarantined_items", "job"]) == (1, 0)
    assert found["mlhub_rounds_stopped",] == 0
    assert found["mlhub_waiting_jobs", "no_free_gpus"] == 1
    assert (found["mlhub_gpus", "usable", "t4"], found["mlhub_gpus", "closed", "t4"]) == (4, 4)
    assert found["mlhub_gpus_held", cast.project_a.organisation.name] == 3
    assert found["mlhub_job_wait_seconds_bucket", "30"] == 0
    assert found["mlhub_job_wait_seconds_bucket", "60"] == 1
    assert found["mlhub_job_wait_seconds_sum",] == pytest.approx(45, abs=0.1)
    assert found["mlhub_round_decide_seconds",] == pytest.approx(0.012)
    assert 5 <= found["mlhub_round_age_seconds",] < 60


def test_strangers_need_the_token(settings) -> None:
    assert Client(REMOTE_ADDR="10.0.0.9").get("/metrics").status_code == 403
    assert Client(headers={"x-forwarded-for": "10.0.0.9"}).get("/metrics").status_code == 403
    settings.METRICS_TOKEN = "long and random"
    assert Client().get("/metrics").status_code == 403
    assert Client(headers={"authorization": "Bearer wrong"}).get("/metrics").status_code == 403
    assert read(authorization="Bearer long and random")
