# SPDX-License-Identifier: Apache-2.0
"""Announcements on the command line: administrators create and delete them, and commands of everybody say them."""

from __future__ import annotations

import json

import pytest

from mlhub.announcements.models import Announcement
from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.tenants.actions import create_token
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def as_root(bob: Cast, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:  # noqa: F811
    _, token = create_token(bob.root, name="cli", scopes=["read", "write", "admin"], expires_in_days=1)
    monkeypatch.setenv("MLHUB_TOKEN", token)
    return monkeypatch


def test_what_administrators_say_is_on_standard_error_of_commands_until_it_is_dismissed(
    bob: Cast,  # noqa: F811
    as_root: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, token = create_token(bob.bob, name="own", scopes=["read", "write"], expires_in_days=1)
    created = ["announcement", "create", "The cluster is moved on Friday.", "--warning", "--hours", "48"]
    assert main(created) == CommandStatus.OK
    assert "It is shown now; it ends in 2 d 0 h." in capsys.readouterr().err
    as_root.setenv("MLHUB_TOKEN", token)
    said = "Warning: The cluster is moved on Friday. (`mlhub announcement dismiss "
    for command in (["ps"], ["queue"], ["top"], ["whoami"]):
        assert main(command) == CommandStatus.OK
        printed = capsys.readouterr()
        assert said in printed.err
        assert "Friday" not in printed.out
    assert main(["announcement", "create", "mine"]) == CommandStatus.REFUSED
    assert "Only administrators of the platform" in capsys.readouterr().err
    (row,) = Announcement.objects.all()
    assert main(["announcement", "list"]) == CommandStatus.OK
    assert str(row.pk)[-8:] in capsys.readouterr().out
    assert main(["announcement", "dismiss", str(row.pk)[-8:]]) == CommandStatus.OK
    assert "Dismissed." in capsys.readouterr().err
    assert main(["ps"]) == CommandStatus.OK
    assert "Friday" not in capsys.readouterr().err


def test_one_for_an_organisation_stays_until_it_is_deleted(
    bob: Cast,  # noqa: F811
    as_root: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    created = ["--output", "json", "announcement", "create", "For [A]", "--organisation", "A", "--stays"]
    assert main(created) == CommandStatus.OK
    made = json.loads(capsys.readouterr().out)
    assert (made["organisation"]["name"], made["is_dismissible"], made["ends_at"]) == ("A", False, None)
    assert bob.a.announcements.count() == 1
    assert main(["announcement", "dismiss", made["id"]]) == CommandStatus.REFUSED
    assert "It is shown until it ends." in capsys.readouterr().err
    assert main(["announcement", "list"]) == CommandStatus.OK
    assert "For [A]" in capsys.readouterr().out
    assert main(["announcement", "delete", made["id"][-8:]]) == CommandStatus.OK
    assert "Deleted." in capsys.readouterr().err
    assert main(["announcement", "delete", made["id"][-8:]]) == CommandStatus.REFUSED
    assert "There is no announcement" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--hours", "1", "--ends", "2099-01-01T00:00:00Z"], "Give --hours or --ends"),
        (["--begins", "soon", "--hours", "1"], "--begins soon is no time"),
        (["--ends", "2020-01-01T00:00:00Z"], "give a time that is to come"),
        (["--organisation", "Nowhere"], "Nowhere"),
    ],
)
def test_wrong_options_are_refused_with_the_remedy(
    as_root: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    problem: str,
) -> None:
    assert main(["announcement", "create", "x", *options]) != CommandStatus.OK
    assert problem in capsys.readouterr().err
    assert not Announcement.objects.exists()
