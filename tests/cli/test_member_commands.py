# SPDX-License-Identifier: Apache-2.0
"""mlhub member and mlhub invitation: a person is invited, accepts, gets another role and is removed."""

from __future__ import annotations

import io
from typing import Any

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.tenants.actions import create_token
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def speak_as(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, token = create_token(user, name="terminal", scopes=["read", "write"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_TOKEN", token)


def test_a_person_is_invited_accepts_gets_a_role_and_is_removed(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["invitation", "send", "A", "charlie"]) == CommandStatus.REFUSED
    assert main(["invitation", "ls", "A"]) == CommandStatus.REFUSED
    speak_as(bob.alice, monkeypatch)
    assert main(["invitation", "send", "A", "charlie", "--role", "submitter"]) == CommandStatus.OK
    assert main(["invitation", "send", "A", "dora", "--role", "king"]) == CommandStatus.REFUSED
    assert main(["invitation", "send", "A", "dora", "--email", "dora@example.org"]) == CommandStatus.USAGE
    capsys.readouterr()
    assert main(["invitation", "send", "A"]) == CommandStatus.OK
    assert capsys.readouterr().out.startswith("http")
    assert main(["invitation", "ls", "A"]) == CommandStatus.OK
    assert "charlie" in capsys.readouterr().out
    speak_as(bob.charlie, monkeypatch)
    assert main(["invitation", "ls"]) == CommandStatus.OK
    assert "submitter" in capsys.readouterr().out
    assert main(["invitation", "accept", "Nowhere"]) == CommandStatus.REFUSED
    assert main(["invitation", "accept", "A"]) == CommandStatus.OK
    assert main(["invitation", "decline", "A"]) == CommandStatus.REFUSED  # it is answered
    speak_as(bob.alice, monkeypatch)
    capsys.readouterr()
    assert main(["member", "ls", "A", "--search", "char"]) == CommandStatus.OK
    assert capsys.readouterr().out.splitlines()[1].split() == ["charlie", "submitter"]
    assert main(["member", "role", "A", "charlie", "member"]) == CommandStatus.OK
    assert bob.a.memberships.get(user=bob.charlie).role == "member"
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert main(["member", "rm", "A", "charlie"]) == CommandStatus.USAGE  # no terminal to ask at
    assert main(["member", "rm", "A", "charlie", "--yes"]) == CommandStatus.OK
    assert main(["member", "rm", "A", "charlie", "--yes"]) == CommandStatus.REFUSED
    assert "no member called 'charlie'" in capsys.readouterr().err


def test_an_invitation_is_withdrawn_by_name_address_or_id(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    speak_as(bob.alice, monkeypatch)
    assert main(["invitation", "send", "A", "charlie"]) == CommandStatus.OK
    assert main(["invitation", "withdraw", "A", "dora"]) == CommandStatus.REFUSED
    (waiting,) = bob.a.invitations.all()
    assert main(["invitation", "withdraw", "A", str(waiting.pk)[-1]]) == CommandStatus.REFUSED  # a letter is no id
    assert main(["invitation", "withdraw", "A", ""]) == CommandStatus.USAGE
    assert main(["invitation", "withdraw", "A", "charlie"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["invitation", "send", "A"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["invitation", "ls", "A"]) == CommandStatus.OK
    (row,) = capsys.readouterr().out.splitlines()[1:]
    assert main(["invitation", "withdraw", "A", row.split()[0]]) == CommandStatus.OK
    assert main(["invitation", "ls", "A"]) == CommandStatus.OK
    assert len(capsys.readouterr().out.splitlines()) == 1
