# SPDX-License-Identifier: Apache-2.0
"""mlhub quota users set: budgets of one person, of every period and type, as of organisations and projects."""

from __future__ import annotations

import json

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)


def test_budgets_of_a_user_have_the_options_of_all_budgets(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    users = ["quota", "users", "set", "vision", "bob"]
    for argv in (
        [*users, "--gpu-hours", "20", "--budget", "week:A100=40,stop_all"],
        [*users, "--budget", "day=2", "--budget", "once=900,alert"],
        [*users, "--budget", "week:A100=50"],
        [*users, "--gpu-hours", "none"],
    ):
        assert main(argv) == CommandStatus.OK, capsys.readouterr()
    capsys.readouterr()
    assert main(["-o", "json", "quota", "users", "ls", "vision"]) == CommandStatus.OK
    (own,) = json.loads(capsys.readouterr().out)
    found = {(one["period"], one["gpu_type"], one["gpu_hours"], one["on_exhausted"]) for one in own["budgets"]}
    assert found == {("week", "A100", 50, "stop_all"), ("day", "", 2, "alert"), ("once", "", 900, "alert")}
    assert main([*users, "--budget", "fortnight=3"]) == CommandStatus.USAGE
    assert "fortnight=3 names no period: one of day, week, month, once." in capsys.readouterr().err
