# SPDX-License-Identifier: Apache-2.0
"""Models of MLflow's unchanged clients: logged, registered, named by aliases, loaded, and seen as MLHub's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlhub.registry.models import Model, ModelVersion
from mlhub.tenants.actions import create_token
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)

SESSION = Path(__file__).parent / "model_session.py"
# Pythons of environments with further versions of mlflow-skinny, such as 2.9.2, separated by colons
FURTHER = [python for python in os.environ.get("MLHUB_TEST_MLFLOW_PYTHONS", "").split(":") if python]


@pytest.mark.parametrize("python", [sys.executable, *FURTHER])
def test_a_whole_session_with_models(cast: Cast, live_server: Any, python: str) -> None:
    _, token = create_token(cast.bob, name="mlflow", scopes=["read", "write"], expires_in_days=1)
    variables = {
        **os.environ, "MLFLOW_TRACKING_URI": live_server.url, "MLFLOW_TRACKING_TOKEN": token,
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    }  # fmt: skip
    done = subprocess.run(
        [python, str(SESSION)], env=variables, cwd=SESSION.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["done"]), done.stderr
