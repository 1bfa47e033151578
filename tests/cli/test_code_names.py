# SPDX-License-Identifier: Apache-2.0
"""What code is called that the command line uploads: scripts of two folders are two models."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlhub.cli import uploads
from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.datasets.models import DatasetVersion
from mlhub.datasets.tasks import inspect_version
from mlhub.jobs.models import Job
from mlhub.registry import tasks
from mlhub.registry.models import Kind, Model, ModelVersion
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Project
from tests.cast import Cast, make_cast
from tests.jobs.builders import builtin, ready_dataset

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def bob(transactional_db: None, live_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cast:
    """The command line speaks as bob; while it waits, what was uploaded is inspected."""
    cast = make_cast()
    _, token = create_token(cast.bob, name="terminal", scopes=["read", "write"], expires_in_days=1)
    for name, value in {
        "MLHUB_URL": live_server.url,
        "MLHUB_TOKEN": token,
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MLHUB_PROJECT", raising=False)
    monkeypatch.setattr(uploads, "time", SimpleNamespace(sleep=lambda _: _inspect()))
    return cast


def _inspect() -> None:
    for version in ModelVersion.objects.filter(state="inspecting"):
        tasks.validate_version(str(version.id))
    for dataset in DatasetVersion.objects.filter(state="inspecting"):
        inspect_version(str(dataset.id))


def script(folder: Path, content: str = "print(1)\n", *, name: str = "train.py") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    return folder / name


def versions() -> dict[str, int]:
    return {model.name: model.versions.count() for model in Model.objects.order_by("name")}


def run(*words: str | Path) -> int:
    return main(["run", *map(str, words), "--detach"])


def test_scripts_of_one_name_in_two_folders_are_two_models(bob: Cast, tmp_path: Path) -> None:
    birds, fish = script(tmp_path / "birds"), script(tmp_path / "fish", "print(2)\n")
    assert [run(birds), run(fish)] == [CommandStatus.OK] * 2
    assert versions() == {"birds": 1, "fish": 1}
    script(tmp_path / "birds", "print(3)\n")
    assert run(tmp_path / "birds") == CommandStatus.OK, "the folder itself is the same project"
    assert versions() == {"birds": 2, "fish": 1}
    assert run(script(tmp_path / "fish", name="finetune.py")) == CommandStatus.OK, "a name of its own"
    assert versions() == {"birds": 2, "finetune": 1, "fish": 1}
    names = Job.objects.filter(project=bob.project_a).order_by("id").values_list("name", flat=True)
    assert list(names) == ["birds", "fish", "birds", "finetune"]


def test_a_model_that_has_the_files_name_goes_on_where_it_is_named(
    bob: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = Model.objects.create(project=bob.project_a, name="train", created_by=bob.bob)
    birds = script(tmp_path / "birds")
    assert run(birds, "--model", "train") == CommandStatus.OK
    assert (versions(), before.versions.count()) == ({"train": 1}, 1)
    assert "--model" not in capsys.readouterr().err
    script(tmp_path / "birds", "print(2)\n")
    assert run(birds) == CommandStatus.OK
    assert "--model train goes on with the model train" in capsys.readouterr().err
    assert versions() == {"birds": 1, "train": 1}
    script(tmp_path / "birds", "print(3)\n")
    assert run(birds) == CommandStatus.OK
    assert "--model" not in capsys.readouterr().err, "it is said once"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "train:3"), "names one that is there"),
        (("--model", "train@best"), "names one that is there"),
        (("--set", "model_version=01a21fd2-8a98-7257-bead-1e6555a413cf"), "both code and a model_version"),
    ],
)
def test_code_is_no_version_that_is_there(
    bob: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], words: str
) -> None:
    assert run(script(tmp_path / "birds"), *options) == CommandStatus.USAGE
    assert words in capsys.readouterr().err
    assert not Model.objects.filter(project=bob.project_a).exists()


def test_a_model_of_the_project_comes_before_a_built_in_one_of_its_name(bob: Cast, tmp_path: Path) -> None:
    builtin("mlp")
    assert run(script(tmp_path / "mlp")) == CommandStatus.OK
    assert run("--model", "mlp") == CommandStatus.OK, "it is a script, which runs without data"
    assert {job.model_version.model.project for job in Job.objects.all()} == {bob.project_a}
    other = Project.objects.create(organisation=bob.a, name="other")
    data = ready_dataset(other, bob.bob)
    assert run("--model", "mlp", "--dataset", str(data.dataset_id), "--project", "other") == CommandStatus.OK
    made = Job.objects.get(project=other)
    assert made.model_version.kind == Kind.BUILTIN, "a colleague's model elsewhere does not stand in its way"


def test_files_that_do_not_travel_with_a_script_are_named_but_for_its_data(
    bob: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = script(tmp_path / "gpt")
    for name in ("meta.pkl", "train.bin", "notes.txt", "images/a.png"):
        (path := first.parent / name).parent.mkdir(exist_ok=True)
        path.write_bytes(b"1")
    assert run(first, "--data", first.parent / "images", "--format", "files") == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "2 files of the script's folder are left out, as neither code nor text: " in said
    assert "meta.pkl" in said
    assert "train.bin" in said
    assert "a.png" not in said
    assert "name the folder and --entry train.py" in said
    assert run(first.parent, "--entry", "train.py") == 0
    assert "left out" not in capsys.readouterr().err
