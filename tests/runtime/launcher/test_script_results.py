# SPDX-License-Identifier: Apache-2.0
"""Everything that a short script wrote, printed and left arrives whole, through a real launcher."""

from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load

from mlhub.wire.exits import ExitCode
from tests.runtime.launcher.ingest_server import Ingest
from tests.runtime.launcher.test_launcher import _launch
from tests.runtime.scripts.test_script import gang

pytestmark = [pytest.mark.dist, pytest.mark.slow]

SHORT = """
import os, threading
from pathlib import Path
import torch
from torch.utils.tensorboard import SummaryWriter
from mlhub.runtime import checkpoint_folder

writer = SummaryWriter(str(checkpoint_folder() / "runs"))
table = open("table.csv", "w")
for step in range(60):
    writer.add_scalar("Loss/train set", 1 / (step + 1), step)
    table.write(f"{step}\\n")
    print(f"step={step} printed={step * 2}")
os.makedirs("output/checkpoint-30")
model = torch.nn.Linear(3, 2)
torch.save({"model": torch.nn.Linear(3, 2).state_dict()}, "output/checkpoint-30/model.pt")
torch.save({"epoch": 1, "model_state_dict": model.state_dict()}, Path(os.environ["MLHUB_OUTPUT_DIR"]) / "final.pt")
torch.save({"state": {}}, "output/optimizer.pt")
print("bias", *(repr(float(x)) for x in model.bias))
threading.Timer(0.1, lambda: Path("late.txt").write_text("after the main thread")).start()
print("loss=0.125", end="")
"""


def test_values_files_and_weights_of_a_short_script_arrive_whole(ingest: Ingest, tmp_path: Path) -> None:
    pod = _launch(gang(tmp_path, SHORT), ingest)
    assert pod.wait(150) == ExitCode.DONE, ingest.streams["log"]
    metrics = [report for report in ingest.streams["reports"] if report["type"] == "metrics"]
    written = {r["step"]: v for r in metrics for k, v in r["values"].items() if k == "Loss/train_set"}
    assert written == {step: pytest.approx(1 / (step + 1)) for step in range(60)}
    printed = {r["step"]: v for r in metrics for k, v in r["values"].items() if k == "train/printed"}
    assert printed == {step: step * 2.0 for step in range(60)}
    (result,) = [report for report in ingest.streams["reports"] if report["type"] == "result"]
    assert result["steps"] == 59
    assert result["metrics"] == {
        "Loss/train_set": pytest.approx(1 / 60), "train/printed": 118.0, "train/loss": 0.125,
    }  # fmt: skip
    assert ingest.artifacts["table.csv"].decode().split() == [str(step) for step in range(60)]
    assert ingest.artifacts["late.txt"] == b"after the main thread"
    assert {"model.pt", "final.pt", "optimizer.pt"} <= set(ingest.artifacts)
    weights = load(ingest.artifacts["weights.safetensors"])
    (bias,) = [line.split()[1:] for line in ingest.streams["log"] if line.startswith("bias")]
    assert [repr(float(x)) for x in weights["bias"]] == bias  # of final.pt, not of the checkpoint


PRINTING_EPOCHS = """
import argparse, time
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=9)
for epoch in range(parser.parse_args().epochs):
    print(f"epoch={epoch} loss={1 / (epoch + 1)}")
"""


def test_the_epochs_that_a_script_prints_are_its_progress(ingest: Ingest, tmp_path: Path) -> None:
    pod = _launch(gang(tmp_path, PRINTING_EPOCHS, arguments=["--epochs", "4"]), ingest)
    assert pod.wait(150) == ExitCode.DONE, ingest.streams["log"]
    progress = [report for report in ingest.streams["reports"] if report["type"] == "progress"]
    assert (progress[-1]["steps_done"], progress[-1]["steps_total"], progress[-1]["epoch"]) == (4, 4, 4.0)
    (result,) = [report for report in ingest.streams["reports"] if report["type"] == "result"]
    assert (result["steps"], result["metrics"]["train/loss"]) == (4, 0.25)


LIKE_A_TRAINER = """
import os
from pathlib import Path
print("found", sorted(os.listdir("results")) if os.path.isdir("results") else [])
for step in (10, 20):
    Path(f"results/checkpoint-{step}").mkdir(parents=True, exist_ok=True)
    Path(f"results/checkpoint-{step}/state.json").write_text(str(step))
"""


def test_the_next_attempt_finds_checkpoints_where_the_script_wrote_them(ingest: Ingest, tmp_path: Path) -> None:
    made = gang(tmp_path, LIKE_A_TRAINER)
    for found in ("found []", "found ['checkpoint-10', 'checkpoint-20']"):
        pod = _launch(made, ingest)
        assert pod.wait(150) == ExitCode.DONE, ingest.streams["log"]
        assert (made.work("worker-0") / "output.log").read_text().splitlines()[0] == found
    listed = [report["name"] for report in ingest.streams["reports"] if report["type"] == "checkpoint"]
    assert set(listed) == {"output/results/checkpoint-10", "output/results/checkpoint-20"}


FAILING = """
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter()
writer.add_scalar("loss", 0.5, 3)
open("output/left.txt", "w").write("half")
raise ValueError("no such column")
"""


def test_what_a_script_wrote_before_it_failed_arrives_but_is_no_result(ingest: Ingest, tmp_path: Path) -> None:
    pod = _launch(gang(tmp_path, FAILING), ingest)
    assert pod.wait(150) == ExitCode.USER_CODE
    kinds = [report["type"] for report in ingest.streams["reports"]]
    assert "metrics" in kinds
    assert "failure" in kinds
    assert "result" not in kinds
    assert ingest.artifacts == {}
