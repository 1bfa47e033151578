# SPDX-License-Identifier: Apache-2.0
"""A job is a run of its own: its pods log to it with a credential that reaches no more than that."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
from django.utils import timezone
from mlflow.exceptions import MlflowException

from mlhub.control.pods.launch_specs import launch_spec
from mlhub.environments.secrets import put_secret
from mlhub.jobs import attempts
from mlhub.jobs.models import Artifact, Attempt, Job
from mlhub.metrics.measurements.stalls import record_stall
from mlhub.metrics.models import MetricPoint, Series, StallRecord
from mlhub.metrics.points.curves import curves
from mlhub.registry.models import Model, ModelVersion
from mlhub.tracking.models import Run
from mlhub.wire.report import PhaseReport, metric_name
from tests.cast import Cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db(transaction=True)


def opened(of: Job) -> Attempt:
    of.refresh_from_db()
    found = attempts.open_attempt(
        of, mode="all_reduce", n_workers=1, n_servers=0, held=[attempts.Held("n0", (0,), 0)], predicted_step_s=None,
        reason="fits", now=timezone.now(),
    )  # fmt: skip
    assert found is not None
    return found


@pytest.fixture
def attempt(cast: Cast) -> Attempt:
    return opened(job(cast.project_a, cast.bob, name="training", hyperparameters={"lr": 0.5}))


def test_secrets_are_masked_in_what_a_pod_logs(
    cast: Cast, acting: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "hf_AbC-dEf+12/34=%Zz9"
    put_secret(cast.project_a, name="HF_TOKEN", value=token, actor=cast.bob)
    attempt = opened(job(cast.project_a, cast.bob, name="training", secrets=["HF_TOKEN"]))
    mlflow = acting(attempt)
    monkeypatch.setenv("MLFLOW_RUN_ID", str(attempt.job_id))
    with mlflow.start_run():
        mlflow.log_params({"token": token, "environment": f"HF_TOKEN={token} LR=1", "lr": 0.5})
        mlflow.log_metric(f"m/{metric_name(token)}", 1.0, step=1)
        mlflow.set_tag("auth", base64.b64encode(token.encode()).decode())
        data = mlflow.data.from_pandas(pandas.DataFrame({"x": [1.0]}), source=f"https://x/{token}", name=f"of {token}")
        mlflow.log_input(data)
    client = mlflow.MlflowClient()
    made = client.create_run(str(cast.project_a.pk), run_name=f"with {token}").info
    assert (made.run_name, Run.objects.get(pk=made.run_id).name) == ("with ***", "with ***")
    client.update_run(made.run_id, name=f"now {token}")
    assert Run.objects.get(pk=made.run_id).name == "now ***"
    said = {"key": token}
    model = client.create_logged_model(str(cast.project_a.pk), name=f"net {token}", params=said, tags=said)
    assert (model.name, model.params, model.tags["key"]) == ("net ***", {"key": "***"}, "***")
    run = Run.objects.get(pk=attempt.job_id)
    assert token not in str(list(run.datasets.values("name", "description", "tags")))
    assert run.datasets.get().name == "of ***"
    assert dict(run.params.values_list("key", "value")) == {
        "token": "***", "environment": "HF_TOKEN=*** LR=1", "lr": "0.5"
    }  # fmt: skip
    assert "m/masked" in dict(curves(attempt.job_id, key=None, max_points=10))
    assert run.tags.get(key="auth").value.startswith("***")


@pytest.mark.slow
def test_what_a_pod_logs_is_the_job_s(
    cast: Cast, attempt: Attempt, acting: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mlflow = acting(attempt)
    monkeypatch.setenv("MLFLOW_RUN_ID", str(attempt.job_id))
    mlflow.set_experiment("my own name for it")
    (tmp_path / "report.txt").write_text("well")
    with mlflow.start_run():
        mlflow.log_params({"optimiser": "sgd"})
        for step in range(3):
            mlflow.log_metric("loss", 3 - step, step=step)
        mlflow.log_metrics({"val/accuracy": 0.5, "broken": float("nan")}, step=2)
        mlflow.log_artifact(str(tmp_path / "report.txt"), "texts")
        mlflow.set_tag("stage", "trial")
    found = dict(curves(attempt.job_id, key=None, max_points=10))
    assert [(p.step, p.value) for p in found["train/loss"]] == [(0, 3.0), (1, 2.0), (2, 1.0)]
    assert sorted(found) == ["train/loss", "val/accuracy"]
    of_job = Job.objects.get(pk=attempt.job_id)
    assert (of_job.state, of_job.finished_at) == ("starting", None)  # whatever the client said of the end of its run
    assert of_job.result_metrics == {"train/loss": 1.0, "val/accuracy": 0.5}
    assert list(Artifact.objects.values_list("name", flat=True)) == ["output/texts/report.txt"]
    seen = acting(cast.victor, scopes=["read"]).get_run(str(attempt.job_id))
    assert (seen.info.run_name, seen.info.status, seen.data.tags["stage"]) == ("training", "RUNNING", "trial")
    assert (seen.data.params["optimiser"], seen.data.params["lr"]) == ("sgd", "0.5")
    assert (seen.data.metrics["loss"], seen.data.metrics["train/loss"]) == (1.0, 1.0)
    client = acting(cast.victor, scopes=["read"]).MlflowClient()
    assert [p.value for p in client.get_metric_history(str(attempt.job_id), "loss")] == [3.0, 2.0, 1.0]
    assert [file.path for file in client.list_artifacts(str(attempt.job_id), "texts")] == ["texts/report.txt"]


def test_a_repeated_point_is_stored_once_and_a_step_keeps_its_newest_value(
    attempt: Attempt, acting: Callable[..., Any]
) -> None:
    client = acting(attempt).MlflowClient()
    run_id = str(attempt.job_id)
    for value, at_ms in ((1.0, 1_000), (1.0, 1_000), (2.0, 2_000), (9.0, 500)):
        client.log_metric(run_id, "loss", value, timestamp=at_ms, step=4)
    assert list(MetricPoint.objects.values_list("step", "value")) == [(4, 2.0)]
    assert Series.objects.get().n_points == 1


def test_a_script_that_logs_by_mlflow_alone_does_not_stall(attempt: Attempt, acting: Callable[..., Any]) -> None:
    version = ModelVersion.objects.get(pk=attempt.job.model_version_id)
    version.kind = "script"
    version.save()
    still = PhaseReport(at=0, phase="stalled", since_start_s=0, detail={"still_s": 3000.0, "doing": "compute"})
    record_stall(attempt, still, worker=0)
    assert (timezone.now() - StallRecord.objects.get().since).total_seconds() >= 3000
    acting(attempt).MlflowClient().log_metric(str(attempt.job_id), "loss", 1.0)
    assert not StallRecord.objects.exists()
    record_stall(attempt, still, worker=0)
    assert StallRecord.objects.get().since == Job.objects.get(pk=attempt.job_id).progress_at


def test_a_pod_s_credential_reaches_its_job_and_the_runs_that_it_started(
    cast: Cast, attempt: Attempt, acting: Callable[..., Any]
) -> None:
    other = job(cast.project_a, cast.bob, name="other")
    mine = Run.objects.create(project=cast.project_a, name="mine", created_by=cast.bob, started_ms=1)
    client = acting(attempt).MlflowClient()
    for run_id in (other.pk, mine.pk):
        with pytest.raises(MlflowException, match="no run"):
            client.get_run(str(run_id))
    started = client.create_run("0", run_name="fold 1")
    client.log_metric(started.info.run_id, "loss", 1.0)
    assert {run.info.run_name for run in client.search_runs([str(cast.project_a.pk)])} == {"training", "fold 1"}
    Attempt.objects.filter(pk=attempt.pk).update(is_fenced=True)
    with pytest.raises(MlflowException, match="has ended"):
        client.log_metric(started.info.run_id, "loss", 2.0)


def test_a_later_attempt_logs_its_parameters_anew(attempt: Attempt, acting: Callable[..., Any]) -> None:
    client = acting(attempt).MlflowClient()
    client.log_param(str(attempt.job_id), "folder", "/tmp/1")
    with pytest.raises(MlflowException, match="not allowed"):
        client.log_param(str(attempt.job_id), "folder", "/tmp/2")
    Attempt.objects.filter(pk=attempt.pk).update(number=2)
    client.log_param(str(attempt.job_id), "folder", "/tmp/2")
    assert client.get_run(str(attempt.job_id)).data.params["folder"] == "/tmp/2"


def test_a_person_logs_to_a_job_only_while_it_runs(cast: Cast, acting: Callable[..., Any]) -> None:
    waiting = job(cast.project_a, cast.bob, name="waiting")
    client = acting(cast.bob).MlflowClient()
    with pytest.raises(MlflowException, match="only while it runs"):
        client.log_metric(str(waiting.pk), "loss", 1.0)
    client.set_tag(str(waiting.pk), "note", "for later")
    found = client.search_runs([str(cast.project_a.pk)], "tags.note = 'for later' AND params.epochs = '2'")
    assert [(run.info.run_id, run.info.status) for run in found] == [(str(waiting.pk), "SCHEDULED")]
    opened(waiting)
    client.log_metric(str(waiting.pk), "loss", 1.0)
    assert client.search_runs([str(cast.project_a.pk)], "metrics.loss = 1")


def test_pods_of_scripts_get_an_address_a_credential_and_their_run(cast: Cast, attempt: Attempt) -> None:
    assert not launch_spec(attempt).secrets  # MLHub's own trainer logs nothing by itself
    model = Model.objects.create(project=cast.project_a, name="s", created_by=cast.bob)
    script = ModelVersion.objects.create(
        model=model, number=1, state="ready", kind="script", entry="t.py", created_by=cast.bob
    )
    of = job(cast.project_a, cast.bob, name="script")
    Job.objects.filter(pk=of.pk).update(model_version=script)
    of = Job.objects.get(pk=of.pk)
    spec = launch_spec(opened(of))
    assert spec.variables == {
        "MLFLOW_TRACKING_URI": f"{spec.api_url}/api/v1/ingest/attempts/{spec.attempt_id}",
        "MLFLOW_RUN_ID": str(of.pk),
        "MLFLOW_EXPERIMENT_NAME": "vision",
    }
    assert list(spec.secrets) == ["MLFLOW_TRACKING_TOKEN"]
    assert spec.secrets["MLFLOW_TRACKING_TOKEN"] not in (spec.token, spec.gang_secret)
    of.environment = {"MLFLOW_TRACKING_URI": "https://elsewhere.example.org"}
    of.save()
    own = launch_spec(Attempt.objects.get(job=of))
    assert (own.variables, own.secrets) == (of.environment, {})
