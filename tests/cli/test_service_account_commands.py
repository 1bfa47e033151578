# SPDX-License-Identifier: Apache-2.0
"""mlhub service-account: made, given tokens that are rotated, deactivated, deleted; the answer to an expired one."""

from __future__ import annotations

import io
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.tenants.models import ApiToken, User
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)
PASSWORD = "correct horse battery staple"
ACCOUNT = ["service-account"]


@pytest.fixture
def admin(bob: Cast, monkeypatch: pytest.MonkeyPatch) -> Cast:  # noqa: F811
    """Bob is an admin of A, and types his password whenever it is asked for."""
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    bob.bob.set_password(PASSWORD)
    bob.bob.save()
    monkeypatch.setattr("mlhub.cli.commands.tenancy.service_accounts.hidden_answer", lambda _: PASSWORD)
    return bob


def test_a_service_account_is_made_works_in_ci_and_has_its_token_rotated(
    admin: Cast, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*ACCOUNT, "create", "A", "ci", "--role", "submitter"]) == CommandStatus.OK
    assert capsys.readouterr().out.strip() == "ci@a.service"
    create = [*ACCOUNT, "token", "create", "A", "ci", "--name", "runner", "--only", "vision", "--days", "7"]
    assert main([*create, "--scope", "read"]) == CommandStatus.OK
    first = capsys.readouterr().out.strip()
    assert main(create) == CommandStatus.OK
    second = capsys.readouterr().out.strip()
    assert main(["-o", "json", *ACCOUNT, "token", "ls", "A", "ci@a.service"]) == CommandStatus.OK
    rows = json.loads(capsys.readouterr().out)
    assert [(row["name"], row["scopes"], row["project"]["name"]) for row in rows] == [
        ("runner", ["read", "submit"], "vision"), ("runner", ["read"], "vision")
    ]  # fmt: skip
    assert main([*ACCOUNT, "token", "revoke", "A", "ci", "runner", "--yes"]) == CommandStatus.REFUSED  # two have it
    assert main([*ACCOUNT, "token", "revoke", "A", "ci", rows[1]["id"], "--yes"]) == CommandStatus.OK
    monkeypatch.setenv("MLHUB_TOKEN", first)
    capsys.readouterr()
    assert main(["ps"]) == CommandStatus.NOT_SIGNED_IN
    said = capsys.readouterr().err
    assert "The API token 'runner' of ci@a.service was revoked on" in said
    assert "mlhub service-account token create" in said
    monkeypatch.setenv("MLHUB_TOKEN", second)
    assert main(["ps"]) == CommandStatus.OK
    ApiToken.objects.filter(user__username="ci@a.service").update(expires_at=timezone.now() - timedelta(minutes=1))
    capsys.readouterr()
    assert main(["ps"]) == CommandStatus.NOT_SIGNED_IN
    assert "The API token 'runner' of ci@a.service expired on" in capsys.readouterr().err


def test_it_is_deactivated_activated_and_deleted(
    admin: Cast, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*ACCOUNT, "create", "A", "ci"]) == CommandStatus.OK
    capsys.readouterr()
    assert main([*ACCOUNT, "token", "create", "A", "ci"]) == CommandStatus.OK
    secret = capsys.readouterr().out.strip()
    assert main([*ACCOUNT, "deactivate", "A", "ci"]) == CommandStatus.OK
    with monkeypatch.context() as program:
        program.setenv("MLHUB_TOKEN", secret)
        assert main(["ps"]) == CommandStatus.NOT_SIGNED_IN
        assert "is deactivated. An admin of its organisation can activate it" in capsys.readouterr().err
    assert main([*ACCOUNT, "activate", "A", "ci"]) == CommandStatus.OK
    assert main([*ACCOUNT, "role", "A", "ci", "viewer"]) == CommandStatus.OK
    assert main([*ACCOUNT, "role", "A", "ci", "owner"]) != CommandStatus.OK
    assert main([*ACCOUNT, "ls", "A"]) == CommandStatus.OK
    assert "viewer" in capsys.readouterr().out
    assert main([*ACCOUNT, "rm", "A", "ic", "--yes"]) == CommandStatus.REFUSED
    assert main([*ACCOUNT, "rm", "A", "ci", "--yes"]) == CommandStatus.OK
    assert not User.objects.filter(username="ci@a.service").exists()


def test_a_member_makes_none_and_no_pipe_is_no_password(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert main([*ACCOUNT, "create", "A", "ci"]) == CommandStatus.REFUSED
    assert "admin" in capsys.readouterr().err
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main([*ACCOUNT, "create", "A", "ci"]) == CommandStatus.OK
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main([*ACCOUNT, "token", "create", "A", "ci"]) == CommandStatus.USAGE
    monkeypatch.setattr("sys.stdin", io.StringIO("wrong\n"))
    assert main([*ACCOUNT, "token", "create", "A", "ci"]) == CommandStatus.NOT_SIGNED_IN
    assert not ApiToken.objects.filter(user__username="ci@a.service").exists()
