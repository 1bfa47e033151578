# SPDX-License-Identifier: Apache-2.0
"""mlhub study: a study from a file, its trials, and what a person does with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.experiments.models import Study
from mlhub.registry.models import Model, ModelVersion
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.experiments.training import Trainer
from tests.jobs.builders import builtin, ready_dataset

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
FILE = """
name: search
job: {dataset: blobs, model: mlp, epochs: 4}
space:
  width: {int: [4, 64]}
metric: eval/accuracy
direction: maximize
"""


def test_all_studies_are_listed_however_many_there_are(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    ready_dataset(bob.project_a, bob.bob)
    builtin("mlp")
    file = tmp_path / "study.yaml"
    file.write_text(FILE)
    assert main(["study", "create", str(file), "--set", "max_trials=4"]) == CommandStatus.OK
    made = Study.objects.get()
    for n in range(59):
        made.pk, made.name = None, f"search {n}"
        made.save(force_insert=True)
    capsys.readouterr()
    assert main(["-o", "json", "study", "ls"]) == CommandStatus.OK
    assert len(json.loads(capsys.readouterr().out)) == 60


@pytest.mark.slow
def test_a_study_is_created_from_a_file_listed_steered_and_deleted(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    ready_dataset(bob.project_a, bob.bob)
    builtin("mlp")
    file = tmp_path / "study.yaml"
    file.write_text(FILE)
    assert main(["study", "create", str(file), "--set", "max_trials=4", "--set", "eta=2"]) == CommandStatus.OK
    study = Study.objects.get(pk=capsys.readouterr().out.strip())
    assert (study.max_trials, study.rungs) == (4, [1, 2, 4])
    assert main(["-o", "json", "study", "pause", "search"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out)[0]["state"] == "paused"
    assert main(["study", "resume", str(study.pk)[:20]]) == CommandStatus.OK
    Trainer().run(study)
    capsys.readouterr()
    assert main(["-o", "json", "study", "trials", "search"]) == CommandStatus.OK
    best, *others = json.loads(capsys.readouterr().out)
    assert (best["status"], len(best["results"]), len(others)) == ("completed", 3, 3)
    assert main(["study", "extend", "search"]) == CommandStatus.REFUSED
    capsys.readouterr()
    assert main(["-o", "json", "study", "extend", "search", "--trials", "2"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out)[0]["most_trials"] == 6
    Trainer().run(study)
    assert main(["study", "clone", "search", "--name", "other", "--set", "space.width={int: [8, 9]}"]) == 0
    cloned = Study.objects.get(pk=capsys.readouterr().out.strip())
    assert (cloned.name, cloned.max_trials, cloned.space["width"]["int"]) == ("other", 6, [8, 9])
    cloned.delete()
    capsys.readouterr()
    assert main(["study", "ls"]) == CommandStatus.OK
    assert len(capsys.readouterr().out.splitlines()) == 2
    assert main(["study", "stop", "search"]) == CommandStatus.REFUSED
    assert main(["study", "rm", "search", "--yes"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["study", "show", "search"]) == CommandStatus.REFUSED
    assert "There is no study search" in capsys.readouterr().err


def test_a_script_without_data_is_searched_in_the_only_project(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    model = Model.objects.create(project=bob.project_a, name="fetching", created_by=bob.bob)
    ModelVersion.objects.create(model=model, number=1, source="upload", kind="script", entry="train.py", state="ready")
    file = tmp_path / "study.yaml"
    file.write_text(FILE.replace("{dataset: blobs, model: mlp, epochs: 4}", "{model: fetching, epochs: 4}"))
    given = ["study", "create", str(file), "--set", "max_trials=4", "--set", "algorithm=random"]
    assert main(given) == CommandStatus.OK, capsys.readouterr().err
    assert Study.objects.get(pk=capsys.readouterr().out.strip()).project == bob.project_a


def test_what_the_file_gets_wrong_is_said_with_the_remedy(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    ready_dataset(bob.project_a, bob.bob)
    builtin("mlp")
    file = tmp_path / "study.yaml"
    file.write_text(FILE.replace("int: [4, 64]", "int: [64, 4]"))
    assert main(["study", "create", str(file)]) == CommandStatus.REFUSED
    assert "no points" in capsys.readouterr().err
    assert main(["study", "create", str(tmp_path / "none.yaml")]) != CommandStatus.OK
    assert "cannot be read" in capsys.readouterr().err
