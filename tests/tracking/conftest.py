# SPDX-License-Identifier: Apache-2.0
"""Unchanged clients of MLflow, each as one of the cast."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mlhub.jobs.models import Attempt
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import User
from tests.cast import Cast, make_cast

Client = Any
# its thread changes the environment while other threads read it, which Python does not allow for
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")


@pytest.fixture
def cast(db: Any) -> Cast:
    return make_cast()


@pytest.fixture
def acting(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Client]]:
    """acting(user, scopes=...) makes mlflow speak to the platform as that person; acting(attempt) as that attempt's
    pods. Returns mlflow."""
    import mlflow

    from mlhub.jobs.execution.credentials import tracking_token_of

    def become(who: User | Attempt, **limits: Any) -> Client:
        while mlflow.active_run() is not None:
            mlflow.end_run()
        if isinstance(who, Attempt):
            address, token = f"{live_server.url}/api/v1/ingest/attempts/{who.pk}", tracking_token_of(who.pk)
        else:
            scopes = limits.pop("scopes", ["read", "write"])
            _, token = create_token(who, name="mlflow", scopes=scopes, expires_in_days=1, **limits)
            address = live_server.url
        monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", token)
        mlflow.set_tracking_uri(address)
        return mlflow

    for name, value in {"MAX_RETRIES": "0", "REQUEST_TIMEOUT": "600"}.items():
        monkeypatch.setenv(f"MLFLOW_HTTP_REQUEST_{name}", value)
    yield become
    while mlflow.active_run() is not None:
        mlflow.end_run()
    mlflow.set_tracking_uri(None)
    mlflow.tracking.fluent._active_experiment_id = None
