# SPDX-License-Identifier: Apache-2.0
"""mlhub project retention, mlhub organisation retention: shown, tried out, set by admins."""

from __future__ import annotations

import json

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.jobs.models import OrganisationRetention, ProjectRetention
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def test_rules_are_shown_tried_out_and_set(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["project", "retention", "set", "vision", "logs=30", "results=0"]
    assert main(command) == CommandStatus.REFUSED
    assert "admin" in capsys.readouterr().err
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(["-o", "json", *command, "--dry-run"]) == CommandStatus.OK
    assert [row["kind"] for row in json.loads(capsys.readouterr().out)] == ["logs", "results"]
    assert not ProjectRetention.objects.exists()
    assert main(command) == CommandStatus.OK
    assert ProjectRetention.objects.get().days == {"logs": 30.0, "results": 0.0}
    assert main(["project", "retention", "set", "vision", "logs=usual"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["-o", "json", "project", "retention", "show", "vision"]) == CommandStatus.OK
    kinds = {row["kind"]: row for row in json.loads(capsys.readouterr().out)}
    assert (kinds["logs"]["is_own"], kinds["results"]["days"]) == (False, None)
    assert main(["project", "retention", "set", "vision", "logs"]) != CommandStatus.OK
    assert "logs=30" in capsys.readouterr().err
    assert main(["project", "retention", "set", "vision", "lgos=1"]) == CommandStatus.REFUSED


def test_bounds_of_an_organisation_are_tried_out_set_and_shown(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    command = ["organisation", "retention", "set", "A", "logs.most=30", "metrics.default=60"]
    assert main(["-o", "json", *command, "--dry-run"]) == CommandStatus.OK
    rows = json.loads(capsys.readouterr().out)
    assert [(row["kind"], row["days_before"], row["days_after"]) for row in rows] == [
        ("logs", 90, 30),
        ("metrics", None, 60),
    ]
    assert main(command) == CommandStatus.OK
    assert OrganisationRetention.objects.get().rules == {"logs": {"most_days": 30}, "metrics": {"default_days": 60}}
    capsys.readouterr()
    assert main(["organisation", "retention", "show", "A"]) == CommandStatus.OK
    assert "vision: logs 30 in place of 90." in capsys.readouterr().err
    assert main(["project", "retention", "set", "vision", "logs=31"]) == CommandStatus.REFUSED
    assert "at most 30 days" in capsys.readouterr().err
    assert main(["organisation", "retention", "set", "A", "logs.longest=1"]) != CommandStatus.OK
    assert "logs.most=90" in capsys.readouterr().err
    assert main(["organisation", "retention", "show", "nobody's"]) == CommandStatus.REFUSED


def test_what_a_deletion_of_an_organisation_would_remove_is_shown(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["organisation", "deletion", "A"]) == CommandStatus.REFUSED
    bob.a.memberships.filter(user=bob.bob).update(role="owner")
    capsys.readouterr()
    assert main(["organisation", "deletion", "A"]) == CommandStatus.OK
    shown = capsys.readouterr()
    assert [line.split() for line in shown.out.splitlines()] == [
        ["KIND", "NUMBER"],
        ["projects", "1"],
        ["members", "3"],
    ]
    assert "Archive it first" in shown.err.replace("\n", " ")
