# SPDX-License-Identifier: Apache-2.0
"""What is deleted by command is asked about first."""

from __future__ import annotations

import io
from collections.abc import Iterator

import click
import pytest
import typer

from mlhub.cli.app import app, main
from mlhub.cli.failures import CommandStatus
from mlhub.tenants.models import Team
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)


def test_every_command_that_deletes_has_yes() -> None:
    found = dict(_removals(typer.main.get_command(app)))
    assert {"team rm", "secret rm", "study rm", "checkpoint rm", "model alias rm", "rm"} <= set(found)
    assert [name for name, options in found.items() if "--yes" not in options] == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.slow
def test_a_team_is_deleted_only_when_the_person_says_yes(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    assert main(["team", "add", "research"]) == CommandStatus.OK
    for answer in ("n\n", ""):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        assert main(["team", "rm", "research"]) == CommandStatus.USAGE
        said = capsys.readouterr().err
        assert "Delete the team research of A for good?" in said
        assert "Nothing was deleted. Say y, or give --yes." in " ".join(said.split())
        assert Team.objects.filter(name="research").exists()
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["team", "rm", "research"]) == CommandStatus.OK
    assert not Team.objects.filter(name="research").exists()


def _removals(command: click.Command, above: str = "") -> Iterator[tuple[str, list[str]]]:
    """Names of all commands called rm, and their options."""
    for name, below in getattr(command, "commands", {}).items():
        path = f"{above} {name}".strip()
        if name == "rm":
            yield path, [option for parameter in below.params for option in parameter.opts]
        yield from _removals(below, path)
