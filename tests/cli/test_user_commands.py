# SPDX-License-Identifier: Apache-2.0
"""Accounts on the command line: made, found, deactivated, signed out and deleted, by administrators of the platform."""

from __future__ import annotations

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.datasets.models import Dataset
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Membership, Organisation, User
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow
def test_administrators_make_find_close_and_delete_accounts(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main(["user", "ls"]) == CommandStatus.REFUSED
    assert "Only administrators of the platform" in capsys.readouterr().err
    _, token = create_token(bob.root, name="cli", scopes=["read", "write", "admin"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    assert main(["user", "create", "dora", "--email", "dora@example.org", "--organisation", "A"]) == CommandStatus.OK
    made = capsys.readouterr()
    assert "/set-password#" in made.out
    assert "the link works once" in made.err
    assert Membership.objects.get(user__username="dora").role == "member"
    assert main(["user", "ls", "--search", "dora@"]) == CommandStatus.OK
    assert "A (member)" in capsys.readouterr().out
    assert main(["user", "email", "dora", "dora@example.com"]) == CommandStatus.OK
    assert User.objects.get(username="dora").email == "dora@example.com"
    assert main(["user", "email", "dora", "nowhere"]) == CommandStatus.REFUSED
    assert main(["user", "deactivate", "dora"]) == CommandStatus.OK
    assert not User.objects.get(username="dora").is_active
    assert main(["user", "activate", "dora"]) == CommandStatus.OK
    assert main(["user", "sign-out", "dora"]) == CommandStatus.OK
    Dataset.objects.create(project=bob.project_a, name="digits", created_by=User.objects.get(username="dora"))
    capsys.readouterr()
    assert main(["user", "rm", "dora", "--yes"]) == CommandStatus.REFUSED
    assert "dora made 1 dataset, and what it made stays." in capsys.readouterr().err
    assert main(["user", "rm", "dora", "--reassign-to", "bob", "--yes"]) == CommandStatus.OK
    assert Dataset.objects.get(name="digits").created_by == bob.bob
    assert main(["user", "rm", "charlie", "--yes"]) == CommandStatus.REFUSED
    assert "charlie is the only owner of B." in capsys.readouterr().err
    assert main(["user", "rm", "dora", "--yes"]) == CommandStatus.REFUSED
    Organisation.objects.create(name="Empty")
    assert main(["organisation", "rm", "Empty", "--yes"]) == CommandStatus.OK
    assert main(["organisation", "rm", "A", "--yes"]) == CommandStatus.REFUSED
