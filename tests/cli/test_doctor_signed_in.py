# SPDX-License-Identifier: Apache-2.0
"""mlhub doctor of somebody who is signed in to a platform elsewhere: that platform is what is checked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError

from mlhub.cli import credentials
from mlhub.cli.app import main
from mlhub.cli.commands import access_checks
from mlhub.tenants.actions import create_token
from mlhub.tenants.models import Membership
from mlhub.tenants.sign_in import authentication
from tests.cast import Cast, make_cast

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cast(transactional_db: None, live_server: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cast:
    """Bob is signed in; there is no platform in the folder."""
    cast = make_cast()
    for name in ("MLHUB_URL", "MLHUB_TOKEN", "DATABASE_URL", "DATABASE_URL_FILE", "MLHUB_PUBLIC_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("MLHUB_HOME", str(tmp_path / "none"))
    _, token = create_token(cast.bob, name="terminal", scopes=["read"], expires_in_days=1)
    credentials.keep(credentials.Credentials(live_server.url, token))
    return cast


def found(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    return {row["name"]: row for row in json.loads(capsys.readouterr().out)}


def test_the_platform_that_one_is_signed_in_to_is_checked_not_this_machine(
    cast: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["-o", "json", "doctor"]) == 0
    results = found(capsys)
    assert list(results) == ["web", "version", "rounds", "token", "rights", "ingest"]
    assert {row["state"] for row in results.values()} == {"ok"}
    assert "bob" in results["token"]["detail"]
    assert main(["doctor"]) == 0
    shown = capsys.readouterr()
    assert "ok    rounds" in shown.out
    assert "FAIL" not in shown.out
    assert "There is no platform in" in shown.err


def test_a_token_that_was_revoked_and_a_user_without_rights_are_named_with_the_remedy(
    cast: Cast, capsys: pytest.CaptureFixture[str]
) -> None:
    Membership.objects.filter(user=cast.bob).delete()
    assert main(["-o", "json", "doctor"]) == 1
    rights = found(capsys)["rights"]
    assert (rights["state"], "mlhub organisation create" in rights["remedy"]) == ("problem", True)
    _, token = create_token(cast.root, name="terminal", scopes=["read", "admin"], expires_in_days=1)
    assert main(["--token", token, "-o", "json", "doctor"]) == 0  # an administrator needs no membership
    assert "your token does what only they may do" in found(capsys)["rights"]["detail"]
    _, token = create_token(cast.root, name="reads", scopes=["read"], expires_in_days=1)
    assert main(["--token", token, "-o", "json", "doctor"]) == 0
    assert "takes `mlhub login --admin`" in found(capsys)["rights"]["detail"]
    cast.bob.api_tokens.all().delete()
    assert main(["-o", "json", "doctor"]) == 1
    token = found(capsys)["token"]
    assert (token["state"], token["remedy"].startswith("Run `mlhub login http")) == ("problem", True)


def test_a_platform_that_cannot_answer_now_is_not_taken_for_a_wrong_token(
    cast: Cast, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise OperationalError

    monkeypatch.setattr(authentication, "_stored", away)
    assert main(["-o", "json", "doctor"]) == 1
    token = found(capsys)["token"]
    assert (token["state"], token["remedy"]) == ("unknown", "Run `mlhub doctor` again.")


def test_another_minor_version_and_an_address_without_a_platform_fail(
    cast: Cast, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(access_checks, "__version__", "0.0.1")
    assert main(["-o", "json", "doctor"]) == 1
    assert found(capsys)["version"]["remedy"].startswith("Install MLHub")
    credentials.keep(credentials.Credentials("http://127.0.0.1:1", "mlh_any"))
    assert main(["-o", "json", "doctor"]) == 1
    (web,) = found(capsys).values()
    assert (web["name"], web["state"]) == ("web", "problem")
