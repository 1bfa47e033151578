# SPDX-License-Identifier: Apache-2.0
"""Pods that are started twice, that report lies, or whose clock and the platform's differ; an API that is long away."""

from __future__ import annotations

import json
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.core.api import operations
from mlhub.jobs import attempts
from mlhub.jobs.models import Artifact, Attempt, Job
from mlhub.metrics.models import LogLine, MetricPoint
from mlhub.runtime.launcher import shipping
from mlhub.runtime.launcher.ingest_api import IngestUnavailableError
from tests.cast import Cast, make_cast
from tests.chaos.invariants import check_everything
from tests.control.worlds import World, state
from tests.jobs.builders import job, live_attempt
from tests.metrics.test_ingest import metric, post, progress
from tests.recovery.conftest import launch


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


def put(attempt: Attempt, name: str, content: bytes, *, sha256: str) -> Any:
    headers = {"Authorization": f"Bearer {attempts.token_of(attempt.id)}", "X-Content-SHA256": sha256}
    client = APIClient(headers=headers)
    address = f"/api/v1/ingest/attempts/{attempt.id}/artifacts/{name}"
    return client.put(address, content, content_type="application/octet-stream")


@pytest.mark.slow
def test_twins_of_one_pod_store_every_line_and_point_once(cast: Cast) -> None:
    """Kubernetes may start the same pod twice; both have its token and send the same numbers at the same time."""
    attempt, n = launch(job(cast.project_a, cast.bob)), 40
    both = threading.Barrier(2, timeout=120)
    answers: list[int] = []
    operations._operation.cache_clear()  # as in a web server that has just been started

    def twin(name: str) -> None:
        both.wait()
        for first in range(0, n, 4):
            lines = [f"{name} {i}" for i in range(first, first + 4)]
            points = [metric(i, loss=float(i)) for i in range(first, first + 4)]
            answers.append(post(attempt, first, *lines, stream="log").status_code)
            answers.append(post(attempt, first, *points).status_code)
        connection.close()

    threads = [threading.Thread(target=twin, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(answers) == {200}
    numbers = LogLine.objects.filter(attempt=attempt).order_by("number").values_list("number", flat=True)
    assert list(numbers) == list(range(n))
    assert MetricPoint.objects.filter(series__attempt=attempt).count() == n
    check_everything()


def test_everything_that_a_fenced_attempt_sends_is_refused_and_changes_nothing(cast: Cast) -> None:
    training = job(cast.project_a, cast.bob)
    zombie = launch(training)
    attempts.close_failed(zombie, cause=attempts.Cause.NODE_LOST, message="gone", now=timezone.now())
    successor = launch(training)
    before = Job.objects.values().get(pk=training.pk)
    sent = [
        post(zombie, 0, metric(1, loss=9.0)),
        post(zombie, 0, progress(999)),
        post(zombie, 0, "a line", stream="log"),
        put(zombie, "weights.safetensors", b"zombie", sha256="0" * 64),
    ]
    assert [answer.status_code for answer in sent] == [410] * 4
    assert Job.objects.values().get(pk=training.pk) == before
    assert not MetricPoint.objects.exists()
    assert not LogLine.objects.exists()
    assert not Artifact.objects.exists()
    assert live_attempt(training) == successor
    check_everything()


def test_a_pod_that_lies_moves_no_job_and_reaches_no_other_attempt(cast: Cast) -> None:
    own, other = launch(job(cast.project_a, cast.bob)), launch(job(cast.project_b, cast.charlie), node="n1")
    lies: list[tuple[Any, set[int]]] = [
        (post(other, 0, metric(1, loss=1.0), token=attempts.token_of(own.id)), {401}),
        (post(own, 0, {"type": "result", "at": 1.7e9, "steps": -5, "metrics": {}, "artifacts": {}}), {400, 422}),
        (post(own, 0, {"type": "metrics", "step": 2**60, "epoch": 0, "at": 0, "values": {"x": 1}}), {400, 422}),
        (post(own, 0, metric(1, loss=1.0), index=7), {400, 422}),
        (post(own, 0, metric(1, loss=1.0), role="server"), {400, 422}),
        (put(own, "weights.safetensors", b"other bytes", sha256="0" * 64), {400, 422}),
    ]
    assert [answer.status_code in accepted for answer, accepted in lies] == [True] * len(lies)
    done = {"type": "result", "at": 1.7e9, "steps": 1000, "metrics": {"accuracy": 1.0}, "artifacts": {}}
    assert post(own, 0, done).status_code == 200  # its word, which moves no state: the backend has seen no end
    assert state(own.job) == "starting"
    assert not MetricPoint.objects.exists()
    check_everything()


@pytest.mark.parametrize("skew_s", [-300, 300])
def test_a_pod_s_clock_that_is_five_minutes_off_loses_no_point_and_moves_no_deadline(cast: Cast, skew_s: int) -> None:
    attempt = launch(job(cast.project_a, cast.bob))
    at = timezone.now().timestamp() + skew_s
    stalled = {
        "type": "phase",
        "phase": "stalled",
        "at": at,
        "since_start_s": 5.0,
        "detail": {"still_s": 1.0, "step": 3},
    }
    assert post(attempt, 0, {**metric(1, loss=1.0), "at": at}, {**progress(1), "at": at}, stalled).status_code == 200
    assert MetricPoint.objects.count() == 1
    attempt.job.refresh_from_db()
    assert abs((timezone.now() - attempt.job.progress_at).total_seconds()) < 60
    assert (timezone.now() - attempt.stall_records.get().since).total_seconds() < 60


@pytest.mark.slow
@pytest.mark.parametrize("skew_s", [-300, 300])
def test_the_platform_s_clock_that_jumps_five_minutes_ends_no_gang(cast: Cast, skew_s: int) -> None:
    world = World(cast)
    training = world.job()
    world.rounds(2)
    world.now += timedelta(seconds=skew_s)
    world.rounds(3)
    assert (state(training), training.attempts.count()) == ("running", 1)
    world.backend.finish(str(live_attempt(training).pk))
    world.rounds(2)
    assert state(training) == "succeeded"
    check_everything()


class AwayFor:
    """An ingest API that cannot be reached for some virtual seconds, and then forgets nothing."""

    def __init__(self, away_s: float) -> None:
        self.now, self.away_s, self.n_refused = 0.0, away_s, 0
        self.on_profile = None  # nobody asks for one
        self.lines: dict[str, list[Any]] = {}

    def send_lines(self, *, role: str, index: int, stream: str, first: int, lines: list[Any]) -> int:
        if self.now < self.away_s:
            self.n_refused += 1
            raise IngestUnavailableError("away")
        known = self.lines.setdefault(stream, [])
        known.extend(lines[len(known) - first :])
        return len(known)


@pytest.mark.slow
def test_what_a_pod_reports_while_the_api_is_away_for_five_minutes_arrives_once_and_in_order(tmp_path: Path) -> None:
    api, n = AwayFor(300.0), 20_000
    reports, log = tmp_path / "reports", tmp_path / "log"
    for path in (reports, log):
        path.touch()
    shipper = shipping.Shipper(api, role="worker", index=0, reports=reports, log=log, on_final=lambda _: None)  # type: ignore[arg-type]

    class Clock:
        """The shipper's pauses: the virtual clock moves on, and the trainer has written more meanwhile."""

        written = 0
        is_over = False

        def is_set(self) -> bool:
            return self.is_over

        def wait(self, timeout: float) -> bool:
            api.now += timeout
            more = range(self.written, min(n, self.written + 400))
            with reports.open("a") as points, log.open("a") as lines:
                for i in more:
                    points.write(json.dumps({"step": i}) + "\n")
                    lines.write(f"line {i}\n")
            self.written += len(more)
            self.is_over = api.now > api.away_s + 60 and self.written == n
            return self.is_over

    shipper._is_ending = Clock()  # type: ignore[assignment]
    shipper.run()
    assert api.n_refused > 50
    assert api.lines["reports"] == [{"step": i} for i in range(n)]
    assert api.lines["log"] == [f"line {i}" for i in range(n)]
