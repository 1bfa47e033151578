# SPDX-License-Identifier: Apache-2.0
"""A process is killed at every single commit of an operation; the next one, or a repeated request, sets it right."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.datasets.models import Dataset
from mlhub.events.models import Event
from mlhub.jobs import attempts
from mlhub.jobs.models import Artifact, Attempt, Job
from mlhub.metrics.models import LogLine, MetricPoint, SpeedSample
from mlhub.registry.models import ModelVersion
from mlhub.storage import actions as storage
from mlhub.storage.stores import blob_store
from tests.cast import Cast, make_cast
from tests.chaos.commits import killed_everywhere
from tests.chaos.invariants import check_everything
from tests.chaos.shared_backend import SharedBackend
from tests.control.worlds import World, node
from tests.datasets import files
from tests.jobs.builders import builtin, job, ready_dataset

MANY = 100  # several times as many as are looked at in a batch

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    return make_cast()


@pytest.fixture
def world(cast: Cast, tmp_path: Path) -> World:
    backend = SharedBackend([node("n0"), node("n1", "r1")], tmp_path / "backend")
    return World(cast, backend=backend, now=timezone.now())


def test_a_submission_that_was_killed_anywhere_is_repeated_and_makes_one_job(cast: Cast) -> None:
    body = {"dataset": str(ready_dataset(cast.project_a, cast.bob).dataset_id), "model": str(builtin().model_id)}
    key = ""

    def submit() -> Any:
        return cast.client(cast.bob).post("/api/v1/jobs", {**body, "name": key}, headers={"Idempotency-Key": key})

    places = []
    key = str(uuid4())
    for place in killed_everywhere(lambda: _ok(submit())):
        places.append(place)
        first, again = submit(), submit()
        assert first.status_code in (200, 201), place
        assert first.json()["id"] == again.json()["id"], place
        assert Job.objects.filter(name=key).count() == 1, place
        assert Event.objects.filter(kind="job.submitted", subject_id=first.json()["id"]).count() == 1, place
        check_everything()
        key = str(uuid4())
    assert "after a commit" in places
    assert Job.objects.filter(name=key).count() == 1


def _ok(answer: Any) -> None:
    assert answer.status_code in (200, 201), answer.content


def test_a_round_that_was_killed_anywhere_is_made_up_for_by_the_next_ones(world: World) -> None:
    """Launch: no job is lost, no gang is started twice, no GPU stays held."""
    backend = world.backend
    newest = world.job(name="first")
    for place in killed_everywhere(lambda: _round(world)):
        world.rounds(2)
        newest.refresh_from_db()
        assert newest.state == "running", place
        launched = [s for s in backend.launches if s.job_id == str(newest.pk)]
        assert len(launched) == newest.attempts.count() == 1, place
        check_everything()
        _finish(world, newest)
        newest = world.job(name=place)
    newest.refresh_from_db()
    assert newest.state in ("starting", "running")


def _round(world: World) -> None:
    world.round()


def _finish(world: World, of: Job) -> None:
    world.backend.finish(str(Attempt.objects.live().get(job=of).pk))
    world.rounds(2)
    of.refresh_from_db()
    assert of.state == "succeeded"


def test_an_attempt_whose_closing_was_killed_anywhere_is_closed_once_with_one_model(world: World) -> None:
    training = _trained_to_the_end(world, "first")
    for place in killed_everywhere(lambda: _round(world)):
        world.rounds(2)
        training.refresh_from_db()
        assert training.state == "succeeded", place
        assert ModelVersion.objects.filter(job_id=training.pk).count() == 1, place
        ends = Event.objects.filter(subject_id=training.pk, kind="job.state", facts__after="succeeded")
        assert ends.count() == 1, place
        check_everything()
        training = _trained_to_the_end(world, place)
    world.rounds(1)
    training.refresh_from_db()
    assert training.state == "succeeded"


def _trained_to_the_end(world: World, name: str) -> Job:
    """Its gang is done, has handed in its weights, and no round has seen it."""
    found = world.job(name=name)
    world.rounds(2)
    attempt = Attempt.objects.live().get(job=found)
    with blob_store().stage(limit_bytes=1000) as staging:
        staging.write(name.encode() + b" weights")
        blob = storage.keep(staging, place=world.cast.a, owner_kind="artifact", owner_id=attempt.id)
    Artifact.objects.create(attempt=attempt, name=attempts.WEIGHTS, blob=blob)
    world.backend.finish(str(attempt.pk))
    return found


def test_a_report_that_was_killed_anywhere_is_sent_again_and_every_point_is_there_once(cast: Cast) -> None:
    training = job(cast.project_a, cast.bob)
    attempt = attempts.open_attempt(
        training, mode="all_reduce", n_workers=1, n_servers=0, held=[attempts.Held("n0", (0,), 0)],
        predicted_step_s=0.1, reason="fits", now=timezone.now(),
    )  # fmt: skip
    assert attempt is not None
    first = 0

    def send(stream: str) -> Any:
        steps = range(first, first + 5)
        points = [
            {"type": "metrics", "step": i, "epoch": 0.0, "at": 1.7e9, "values": {"train/loss": float(i)}} for i in steps
        ]
        lines = points if stream == "reports" else [f"line {i}" for i in steps]
        body = {"version": 1, "role": "worker", "index": 0, "stream": stream, "first": first, "lines": lines}
        client = APIClient(headers={"Authorization": f"Bearer {attempts.token_of(attempt.id)}"})
        return client.post(f"/api/v1/ingest/attempts/{attempt.id}/reports", body)

    def send_both() -> None:
        for stream in ("reports", "log"):
            _ok(send(stream))

    for place in killed_everywhere(send_both):
        send_both()
        found = dict(MetricPoint.objects.filter(series__attempt=attempt).values_list("step", "value"))
        assert found == {i: float(i) for i in range(first + 5)}, place
        assert LogLine.objects.filter(attempt=attempt).count() == first + 5, place
        check_everything()
        first += 5
    assert first > 0


def test_many_progress_reports_of_one_batch_that_was_killed_anywhere_count_once(cast: Cast) -> None:
    training = job(cast.project_a, cast.bob)
    attempt = attempts.open_attempt(
        training, mode="all_reduce", n_workers=1, n_servers=0, held=[attempts.Held("n0", (0,), 0)],
        predicted_step_s=0.1, reason="fits", now=timezone.now(),
    )  # fmt: skip
    assert attempt is not None
    first = 0

    def progress(done: int) -> dict[str, Any]:
        return {
            "type": "progress", "at": 1.7e9 + done, "steps_done": done, "steps_total": 100_000, "epoch": done / 100,
            "n_workers": 1, "n_servers": 0, "batch_size": 32, "step_s": 0.5, "compute_s": 0.3, "sync_s": 0.1,
            "input_s": 0.1,
        }  # fmt: skip

    def send() -> None:
        lines = [progress(10 * (first + n)) for n in range(MANY)]
        body = {"version": 1, "role": "worker", "index": 0, "stream": "reports", "first": first, "lines": lines}
        client = APIClient(headers={"Authorization": f"Bearer {attempts.token_of(attempt.id)}"})
        _ok(client.post(f"/api/v1/ingest/attempts/{attempt.id}/reports", body))

    not_counted = set()
    for place in killed_everywhere(send):
        send()
        first += MANY
        training.refresh_from_db()
        assert training.steps_done == 10 * (first - 1), place
        not_counted.add(training.steps_done - SpeedSample.objects.get(attempt=attempt).n_steps)
        check_everything()
    assert len(not_counted) == 1  # those of the first interval, which warms up


def test_an_upload_that_was_killed_anywhere_is_there_whole_or_not_and_what_is_left_is_collected(cast: Cast) -> None:
    number = 0

    def upload() -> Any:
        content = files.csv() + f"{number},1,a\n".encode()
        form = files.form("d.csv", content, name=f"d{number}", project=cast.project_a.id)
        return cast.client(cast.bob).post("/api/v1/datasets", form, format="multipart")

    for place in killed_everywhere(lambda: _ok(upload())):
        there = Dataset.objects.filter(name=f"d{number}").count()
        answer = upload()
        assert answer.status_code == (409 if there else 201), place
        dataset = Dataset.objects.get(name=f"d{number}")
        [file] = dataset.versions.get().files
        assert blob_store().verify(file["sha256"]), place
        assert storage.Holding.objects.filter(blob=file["sha256"]).count() == 1, place
        check_everything()
        number += 1
    assert number > 0
    later = timezone.now() + timedelta(days=2)
    assert storage.Blob.objects.unheld_since(later).count() == 0
    assert hashlib.sha256(b"").hexdigest() not in {b.sha256 for b in storage.Blob.objects.all()}
