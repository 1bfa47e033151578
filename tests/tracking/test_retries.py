# SPDX-License-Identifier: Apache-2.0
"""A client that repeats a batch, because the server failed before or after it was stored, stores it once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from mlflow.entities import Metric, Param, RunTag

from mlhub.tracking import actions
from mlhub.tracking.api import runs
from mlhub.tracking.models import RunPoint, RunSeries
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)

POINTS = [Metric(f"m{key}", step / 3, 1_700_000_000_000 + step, step) for key in range(10) for step in range(90)]


@pytest.mark.parametrize("place", ["before it is stored", "within the transaction", "after it is stored"])
def test_a_batch_is_stored_once_whenever_the_server_fails(
    cast: Cast, acting: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    client = acting(cast.bob).MlflowClient()
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR", "0")
    run_id = client.create_run(str(cast.project_a.pk)).info.run_id
    failures = [OperationalError("terminating connection")]

    def fail() -> None:
        if failures:
            raise failures.pop()

    log_batch, set_tags = actions.log_batch, actions._set_tags

    def failing_log(*given: Any) -> None:
        if place == "before it is stored":
            fail()
        log_batch(*given)
        if place == "after it is stored":
            fail()

    def failing_tags(*given: Any) -> None:
        set_tags(*given)
        if place == "within the transaction":
            fail()

    monkeypatch.setattr(runs.actions, "log_batch", failing_log)
    monkeypatch.setattr(actions, "_set_tags", failing_tags)
    client.log_batch(run_id, metrics=POINTS, params=[Param("lr", "0.1")], tags=[RunTag("a", "b")])
    assert failures == []
    assert RunPoint.objects.count() == len(POINTS)
    assert {series.n_points for series in RunSeries.objects.all()} == {90}
    found = client.get_run(run_id).data
    assert (found.params, found.tags["a"], found.metrics["m3"]) == ({"lr": "0.1"}, "b", 89 / 3)
