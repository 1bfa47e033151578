# SPDX-License-Identifier: Apache-2.0
"""mlhub team: teams below teams, by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.tenants.models import Team
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_teams_are_made_moved_renamed_and_removed_by_name(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run(*argv: str) -> Any:
        assert main([*argv]) == CommandStatus.OK, capsys.readouterr().err
        return capsys.readouterr()

    assert main(["team", "add", "research"]) == CommandStatus.REFUSED
    assert "admin" in capsys.readouterr().err
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    run("team", "add", "research")
    run("team", "add", "sight", "--below", "research")
    assert "vision is in sight now" in run("project", "move", "vision", "--team", "sight").err
    assert main(["project", "move", "vision", "--team", "sihgt"]) == CommandStatus.REFUSED
    assert "vision is in A now" in run("project", "move", "vision", "--team", "none").err
    run("project", "move", "vision", "--team", "research")
    assert main(["quota", "set", "research", "--guarantee", "0"]) == CommandStatus.OK
    run("project", "move", "vision", "--team", "sight")
    rows = json.loads(run("-o", "json", "team", "ls").out)
    assert [(row["path"], row["projects"]) for row in rows] == [
        (["research"], []),
        (["research", "sight"], ["vision"]),
    ]
    assert "research / sight" in run("team", "ls").out
    assert main(["team", "move", "research", "sight"]) == CommandStatus.REFUSED
    assert "research cannot be moved below sight, which is below it." in capsys.readouterr().err
    assert main(["team", "rm", "research", "--yes"]) == CommandStatus.REFUSED
    assert "research holds 1 team." in capsys.readouterr().err
    assert "sight is below A now" in run("team", "move", "sight", "none").err
    run("team", "rename", "sight", "images")
    run("team", "rm", "research", "--yes")
    assert [one.name for one in Team.objects.all()] == ["images"]
    assert json.loads(run("-o", "json", "usage", "--team", "images").out) == []
