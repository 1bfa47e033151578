# SPDX-License-Identifier: Apache-2.0
"""Predictions on the whole platform: through its API, past a killed pod, and by the client from fit() to load()."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from safetensors.numpy import load_file

from mlhub.client import Estimator, Refused, TrainedModel
from mlhub.demo.client import Person
from mlhub.demo.client import RequestRefused as Problem
from tests.platform import ROOT, RunningPlatform, wait

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def charlie(platform: RunningPlatform) -> Person:
    person = platform.person("charlie", organisation="Flowers")
    person.post("/projects", organisation=person.organisation["id"], name="flowers")
    return person


def flowers(n: int, *, seed: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    kinds = random.integers(0, 3, n)
    names = np.array(["iris", "lily", "rose"])[kinds]
    columns = {f"petal_{i}": random.normal(3.0 * kinds if i == 0 else -2.0 * kinds, 0.6) for i in range(3)}
    return pa.table({**columns, "species": names})


def finished(platform: RunningPlatform, person: Person, job: dict[str, Any]) -> dict[str, Any]:
    wait(
        lambda: person.get(f"/jobs/{job['id']}")["state"] in ("succeeded", "failed"),
        seconds=180,
        message=platform.logs(),
    )
    found: dict[str, Any] = person.get(f"/jobs/{job['id']}")
    assert found["state"] == "succeeded", found["failure"]
    return found


@pytest.fixture(scope="module")
def token(charlie: Person) -> str:
    return str(charlie.post("/tokens", name="client", scopes=["read", "write"])["token"])


@pytest.fixture(scope="module")
def model(platform: RunningPlatform, token: str) -> TrainedModel:
    progress_lines: list[str] = []
    options: dict[str, Any] = {"model": "mlp", "label": "species", "epochs": 12, "batch_size": 32}
    found = Estimator(url=platform.url, token=token, progress=progress_lines.append, **options).fit(flowers(400))
    assert progress_lines[-1].endswith("succeeded")
    return found


def test_fit_predict_evaluate_save_and_load_end_to_end(model: TrainedModel, token: str, tmp_path: Path) -> None:
    assert model.classes == ["iris", "lily", "rose"]
    asked = flowers(90, seed=1)
    truth = np.asarray(asked["species"].to_pylist())
    found = model.predict(asked.drop_columns(["species"]))
    assert (found == truth).mean() > 0.9
    with pytest.raises(Refused, match=r"no layer 'nowhere'") as refused:
        model.features(asked, ["nowhere"])
    assert refused.value.field == "features"
    assert "Name some of " in refused.value.remedy
    with pytest.raises(Refused) as refused:
        model.evaluate(asked.set_column(3, "species", pa.array(["tulip", "iris", "rose"] * 30)))
    assert refused.value.field == "dataset"
    model.save(tmp_path / "flowers")
    again = TrainedModel.load(tmp_path / "flowers", token=token)
    assert again.config["epochs"] == 12
    assert token not in (tmp_path / "flowers" / "model.json").read_text()
    assert again.evaluate(asked)["eval/accuracy"] == pytest.approx((found == truth).mean())


def test_a_killed_worker_loses_no_row_and_an_evaluation_repeats_what_training_reported(
    platform: RunningPlatform, charlie: Person, model: TrainedModel
) -> None:
    trained = charlie.get(f"/jobs/{model.job}")
    version = trained["dataset_version"]["id"]
    ask = {"model_of": model.job, "dataset_version": version}
    three = charlie.post("/jobs", kind="predict", **ask, batch_size=8, min_workers=3, max_workers=3)
    wait(lambda: charlie.get(f"/jobs/{three['id']}")["state"] == "running", seconds=180, message=platform.logs())
    attempt = charlie.get(f"/jobs/{three['id']}")["current_attempt"]["id"]
    os.kill(platform.pods()[f"{attempt}/worker-2"], signal.SIGKILL)
    says_again = charlie.post("/jobs", kind="evaluate", **ask, examples="held_out")
    three = finished(platform, charlie, three)
    # the headers of a download are no part of the client's interface
    answer = charlie._http.get(f"/jobs/{three['id']}/result")
    assert answer.headers["content-disposition"].endswith('.parquet"')
    found = pq.read_table(io.BytesIO(answer.content))
    assert found["row"].to_pylist() == list(range(400))
    truth = flowers(400)["species"].to_pylist()
    assert np.mean([a == b for a, b in zip(found["prediction"].to_pylist(), truth, strict=True)]) > 0.9
    assert len(three["attempts"]) == 1  # the others took over
    metrics = finished(platform, charlie, says_again)["result_metrics"]
    assert metrics == pytest.approx(trained["result_metrics"], rel=1e-5)
    with pytest.raises(Problem, match="did not train"):
        charlie.post("/jobs", kind="predict", model_of=three["id"], dataset_version=version)


def test_the_command_line_uploads_trains_follows_and_pulls(
    platform: RunningPlatform, charlie: Person, token: str, tmp_path: Path
) -> None:
    csv.write_csv(flowers(200), tmp_path / "garden.csv")
    (tmp_path / "net.py").write_text(
        "from torch import nn\n\n\ndef build_model(hyperparameters):\n"
        "    return nn.Linear(hyperparameters['input_shape'][0], hyperparameters['n_classes'])\n"
    )
    environment = {
        **os.environ, "MLHUB_URL": platform.url, "MLHUB_TOKEN": token, "XDG_CONFIG_HOME": str(tmp_path / ".home"),
        "XDG_CACHE_HOME": str(tmp_path / ".home"), "PYTHONPATH": str(ROOT),
    }  # fmt: skip

    def mlhub(*argv: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "mlhub.cli", *argv]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240)

    asked = ["run", "net.py", "--data", "garden.csv", "--target", "species", "--epochs", "3", "--name", "garden"]
    done = mlhub(*asked)
    assert done.returncode == 0, done.stderr + platform.logs()
    assert "garden succeeded: " in done.stderr
    assert charlie.get(f"/jobs/{done.stdout.split()[0]}")["state"] == "succeeded"
    asked[asked.index("3")] = "100000"  # it is cancelled however slow this process is
    again = mlhub(*asked, "--detach")
    assert again.stderr.count("has not changed") == 2
    assert mlhub("cancel", again.stdout.strip()).returncode == 0
    assert "eval/accuracy" in mlhub("metrics", done.stdout.split()[0]).stdout
    assert mlhub("model", "pull", done.stdout.split()[0], "--to", "out").returncode == 0
    assert load_file(tmp_path / "out" / "weights.safetensors")["weight"].shape == (3, 3)
