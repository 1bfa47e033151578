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
from mlflow.exceptions import MlflowException
from requests import HTTPError
from rest_framework.test import APIClient

from mlhub.jobs.models import Attempt
from mlhub.registry.models import Model, ModelVersion
from mlhub.storage.models import Holding
from mlhub.tenants.actions import create_project, create_token
from mlhub.tracking.models import LoggedModel, Run
from tests.cast import Cast
from tests.jobs.builders import job, ready_dataset
from tests.tracking.model_session import loaded, log_model
from tests.tracking.test_jobs import opened

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

SESSION = Path(__file__).parent / "model_session.py"
# Pythons of environments with further versions of mlflow-skinny, such as 2.9.2, separated by colons
FURTHER = [python for python in os.environ.get("MLHUB_TEST_MLFLOW_PYTHONS", "").split(":") if python]


@pytest.mark.parametrize("python", [sys.executable, *FURTHER])
def test_a_whole_session_with_models(cast: Cast, live_server: Any, python: str) -> None:
    _, token = create_token(cast.bob, name="mlflow", scopes=["read", "write"], expires_in_days=1)
    variables = {
        **os.environ, "MLFLOW_TRACKING_URI": live_server.url, "MLFLOW_TRACKING_TOKEN": token,
        "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0", "MLFLOW_HTTP_REQUEST_TIMEOUT": "600",
    }  # fmt: skip
    done = subprocess.run(
        [python, str(SESSION)], env=variables, cwd=SESSION.parent, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["done"]), done.stderr


def test_a_registered_model_is_one_of_mlhub_s_with_files_aliases_and_lineage(
    cast: Cast, acting: Callable[..., Any]
) -> None:
    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    with mlflow.start_run() as run:
        info = log_model([1], registered_model_name="net")
    mlflow.MlflowClient().set_registered_model_alias("net", "Best", "1")
    browser = APIClient()
    browser.force_login(cast.victor)
    [model] = [one for one in browser.get("/api/v1/models?builtin=false").json()["results"] if one["name"] == "net"]
    assert (model["project"]["name"], model["n_logged"], model["latest_version"]) == ("vision", 1, None)
    [version] = browser.get(f"/api/v1/models/{model['id']}/versions").json()["results"]
    assert (version["source"], version["kind"], version["state"]) == ("logged", "mlflow", "ready")
    assert version["aliases"] == ["best"]
    assert version["metadata"]["mlflow"]["run_id"] == run.info.run_id
    listed = browser.get(f"/api/v1/model-versions/{version['id']}/files").json()
    assert [one["path"] for one in listed] == ["MLmodel", "data/weights.json"]
    answer = browser.get(f"/api/v1/model-versions/{version['id']}/files/data/weights.json")
    assert b"".join(answer.streaming_content) == b"[1]"
    # the version has files of its own: neither the run nor the logged model takes them away
    mlflow.MlflowClient().delete_logged_model(info.model_id)
    Run.objects.all().delete()
    assert not LoggedModel.objects.exists()
    assert loaded("models:/net@best") == [1]
    browser.force_login(cast.charlie)
    assert browser.get(f"/api/v1/model-versions/{version['id']}/files").status_code == 404
    assert browser.get(f"/api/v1/model-versions/{version['id']}/files/MLmodel").status_code == 404
    mlflow.MlflowClient().delete_registered_model_alias("net", "best")
    mlflow.MlflowClient().delete_registered_model("net")
    assert not Holding.objects.filter(owner_kind__in=["model_version", "logged_model"]).exists()


def test_it_is_not_trained_and_does_not_predict(cast: Cast, acting: Callable[..., Any]) -> None:
    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    with mlflow.start_run():
        log_model([1], registered_model_name="net")
    version = ModelVersion.objects.get(source="logged")
    dataset = ready_dataset(cast.project_a, cast.bob)
    browser = APIClient()
    browser.force_login(cast.bob)
    for kind in ("train", "predict"):
        asked = {"kind": kind, "dataset_version": str(dataset.pk), "model_version": str(version.pk)}
        refused = browser.post("/api/v1/jobs", asked, format="json")
        assert refused.status_code == 422, refused.json()
        assert "MLflow" in refused.json()["detail"]


