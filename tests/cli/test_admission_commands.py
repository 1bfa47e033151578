# SPDX-License-Identifier: Apache-2.0
"""Admission on the command line: administrators pause and resume it, and everybody's queue and why say so."""

from __future__ import annotations

import json

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.control.models import AdmissionPause
from mlhub.tenants.actions import create_token
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)


def test_administrators_pause_admission_and_everybody_s_queue_says_so(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["admission", "pause", "--reason", "mine"]) == CommandStatus.REFUSED
    assert "Only administrators of the platform" in capsys.readouterr().err
    assert main(["queue"]) == CommandStatus.OK
    assert "paused" not in capsys.readouterr().err
    _, token = create_token(bob.bob, name="own", scopes=["read"], expires_in_days=1)
    _, root = create_token(bob.root, name="cli", scopes=["read", "write", "admin"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_TOKEN", root)
    assert main(["admission", "pause", "--reason", "", "--hours", "2"]) == CommandStatus.REFUSED
    assert "Say why" in capsys.readouterr().err
    assert main(["admission", "pause", "--reason", "x", "--until", "2020-01-01T00:00:00Z"]) == CommandStatus.REFUSED
    assert "until" in capsys.readouterr().err
    both = ["--hours", "1", "--until", "2099-01-01T00:00:00Z"]
    assert main(["admission", "pause", "--reason", "x", *both]) != CommandStatus.OK
    assert "Give --hours or --until" in capsys.readouterr().err
    assert main(["admission", "pause", "--reason", "New switch.", "--hours", "2"]) == CommandStatus.OK
    assert "Admission is paused by root since" in capsys.readouterr().out
    assert AdmissionPause.objects.get().until is not None
    assert main(["admission", "pause", "--reason", "Power."]) == CommandStatus.REFUSED
    refused = capsys.readouterr().err
    assert "Admission is paused by root since" in refused
    assert "--change" in refused
    assert main(["admission", "pause", "--reason", "Power.", "--change"]) == CommandStatus.OK
    assert main(["admission", "pause", "--reason", "New switch.", "--hours", "2", "--change"]) == CommandStatus.OK
    capsys.readouterr()
    monkeypatch.setenv("MLHUB_TOKEN", token)
    assert main(["queue"]) == CommandStatus.OK
    assert ": New switch." in capsys.readouterr().err
    assert main(["--output", "json", "admission", "show"]) == CommandStatus.OK
    assert json.loads(capsys.readouterr().out)["reason"] == "New switch."
    monkeypatch.setenv("MLHUB_TOKEN", root)
    assert main(["admission", "resume"]) == CommandStatus.OK
    assert "Jobs are started again" in capsys.readouterr().err
    assert main(["admission", "resume"]) == CommandStatus.OK
    assert "It was not paused." in capsys.readouterr().err
    assert main(["admission", "show"]) == CommandStatus.OK
    assert "Admission is not paused." in capsys.readouterr().out
