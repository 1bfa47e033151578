# SPDX-License-Identifier: Apache-2.0
"""mlhub secret, and the variables and secrets that mlhub run gives to a job."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
import yaml

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.environments.models import ProjectSecret
from mlhub.jobs.models import Job
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db(transaction=True)


def set_secret(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(value))
    return main(["secret", "set", name, "--file", "-"])


@pytest.mark.slow
def test_a_secret_is_set_listed_given_to_a_job_and_deleted(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert set_secret(monkeypatch, "HF_TOKEN", "hf_123456\n") == CommandStatus.OK
    assert ProjectSecret.objects.get().name == "HF_TOKEN"
    capsys.readouterr()
    assert main(["-o", "json", "secret", "ls"]) == CommandStatus.OK
    printed = capsys.readouterr().out
    assert [row["name"] for row in json.loads(printed)] == ["HF_TOKEN"]
    assert "hf_123456" not in printed
    dataset = ready_dataset(bob.project_a, bob.bob)
    monkeypatch.setenv("LEVEL", "3")
    argv = ["run", "--dataset", str(dataset.dataset_id), "--model", builtin().model.name, "--detach"]
    assert main([*argv, "--env", "MODE=fast=1", "-e", "LEVEL", "--secret", "HF_TOKEN"]) == CommandStatus.OK
    job = Job.objects.get(pk=capsys.readouterr().out.strip())
    assert (job.environment, job.secrets) == ({"MODE": "fast=1", "LEVEL": "3"}, ["HF_TOKEN"])
    assert main(["show", str(job.pk), "--as-file"]) == CommandStatus.OK
    file = yaml.safe_load(capsys.readouterr().out)
    assert (file["environment"], file["secrets"]) == (job.environment, ["HF_TOKEN"])
    assert main(["secret", "rm", "HF_TOKEN", "--yes"]) == CommandStatus.OK
    assert not ProjectSecret.objects.exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["secret", "set", "1X", "--file", "-"], "no name of an environment variable"),
        (["secret", "rm", "ABSENT", "--yes"], "ABSENT"),
        (["secret", "set", "A", "--file", "absent.txt"], "cannot be read"),
        (["run", "--env", "NOT_SET_ANYWHERE"], "Write --env NOT_SET_ANYWHERE=VALUE"),
        (["run", "--set", "environment.DEBUG=true"], "`environment.DEBUG` must be text"),
    ],
)
def test_a_wrong_name_or_value_ends_with_the_remedy(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    argv: list[str],
    message: str,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("value"))
    assert main(argv) != CommandStatus.OK
    assert message in " ".join(capsys.readouterr().err.split())


def test_an_option_changes_one_entry_of_a_file_and_keeps_the_others(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    dataset = ready_dataset(bob.project_a, bob.bob)
    content = {
        "dataset": str(dataset.dataset_id),
        "model": builtin().model.name,
        "environment": {"A": "1", "B": "2"},
        "strategy": {"name": "ssp", "staleness": 3},
    }
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(content))
    argv = ["run", str(file), "--detach", "--env", "B=3", "--set", "strategy.name=bsp"]
    assert main(argv) == CommandStatus.OK
    job = Job.objects.get(pk=capsys.readouterr().out.strip())
    assert job.environment == {"A": "1", "B": "3"}
    assert job.strategy["name"] == "bsp"
    assert "staleness" not in job.strategy
