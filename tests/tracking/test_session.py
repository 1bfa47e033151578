# SPDX-License-Identifier: Apache-2.0
"""A whole session of MLflow's own client, unchanged, against the platform."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mlflow.entities import Metric, Param, RunTag
from mlflow.exceptions import MlflowException

from mlhub.tracking.models import Run, RunPoint
from tests.cast import Cast

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_from_elsewhere_is_logged_and_read_back_whole(cast: Cast, acting: Callable[..., Any]) -> None:
    mlflow = acting(cast.bob)
    assert mlflow.set_experiment("vision").experiment_id == str(cast.project_a.pk)
    with mlflow.start_run(run_name="first") as run:
        mlflow.log_param("optimiser", "adam")
        mlflow.log_params({"lr": 0.1, "layers": 3})
        for step in range(5):
            mlflow.log_metric("loss", 1 / (step + 1), step=step)
        mlflow.log_metrics({"accuracy": 0.5, "f1": 0.25}, step=4)
        mlflow.set_tag("note", "a first try")
        mlflow.set_tags({"team": "red", "temporary": "1"})
        mlflow.delete_tag("temporary")
        with mlflow.start_run(run_name="inner", nested=True) as inner:
            mlflow.log_metric("loss", math.nan)
    found = mlflow.get_run(run.info.run_id)
    assert (found.info.status, found.info.run_name, found.info.user_id) == ("FINISHED", "first", "bob")
    assert found.info.end_time >= found.info.start_time
    assert found.data.params == {"optimiser": "adam", "lr": "0.1", "layers": "3"}
    assert found.data.metrics == {"loss": 0.2, "accuracy": 0.5, "f1": 0.25}
    tags = {key: value for key, value in found.data.tags.items() if not key.startswith("mlflow.")}
    assert tags == {"note": "a first try", "team": "red"}
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "loss")
    assert [(point.step, point.value) for point in history] == [(step, 1 / (step + 1)) for step in range(5)]
    child = mlflow.get_run(inner.info.run_id)
    assert child.data.tags["mlflow.parentRunId"] == run.info.run_id
    assert math.isnan(child.data.metrics["loss"])


def test_files_go_up_are_listed_and_come_back(cast: Cast, acting: Callable[..., Any], tmp_path: Path) -> None:
    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    (tmp_path / "notes.json").write_text('{"a": 1}')
    with mlflow.start_run() as run:
        mlflow.log_artifact(str(tmp_path / "notes.json"))
        mlflow.log_artifact(str(tmp_path / "notes.json"), "deep/er")
        mlflow.log_dict({"b": 2}, "deep/b.json")
        mlflow.log_text("again", "again.txt")
        mlflow.log_text("again and again", "again.txt")
    client = mlflow.MlflowClient()
    listed = {file.path: (file.is_dir, file.file_size) for file in client.list_artifacts(run.info.run_id)}
    assert listed == {"again.txt": (False, 15), "deep": (True, None), "notes.json": (False, 8)}
    assert [file.path for file in client.list_artifacts(run.info.run_id, "deep")] == ["deep/b.json", "deep/er"]
    assert client.list_artifacts(run.info.run_id, "notes.json") == []
    folder = Path(mlflow.artifacts.download_artifacts(run_id=run.info.run_id, dst_path=str(tmp_path / "down")))
    assert (folder / "deep/er/notes.json").read_text() == '{"a": 1}'
    assert mlflow.artifacts.load_text(f"{run.info.artifact_uri}/again.txt") == "again and again"
    with pytest.raises(MlflowException, match="missing"):
        mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="missing", dst_path=str(tmp_path))


def test_a_dataset_is_an_input_of_the_run(cast: Cast, acting: Callable[..., Any]) -> None:
    from mlflow.data.http_dataset_source import HTTPDatasetSource
    from mlflow.data.meta_dataset import MetaDataset

    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    dataset = MetaDataset(source=HTTPDatasetSource("https://example.org/a.csv"), name="a", digest="d1")
    with mlflow.start_run() as run:
        mlflow.log_input(dataset, context="training")
        mlflow.log_input(dataset, context="training")
    [found] = mlflow.get_run(run.info.run_id).inputs.dataset_inputs
    assert (found.dataset.name, found.dataset.digest, found.dataset.source_type) == ("a", "d1", "http")
    assert {tag.key: tag.value for tag in found.tags} == {"mlflow.data.context": "training"}


def test_runs_are_searched_by_metric_parameter_tag_and_attribute(cast: Cast, acting: Callable[..., Any]) -> None:
    mlflow = acting(cast.bob)
    mlflow.set_experiment("vision")
    for number in range(4):
        with mlflow.start_run(run_name=f"run {number}"):
            mlflow.log_metric("loss", number / 10)
            mlflow.log_param("model", "mlp" if number % 2 else "cnn")
            mlflow.set_tag("odd.one", str(number % 2))

    def names(text: str = "", **options: Any) -> list[str]:
        found = mlflow.search_runs(filter_string=text, output_format="list", **options)
        return [run.info.run_name for run in found]

    assert names("metrics.loss < 0.2 AND params.model = 'mlp'") == ["run 1"]
    assert sorted(names("tags.`odd.one` = '1'")) == ["run 1", "run 3"]
    assert names("attributes.run_name LIKE '%2'") == ["run 2"]
    assert names("attributes.status IN ('FAILED')") == []
    assert names(order_by=["metrics.loss DESC"]) == ["run 3", "run 2", "run 1", "run 0"]
    client, pages, token = mlflow.MlflowClient(), [], None
    while token != "":
        page = client.search_runs(
            [str(cast.project_a.pk)], order_by=["metrics.loss ASC"], max_results=3, page_token=token
        )
        pages.append([run.info.run_name for run in page])
        token = page.token or ""
    assert pages == [["run 0", "run 1", "run 2"], ["run 3"]]
    with pytest.raises(MlflowException, match="cannot be read"):
        names("metrics.loss <> 1")


def test_a_batch_that_comes_twice_is_stored_once(cast: Cast, acting: Callable[..., Any]) -> None:
    client = acting(cast.bob).MlflowClient()
    run = client.create_run(str(cast.project_a.pk))
    points = [Metric("loss", step / 2, timestamp=1_700_000_000_000 + step, step=step) for step in range(1000)]
    for _ in range(2):
        client.log_batch(run.info.run_id, metrics=points)
    client.log_batch(run.info.run_id, params=[Param("a", "1")], tags=[RunTag("b", "2")])
    assert RunPoint.objects.count() == 1000
    assert Run.objects.get().series.get().n_points == 1000
    assert len(client.get_metric_history(run.info.run_id, "loss")) == 1000
    # one that comes late is in the history, and is not the newest
    client.log_metric(run.info.run_id, "loss", 77.0, timestamp=1, step=3)
    assert client.get_run(run.info.run_id).data.metrics["loss"] == 499.5


def test_a_parameter_keeps_its_value_and_sizes_are_limited(cast: Cast, acting: Callable[..., Any]) -> None:
    client = acting(cast.bob).MlflowClient()
    run_id = client.create_run(str(cast.project_a.pk)).info.run_id
    client.log_param(run_id, "lr", 0.1)
    client.log_param(run_id, "lr", 0.1)
    with pytest.raises(MlflowException, match="Changing param values is not allowed"):
        client.log_param(run_id, "lr", 0.2)
    post = _raw(client)
    for body, words in (
        ({"metrics": [{"key": "a", "value": 1, "timestamp": n, "step": 0} for n in range(1001)]}, "1,000 metrics"),
        ({"params": [{"key": f"p{n}", "value": "1"} for n in range(101)]}, "100 params"),
        ({"params": [{"key": "p", "value": "x" * 6001}]}, "6,000"),
        ({"tags": [{"key": "k" * 251, "value": "x"}]}, "250"),
    ):
        answer = post("runs/log-batch", {"run_id": run_id, **body})
        assert answer.status_code == 400
        assert answer.json()["error_code"] == "INVALID_PARAMETER_VALUE"
        assert words in answer.json()["message"]
    assert client.get_run(run_id).data.params == {"lr": "0.1"}


def test_a_run_is_deleted_restored_and_refuses_entries_meanwhile(cast: Cast, acting: Callable[..., Any]) -> None:
    mlflow = acting(cast.bob)
    client = mlflow.MlflowClient()
    run_id = client.create_run(str(cast.project_a.pk)).info.run_id
    client.delete_run(run_id)
    assert client.search_runs([str(cast.project_a.pk)]) == []
    with pytest.raises(MlflowException, match="deleted"):
        client.log_metric(run_id, "loss", 1)
    client.restore_run(run_id)
    client.log_metric(run_id, "loss", 1)
    assert [run.info.run_id for run in client.search_runs([str(cast.project_a.pk)])] == [run_id]


def test_a_new_experiment_is_a_new_project(cast: Cast, acting: Callable[..., Any]) -> None:
    mlflow = acting(cast.bob)
    made = mlflow.set_experiment("speech")
    assert list(cast.a.projects.order_by("name").values_list("name", flat=True)) == ["speech", "vision"]
    assert {found.name for found in mlflow.search_experiments()} == {"speech", "vision"}
    assert mlflow.search_experiments(filter_string="name = 'speech'")[0].experiment_id == made.experiment_id


def _raw(client: Any) -> Any:
    """Posts a body that the client itself would not send."""
    import os

    import requests

    headers = {"Authorization": f"Bearer {os.environ['MLFLOW_TRACKING_TOKEN']}"}
    return lambda route, body: requests.post(
        f"{client.tracking_uri}/api/2.0/mlflow/{route}", json=body, headers=headers, timeout=600
    )
