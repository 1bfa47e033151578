# SPDX-License-Identifier: Apache-2.0
"""What the list of jobs says of running ones where `fields` names it: how much others slow them, and their traffic."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mlhub.clusters.models import Node, Rack
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState
from mlhub.metrics.models import SpeedSample
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.metrics.measurements.test_pairs import Pod, end, opened

pytestmark = pytest.mark.django_db
MEMBERS = "name,slowdown,network"
ALONE = {"ratio": 1.0, "basis": "alone", "resource": ""}


@pytest.fixture
def cast() -> Cast:
    Rack.objects.create(name="r0", uplink_bps=4e10)
    for name in ("n0", "n1"):
        Node.objects.create(
            name=name, rack_id="r0", gpu_type="V100", n_slots=16, cpus=8, memory_bytes=2**36, nic_bps=1e10,
            is_ready=True, is_schedulable=True, observed_at=timezone.now(),
        )  # fmt: skip
    return make_cast()


def running(cast: Cast, name: str, *places: tuple[str, tuple[int, ...]], **fields: Any) -> Pod:
    pod = Pod(opened(job(cast.project_a, cast.bob, name=name, **fields), *places))
    Job.objects.filter(pk=pod.attempt.job_id).update(state=JobState.RUNNING)
    return pod


def listed(cast: Cast, fields: str = MEMBERS, **query: str) -> dict[str, dict[str, Any]]:
    answer = cast.client(cast.bob).get("/api/v1/jobs", {"fields": fields, **query})
    assert answer.status_code == 200, answer.content
    return {row.pop("name"): row for row in answer.json()["results"]}


def test_a_running_job_says_what_its_worker_sends_a_second_and_zero_is_not_unmeasured(cast: Cast) -> None:
    ring = running(cast, "ring", ("n0", (0,)), ("n1", (0,)))
    silent = running(cast, "silent", ("n0", (1,)))
    job(cast.project_a, cast.bob, name="waits")
    assert {name: row["network"] for name, row in listed(cast).items()} == {"ring": None, "silent": None, "waits": None}
    ring.trains(3, step_s=0.2, bytes_sent=50e6, bytes_received=40e6)
    silent.trains(3, step_s=0.1, bytes_sent=0.0)
    found = {name: row["network"] for name, row in listed(cast).items()}
    assert found["ring"] == {"received_bytes_per_s": pytest.approx(200e6), "sent_bytes_per_s": pytest.approx(250e6)}
    assert found["silent"] == {"received_bytes_per_s": None, "sent_bytes_per_s": 0.0}
    assert found["waits"] is None
    SpeedSample.objects.update(updated_at=timezone.now() - timedelta(hours=1))
    assert listed(cast)["ring"]["network"] is None  # nothing is known of now


def test_a_running_job_says_how_much_others_slow_it(cast: Cast) -> None:
    one = running(cast, "one", ("n0", (0,)))
    one.trains(5, step_s=0.1)
    assert listed(cast)["one"]["slowdown"] == ALONE
    other = running(cast, "other", ("n0", (0,)), hyperparameters={"width": 5})
    for _ in range(3):
        other.trains(2, step_s=0.3)
        one.trains(2, step_s=0.15)
    found = {name: row["slowdown"] for name, row in listed(cast).items()}
    assert found == {"one": {"ratio": pytest.approx(1.5), "basis": "measured", "resource": "gpu"}, "other": None}
    end(one.attempt)
    Job.objects.filter(pk=one.attempt.job_id).update(state=JobState.FAILED)
    assert {name: row["slowdown"] for name, row in listed(cast).items()} == {"one": None, "other": ALONE}


def test_a_job_of_others_slows_and_is_not_listed(cast: Cast) -> None:
    one = running(cast, "one", ("n0", (0,)))
    one.trains(5, step_s=0.1)
    theirs = Pod(opened(job(cast.project_b, cast.charlie, name="theirs", hyperparameters={"width": 5}), ("n0", (0,))))
    for _ in range(3):
        theirs.trains(2, step_s=0.3)
        one.trains(2, step_s=0.15)
    assert listed(cast) == {
        "one": {"slowdown": {"ratio": pytest.approx(1.5), "basis": "measured", "resource": "gpu"}, "network": None}
    }


def test_only_those_who_name_it_get_it_and_pay_for_it(cast: Cast) -> None:
    running(cast, "one", ("n0", (0,))).trains(3, step_s=0.1, bytes_sent=1e6)
    client = cast.client(cast.bob)
    (whole,) = client.get("/api/v1/jobs").json()["results"]
    assert not {"slowdown", "network"} & set(whole)
    assert not {"slowdown", "network"} & set(client.get(f"/api/v1/jobs/{whole['id']}").json())
    with CaptureQueriesContext(connection) as usual:
        client.get("/api/v1/jobs", {"fields": "id,name"})
    assert not [query for query in usual if "metrics_speedsample" in query["sql"]]
    queue = client.get("/api/v1/queue", {"fields": "slowdown"})  # what waits has none
    assert (queue.status_code, queue.json()["errors"][0]["field"]) == (400, "fields")


def test_more_running_jobs_take_no_more_queries(cast: Cast) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as found:
            listed(cast)
        return len(found)

    def more(first: int, last: int) -> None:
        for at in range(first, last):
            running(cast, f"j{at}", ("n0", (at,)), ("n1", (at,))).trains(1, step_s=0.1, bytes_sent=1e6)

    more(0, 3)
    asked()  # the first request fills caches
    n_before = asked()
    more(3, 12)
    assert asked() == n_before