def refuses_changes(client: Any, model_id: str, run: Any, *, code: str) -> None:
    for act in (
        lambda: client.finalize_logged_model(model_id, "READY"),
        lambda: client.delete_logged_model(model_id),
        lambda: client.create_logged_model(run.experiment_id, name="x", source_run_id=run.run_id),
        lambda: client.create_model_version("net", f"models:/{model_id}"),
        lambda: client.set_registered_model_alias("net", "best", "1"),
        lambda: client.set_registered_model_tag("net", "a", "b"),
        lambda: client.set_model_version_tag("net", "1", "a", "b"),
        lambda: client.update_registered_model("net", "x"),
        lambda: client.rename_registered_model("net", "y"),
        lambda: client.transition_model_version_stage("net", "1", "Production"),
        lambda: client.delete_model_version("net", "1"),
        lambda: client.delete_registered_model("net"),
        lambda: client.set_experiment_tag(run.experiment_id, "a", "b"),
    ):
        with pytest.raises(MlflowException) as caught:
            act()
        assert caught.value.error_code == code, str(caught.value)


def test_others_see_and_change_nothing(cast: Cast, acting: Callable[..., Any]) -> None:
    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    with mlflow.start_run() as run:
        info = log_model([1], registered_model_name="net")
    location = mlflow.get_logged_model(info.model_id).artifact_location
    for person, code in ((cast.charlie, "RESOURCE_DOES_NOT_EXIST"), (cast.victor, "PERMISSION_DENIED")):
        refuses_changes(acting(person).MlflowClient(), info.model_id, run.info, code=code)
    client = acting(cast.charlie).MlflowClient()
    assert list(client.search_registered_models()) == []
    assert list(client.search_model_versions()) == []
    with pytest.raises(HTTPError, match="404"):
        mlflow.artifacts.download_artifacts(location)
    assert ModelVersion.objects.get(source="logged").labels == {}


def test_a_model_of_several_projects_is_named_with_its_project(cast: Cast, acting: Callable[..., Any]) -> None:
    create_project(cast.a, name="speech", actor=cast.alice)
    mlflow = acting(cast.bob)
    client = mlflow.MlflowClient()
    with pytest.raises(MlflowException, match=r"project\.name"):
        client.create_registered_model("net")
    for name in ("vision", "speech"):
        mlflow.set_experiment(name)
        with mlflow.start_run():
            log_model([name], registered_model_name=f"{name}.net")
    assert loaded("models:/vision.net/1") == ["vision"]
    assert loaded("models:/speech.net/1") == ["speech"]
    with pytest.raises(MlflowException, match=r"vision\.net|speech\.net"):
        client.get_registered_model("net")
    assert sorted(one.name for one in client.search_registered_models()) == ["speech.net", "vision.net"]
    with mlflow.start_run():  # without a project the name goes to where was logged last
        log_model([1], registered_model_name="other")
    assert Model.objects.get(name="other").project.name == "speech"


def test_pods_register_what_they_logged_and_take_nothing_away(
    cast: Cast, acting: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    with mlflow.start_run():
        other = log_model([0], registered_model_name="net")
    attempt: Attempt = opened(job(cast.project_a, cast.bob, name="training"))
    mlflow = acting(attempt)
    monkeypatch.setenv("MLFLOW_RUN_ID", str(attempt.job_id))
    client = mlflow.MlflowClient()
    with mlflow.start_run():
        info = log_model([1], registered_model_name="net")
    client.set_registered_model_alias("net", "candidate", "2")
    assert loaded("models:/net@candidate") == [1]
    assert loaded("models:/net/1") == [0]  # of its project
    version = ModelVersion.objects.get(model__name="net", number=2)
    assert version.metadata["mlflow"]["job_id"] == str(attempt.job_id)
    assert mlflow.get_run(str(attempt.job_id)).outputs.model_outputs[0].model_id == info.model_id
    for act in (
        lambda: client.set_registered_model_alias("net", "candidate", "1"),
        lambda: client.delete_model_version("net", "2"),
        lambda: client.delete_registered_model("net"),
        lambda: client.rename_registered_model("net", "mine"),
        lambda: client.delete_registered_model_alias("net", "candidate"),
        lambda: client.delete_experiment(str(cast.project_a.pk)),
    ):
        with pytest.raises(MlflowException) as caught:
            act()
        assert caught.value.error_code == "PERMISSION_DENIED"
    with pytest.raises(MlflowException, match="no logged model"):
        mlflow.get_logged_model(other.model_id)
