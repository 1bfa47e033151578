# SPDX-License-Identifier: Apache-2.0
"""`mlhub run` of code that brings packages: a pipe gets the lines of their build, and the one that explains its end."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlhub.cli import uploads
from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.environments import actions
from mlhub.environments.models import PythonEnvironment
from mlhub.environments.tasks import build_environment
from mlhub.registry import tasks
from mlhub.registry.models import ModelVersion
from mlhub.tenants.actions import create_token
from tests.cast import Cast, make_cast
from tests.environments.wheels import write_wheelhouse

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def cast(
    transactional_db: None, live_server: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Cast:
    """Each time that the command waits, the platform's workers do the next thing."""
    settings.PACKAGE_INDEX_URL, settings.WHEELHOUSE = "", str(write_wheelhouse(tmp_path / "wheelhouse"))
    settings.ENVIRONMENT_ROOT = tmp_path / "environments"
    found = make_cast(max_gpus=4)
    _, token = create_token(found.bob, name="terminal", scopes=["read", "submit"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_URL", live_server.url)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    steps = iter([_validate, _begin, _build, _validate])
    monkeypatch.setattr(uploads, "time", SimpleNamespace(sleep=lambda _: next(steps)()))
    return found


def _validate() -> None:
    tasks.validate_version(str(ModelVersion.objects.exclude(model__project=None).get().pk))


def _begin() -> None:
    actions.write_log(PythonEnvironment.objects.get(), "Resolved 1 package in 2ms\n + word")


def _build() -> None:
    build_environment(str(PythonEnvironment.objects.get().pk))


def ran(folder: Path, capsys: pytest.CaptureFixture[str], requirements: str, *options: str) -> tuple[int, list[str]]:
    (folder / "train.py").write_text("print('loss=1')\n")
    (folder / "wanted.txt").write_text(requirements)
    (folder / "requirements.txt").write_text("greeting\n")
    capsys.readouterr()
    argv = ["run", str(folder / "train.py"), "--requirements", str(folder / "wanted.txt"), "--detach", *options]
    status = main(argv)
    return status, capsys.readouterr().err.splitlines()


def test_a_pipe_gets_what_is_resolved_and_installed(
    cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "code").mkdir()
    status, lines = ran(tmp_path / "code", capsys, "wording==1.0\n")
    assert status == CommandStatus.OK, lines
    start = lines.index("The platform builds the packages of requirements.txt ...")
    assert lines[start - 1] == "The platform inspects it ..."
    assert lines[start + 1] == "  Resolved 1 package in 2ms"
    assert "   + word" not in lines, "of a line that is not whole nothing is shown"
    assert lines.index("   + wording==1.0") < lines.index("The platform inspects it ...", start)
    assert any(line.startswith("The packages of requirements.txt are built (") for line in lines)
    assert ModelVersion.objects.exclude(model__project=None).get().environment.requirements == ["wording==1.0"]


def test_the_line_of_the_log_that_explains_a_failure_is_shown_with_the_remedy(
    cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "code").mkdir()
    status, lines = ran(tmp_path / "code", capsys, "not-there==9\n")
    assert status == CommandStatus.REFUSED
    assert any("not-there was not found" in line for line in lines if line.startswith("  "))
    assert any(line.startswith("mlhub: The environment could not be built") for line in lines)
    assert "Correct the name and the version" in lines[-1]


def test_requirements_without_code_or_file_are_refused_before_anything_is_sent(
    cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--dataset", "x", "--model", "mlp", "--requirements", "wanted.txt"]) == CommandStatus.USAGE
    assert "Packages of which code?" in capsys.readouterr().err
    (tmp_path / "train.py").write_text("print(1)\n")
    assert main(["run", str(tmp_path / "train.py"), "--requirements", "absent.txt"]) == CommandStatus.USAGE
    assert "There is no file absent.txt." in capsys.readouterr().err
