# SPDX-License-Identifier: Apache-2.0
"""A job's container image on the command line: as an option, in a file that is written and read again, and refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from mlhub.cli import uploads
from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.jobs.execution.inputs import image_of
from mlhub.jobs.models import Job
from mlhub.registry.models import Model, ModelVersion
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db(transaction=True)
IMAGE = "registry.example.org/team/train:1.4"


@pytest.fixture
def bob(transactional_db: None, live_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cast:
    """The command line speaks as bob, by environment variables."""
    cast = make_cast()
    _, token = create_token(cast.bob, name="terminal", scopes=["read", "write"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_URL", live_server.url)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    monkeypatch.delenv("MLHUB_PROJECT", raising=False)
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    return cast


def test_a_job_with_an_image_as_a_file_is_submitted_again_and_elsewhere_it_is_refused_with_the_remedy(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path, settings: Any
) -> None:
    settings.BACKEND, settings.KUBERNETES = "kubernetes", {"images": "registry.example.org/"}
    dataset = ready_dataset(bob.project_a, bob.bob)
    argv = ["run", "--dataset", str(dataset.dataset_id), "--model", builtin().model.name, "--detach"]
    assert main([*argv, "--image", IMAGE]) == CommandStatus.OK, capsys.readouterr().err
    pk = capsys.readouterr().out.strip()
    assert Job.objects.get(pk=pk).image == IMAGE
    assert main(["show", pk]) == CommandStatus.OK
    assert IMAGE in capsys.readouterr().out
    assert main(["show", pk, "--as-file"]) == CommandStatus.OK
    file = tmp_path / "job.yaml"
    file.write_text(capsys.readouterr().out)
    assert yaml.safe_load(file.read_text())["image"] == IMAGE
    assert main(["run", str(file), "--detach"]) == CommandStatus.OK
    assert Job.objects.get(pk=capsys.readouterr().out.strip()).image == IMAGE
    assert main(["run", str(file), "--detach", "--image", "evil.example.org/miner"]) == CommandStatus.REFUSED
    assert "MLHUB_KUBE_IMAGES" in capsys.readouterr().err
    settings.BACKEND = "local"
    assert main(["run", str(file), "--detach"]) == CommandStatus.REFUSED
    assert "Leave image out" in capsys.readouterr().err


def test_code_that_brings_an_image_is_said_to_and_its_job_runs_in_it_as_a_file_as_well(
    bob: Cast, capsys: pytest.CaptureFixture[str], tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BACKEND, settings.KUBERNETES = "kubernetes", {"images": "registry.example.org/"}
    code = a_script(bob, image=IMAGE)
    monkeypatch.setattr(uploads, "uploaded", lambda session, *_, **__: session.api.get(f"/model-versions/{code.id}"))
    (tmp_path / "train.py").write_text("print(1)")
    assert main(["run", str(tmp_path / "train.py"), "--detach"]) == CommandStatus.OK, capsys.readouterr().err
    said = capsys.readouterr()
    assert f"The code brings the image {IMAGE}, for jobs that name none." in said.err
    made = Job.objects.get(pk=said.out.strip())
    assert (made.image, image_of(made)) == ("", IMAGE)
    assert main(["show", str(made.pk), "-o", "json"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out)["code_image"] == IMAGE
    assert main(["show", str(made.pk), "--as-file"]) == CommandStatus.OK
    file = tmp_path / "job.yaml"
    file.write_text(capsys.readouterr().out)
    assert "image" not in yaml.safe_load(file.read_text())
    assert main(["run", str(file), "--detach"]) == CommandStatus.OK, capsys.readouterr().err
    assert image_of(Job.objects.get(pk=capsys.readouterr().out.strip())) == IMAGE


def a_script(cast: Cast, **fields: Any) -> ModelVersion:
    model = Model.objects.create(project=cast.project_a, name="script", created_by=cast.bob)
    version: ModelVersion = ModelVersion.objects.create(
        model=model, number=1, source="upload", kind="script", entry="train.py", state="ready", created_by=cast.bob,
        **fields,
    )  # fmt: skip
    return version
