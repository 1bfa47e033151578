# SPDX-License-Identifier: Apache-2.0
"""mlhub agent: tokens are made and shown once, machines listed with what is wrong with them, and removed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.backends.fake import FakeBackend
from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.clusters.models import Agent
from mlhub.control.observation.inventory import record_inventory
from mlhub.tenants.actions.sign_in.credentials import create_token
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.control.worlds import node

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def root(bob: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Cast:  # noqa: F811
    """The administrator of a platform whose machines have agents."""
    settings.BACKEND = "agents"
    _, token = create_token(bob.root, name="laptop", scopes=["read", "write", "admin"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    return bob


def test_a_machine_gets_a_token_is_listed_and_is_removed(root: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "token", "lab-1"]) == CommandStatus.OK
    shown = capsys.readouterr()
    assert shown.out.strip().startswith("mlg_lab-1_")
    assert "mlhub agent run --server http://" in shown.err + shown.out
    assert main(["-o", "json", "agent", "ls"]) == CommandStatus.OK
    rows = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["seen_at"]) for row in rows] == [("lab-1", None)]
    assert main(["agent", "ls"]) == CommandStatus.OK
    assert "has not reported yet" in capsys.readouterr().out
    Agent.objects.update(seen_at=timezone.now(), problem="The folder of checkpoints is not there.")
    assert main(["agent", "ls"]) == CommandStatus.OK
    listed = " ".join(capsys.readouterr().out.split())
    assert "not ready: The folder of checkpoints" in listed
    Agent.objects.update(problem="")
    record_inventory(FakeBackend([node("lab-1")]).inventory(), now=timezone.now())
    assert main(["agent", "ls"]) == CommandStatus.OK
    assert "ready" in capsys.readouterr().out
    assert main(["node", "cordon", "lab-1"]) == CommandStatus.OK
    for command in (["agent", "ls"], ["node", "ls"]):
        capsys.readouterr()
        assert main(command) == CommandStatus.OK
        assert "cordoned" in capsys.readouterr().out
    Agent.objects.update(
        seen_at=timezone.now() - timedelta(seconds=30), token_made_at=timezone.now() - timedelta(days=1)
    )
    assert main(["agent", "ls"]) == CommandStatus.OK
    assert "silent: it gets no new jobs" in " ".join(capsys.readouterr().out.split())
    silent = replace(node("lab-1"), is_ready=False, message="Its agent has not reported since 09:00 UTC.")
    record_inventory(FakeBackend([silent]).inventory(), now=timezone.now())
    assert main(["node", "ls"]) == CommandStatus.OK
    listed = " ".join(capsys.readouterr().out.split())
    assert "not ready: Its agent has not reported since" in listed
    assert "cordoned" not in listed
    assert main(["agent", "rm", "lab-1", "--yes"]) == CommandStatus.OK
    said = " ".join(capsys.readouterr().err.split())
    assert "What runs there ends within 51 s; its results are no longer taken" in said
    assert "The agent's folder stays on the machine" in " ".join(said.split())
    assert not Agent.objects.exists()
    assert main(["agent", "rm", "lab-1", "--yes"]) == CommandStatus.REFUSED
    assert "There is no agent lab-1" in capsys.readouterr().err


def test_who_is_no_administrator_is_refused(bob: Cast, capsys: pytest.CaptureFixture[str]) -> None:  # noqa: F811
    assert main(["agent", "token", "lab-1"]) == CommandStatus.REFUSED
    assert main(["agent", "ls"]) == CommandStatus.REFUSED
    assert not Agent.objects.exists()


def test_the_help_of_the_agent_names_its_options_and_their_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agent", "run", "--help"]) == CommandStatus.OK
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for words in ("--server", "--token-file", "--address", "--no-gpus", "/var/lib/mlhub-agent"):
        assert words in shown
