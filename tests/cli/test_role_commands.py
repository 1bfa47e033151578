# SPDX-License-Identifier: Apache-2.0
"""mlhub role: roles in a project are listed with their sources, given, changed and withdrawn, and explained."""

from __future__ import annotations

import json

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.tenants.models import Team
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_a_role_is_given_changed_listed_and_withdrawn_by_names(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["role", "give", "victor", "member", "vision"]) == CommandStatus.REFUSED
    assert "an admin of vision or of A" in capsys.readouterr().err
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(["role", "give", "victor", "submitter", "vision"]) == CommandStatus.OK
    assert main(["role", "give", "victor", "member", "vision"]) == CommandStatus.OK
    assert main(["role", "give", "victor", "admin", "vision"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["-o", "json", "role", "ls", "vision"]) == CommandStatus.OK
    rows = {row["user"]["username"]: row for row in json.loads(capsys.readouterr().out)}
    assert [one["place"] for one in rows["victor"]["assignments"]] == ["project", "organisation"]
    assert rows["victor"]["role"] == "admin"
    assert main(["role", "why", "vision", "--user", "victor"]) == CommandStatus.OK
    assert "admin (project vision), viewer (organisation A)" in "".join(capsys.readouterr())
    assert main(["role", "withdraw", "victor", "vision"]) == CommandStatus.OK
    assert main(["role", "withdraw", "victor", "vision"]) == CommandStatus.REFUSED


def test_a_team_and_a_project_of_one_name_are_told_apart(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(["team", "add", "vision"]) == CommandStatus.OK
    for command in (["role", "ls"], ["quota", "users", "ls"]):
        assert main([*command, "vision"]) == CommandStatus.USAGE
        said = capsys.readouterr().err
        assert "team/vision" in said
        assert "project/vision" in said
        assert main([*command, "team/vision"]) == CommandStatus.OK
        assert main([*command, "team/visoin"]) == CommandStatus.REFUSED
    assert main(["role", "give", "victor", "member", "project/vision"]) == CommandStatus.OK
    assert main(["quota", "set", "team/vision", "--max-gpus", "3"]) == CommandStatus.OK
    assert Team.objects.get(name="vision").quota.max_gpus == 3
    assert bob.project_a.role_bindings.get().role == "member"
