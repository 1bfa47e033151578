# SPDX-License-Identifier: Apache-2.0
"""mlhub checkpoint: what it lists, and what it does with the checkpoint that one names by its step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.jobs.models import Checkpoint, Job
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.jobs.artifacts.test_checkpoint_api import trained, written

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def listed(capsys: pytest.CaptureFixture[str]) -> list[int]:
    assert main(["-o", "json", "checkpoint", "ls", "job"]) == CommandStatus.OK
    return [row["step"] for row in json.loads(capsys.readouterr().out)]


@pytest.mark.slow
def test_checkpoints_are_listed_pinned_downloaded_forked_and_deleted(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    found = trained(bob)
    assert listed(capsys) == [20, 15, 10]
    assert main(["checkpoint", "pin", "job", "10"]) == CommandStatus.OK
    assert capsys.readouterr().out.splitlines()[1].split()[:3] == ["10", "resume", "yes"]
    assert main(["checkpoint", "rm", "job", "10", "--yes"]) == CommandStatus.REFUSED
    assert "Unpin it first" in capsys.readouterr().err
    assert main(["checkpoint", "unpin", "job", "10"]) == CommandStatus.OK
    assert main(["checkpoint", "pull", "job", "best", "--to", str(tmp_path / "best.safetensors")]) == CommandStatus.OK
    assert load_file(tmp_path / "best.safetensors")["w"].tolist() == [15.0] * 4
    capsys.readouterr()
    assert main(["checkpoint", "fork", "job", "latest", "--name", "further", "--set", "epochs=9"]) == CommandStatus.OK
    fork = Job.objects.get(pk=capsys.readouterr().out.strip())
    assert fork.name == "further"
    assert (fork.cloned_from, fork.epochs, fork.model_version.metadata["checkpoint"]["step"]) == (found, 9, 20)
    assert main(["checkpoint", "rm", "job", "10", "15", "--yes"]) == CommandStatus.OK
    capsys.readouterr()
    assert listed(capsys) == [20]


def test_best_is_the_best_by_the_metric_that_the_job_monitors(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Not the newest of those that keep_best keeps."""
    found = trained(bob)
    written(found, "best-attempt-0001-step-0000000019", step=19)
    for step, loss in ((15, 0.1), (19, 0.2)):
        Checkpoint.objects.filter(step=step).update(metrics={"eval/loss": loss, "eval/accuracy": loss})

    def best(**hyperparameters: str) -> float:
        Job.objects.filter(pk=found.pk).update(hyperparameters=hyperparameters)
        file = tmp_path / "best"
        assert main(["checkpoint", "pull", "job", "best", "--to", str(file)]) == CommandStatus.OK
        return float(load_file(file)["w"][0])

    assert best(monitor="eval/loss") == 15.0
    assert best(monitor="eval/loss", monitor_mode="max") == 19.0
    assert best(monitor="eval/accuracy") == 19.0
    assert main(["checkpoint", "rm", "job", "15-19", "--yes"]) == CommandStatus.USAGE
    assert "name each step of best weights" in " ".join(capsys.readouterr().err.split())
    assert main(["checkpoint", "pull", "job", "15", "--to", str(tmp_path / "no" / "x")]) == CommandStatus.USAGE
    assert f"mlhub: {tmp_path}/no/x: No such file or directory." in capsys.readouterr().err


def test_a_step_without_a_checkpoint_is_refused_with_those_that_there_are(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    trained(bob)
    assert main(["checkpoint", "pin", "job", "11"]) != CommandStatus.OK
    assert "20, 15, 10" in capsys.readouterr().err
    assert main(["checkpoint", "rm", "job", "15", "--yes"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["checkpoint", "fork", "job", "best"]) == CommandStatus.USAGE
    assert "where the hyperparameter monitor names a metric" in " ".join(capsys.readouterr().err.split())
    assert main(["checkpoint", "rm", "job", "10", "20", "--yes"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["checkpoint", "fork", "job", "best"]) == CommandStatus.USAGE
    assert "has no checkpoints" in capsys.readouterr().err
