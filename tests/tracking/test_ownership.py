# SPDX-License-Identifier: Apache-2.0
"""Members do not change each other's jobs or take away what others logged; deleted runs go for good in the end."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.metrics.models import MetricPoint
from mlhub.retention.tasks import remove_expired
from mlhub.storage.models import Holding
from mlhub.storage.stores import blob_store
from mlhub.tenants.models import Membership, User
from mlhub.tracking import actions, artifacts
from mlhub.tracking.access import Caller
from mlhub.tracking.limits import LogBatch, LoggedPoint
from mlhub.tracking.models import Run, RunPoint
from tests.cast import Cast, make_cast
from tests.jobs.builders import job
from tests.tracking.test_access import MLFLOW, log, token_client
from tests.tracking.test_jobs import opened

pytestmark = pytest.mark.django_db
FILES = "/api/2.0/mlflow-artifacts/artifacts"


@pytest.fixture
def cast(db: Any) -> Cast:
    return make_cast()


@pytest.fixture
def other(cast: Cast) -> User:
    """A second member of bob's organisation."""
    found = User.objects.create(username="mallory")
    Membership.objects.create(user=found, organisation=cast.a, role="member")
    return found


@pytest.fixture
def run(cast: Cast) -> Run:
    return Run.objects.create(project=cast.project_a, name="r", created_by=cast.bob, started_ms=1)


def put(client: APIClient, target: Any, content: bytes) -> int:
    address = f"{FILES}/{target.project_id}/{target.pk}/artifacts/a.txt"
    return client.put(address, content, content_type="text/plain").status_code


def test_only_who_submitted_a_job_and_admins_log_to_it(cast: Cast, other: User) -> None:
    of = opened(job(cast.project_a, cast.bob, name="t")).job
    stranger = token_client(other)
    assert log(stranger, of).status_code == 403
    assert put(stranger, of, b"x") == 403
    tag = {"run_id": str(of.pk), "key": "a", "value": "b"}
    assert stranger.post(f"{MLFLOW}/runs/set-tag", tag).status_code == 403
    assert not MetricPoint.objects.exists()
    assert log(token_client(cast.bob), of).status_code == 200
    assert log(token_client(cast.alice), of).status_code == 200


def test_a_member_logs_to_another_s_run_and_takes_nothing_away(cast: Cast, other: User, run: Run) -> None:
    stranger, owner = token_client(other), token_client(cast.bob)
    assert log(stranger, run).status_code == 200
    assert put(owner, run, b"first") == 200
    assert put(stranger, run, b"first") == 200
    assert put(stranger, run, b"other") == 403
    assert stranger.delete(f"{FILES}/{run.project_id}/{run.pk}/artifacts/a.txt").status_code == 403
    assert stranger.post(f"{MLFLOW}/runs/delete", {"run_id": str(run.pk)}).status_code == 403
    assert list(artifacts.files(run)) == ["a.txt"]
    assert owner.delete(f"{FILES}/{run.project_id}/{run.pk}/artifacts/a.txt").status_code == 200


def test_bytes_of_who_may_not_write_are_not_read(cast: Cast, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    staged: list[int] = []
    store = type(blob_store())
    stage = store.stage
    monkeypatch.setattr(store, "stage", lambda *given, **named: staged.append(1) or stage(*given, **named))
    assert put(token_client(cast.victor), run, b"x") == 403
    assert staged == []
    assert put(token_client(cast.bob), run, b"x") == 200
    assert staged == [1]


def test_an_artifact_is_not_stored_in_a_deleted_run_and_the_row_is_locked_after_the_upload(
    cast: Cast, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    keep, locked = type(blob_store()).keep, artifacts.locked
    monkeypatch.setattr(type(blob_store()), "keep", lambda *given: order.append("keep") or keep(*given))
    monkeypatch.setattr(artifacts, "locked", lambda one: order.append("lock") or locked(one))
    assert put(token_client(cast.bob), run, b"x") == 200
    assert order == ["keep", "lock"]
    Run.objects.update(deleted_at=timezone.now())
    assert put(token_client(cast.bob), run, b"y") == 400


def test_a_run_that_was_deleted_by_a_client_is_removed_for_good_by_hand_or_in_time(
    cast: Cast, run: Run, settings: Any
) -> None:
    actions.log_batch(Caller(cast.bob), run, LogBatch([LoggedPoint("a", 1.0, 1, step) for step in range(5)]))
    assert put(token_client(cast.bob), run, b"x") == 200
    late = Run.objects.create(project=cast.project_a, name="late", created_by=cast.bob, started_ms=1)
    Run.objects.update(deleted_at=timezone.now() - timedelta(days=29))
    client = cast.client(cast.bob)
    assert client.get(f"/api/v1/runs/{late.pk}").status_code == 404
    assert client.delete(f"/api/v1/runs/{late.pk}").status_code == 204
    assert "deleted_runs" not in remove_expired()
    assert Run.objects.get() == run
    settings.KEPT_DAYS = {**settings.KEPT_DAYS, "deleted_runs": 28.0}
    assert remove_expired(batch=2)["deleted_runs"] == 6
    assert not Run.objects.exists()
    assert not RunPoint.objects.exists()
    assert not Holding.objects.filter(owner_kind="run").exists()
