# SPDX-License-Identifier: Apache-2.0
"""mlhub environment: what was built for code is listed, stopped, built again and deleted."""

from __future__ import annotations

import json

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.environments.actions import request_environment
from mlhub.environments.models import PythonEnvironment
from mlhub.registry.models import Model, ModelVersion
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_build_is_stopped_begun_again_and_its_environment_deleted(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = request_environment(bob.a, requirements=["greeting"], origin="requirements.txt", actor=bob.bob)
    part = str(made.pk)[-8:]
    assert main(["environment", "ls"]) == CommandStatus.OK
    listed = capsys.readouterr().out
    assert "building" in listed
    assert part in listed
    assert main(["environment", "rm", part, "--yes"]) == CommandStatus.REFUSED
    assert "Stop its build first." in capsys.readouterr().err
    assert main(["-o", "json", "environment", "stop", part]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out)[0]["error"]["code"] == "stopped"
    assert main(["environment", "build", str(made.pk)]) == CommandStatus.OK
    assert PythonEnvironment.objects.get().state == "building"
    assert main(["environment", "stop", part]) == CommandStatus.OK
    assert main(["environment", "log", part]) == CommandStatus.OK
    assert main(["environment", "rm", part, "--yes"]) == CommandStatus.OK
    assert not PythonEnvironment.objects.exists()
    assert main(["environment", "show", part]) == CommandStatus.REFUSED
    assert f"There is no environment {part} that you may see." in capsys.readouterr().err


def test_it_is_named_by_the_model_that_requires_it_and_the_refusal_says_which(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = request_environment(bob.a, requirements=["greeting"], origin="requirements.txt", actor=bob.bob)
    PythonEnvironment.objects.update(state="ready")
    model = Model.objects.create(project=bob.project_a, name="birds", created_by=bob.bob)
    ModelVersion.objects.create(model=model, number=1, source="upload", state="ready", environment=made)
    assert main(["-o", "json", "environment", "show", "birds"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out)["id"] == str(made.pk)
    assert main(["environment", "rm", "birds", "--yes"]) == CommandStatus.REFUSED
    assert "the newest birds v1. Their jobs: 0." in capsys.readouterr().err
    assert main(["environment", "rm", "brids", "--yes"]) == CommandStatus.REFUSED
    assert "mlhub environment ls" in capsys.readouterr().err


def test_all_are_listed_however_many_there_are(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    for n in range(60):
        request_environment(bob.a, requirements=[f"greeting=={n}"], origin="requirements.txt", actor=bob.bob)
    assert main(["-o", "json", "environment", "ls"]) == CommandStatus.OK
    assert len(json.loads(capsys.readouterr().out)) == 60
