# SPDX-License-Identifier: Apache-2.0
"""mlhub notebook: start, list, open, stop."""

from __future__ import annotations

import json

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.jobs.models import Job
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow
def test_a_notebook_is_started_listed_and_stopped(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["notebook", "start", "--name", "look", "--idle-minutes", "10"]) == CommandStatus.OK
    job = Job.objects.get(pk=capsys.readouterr().out.strip())
    assert (job.kind, job.name, job.limits) == ("notebook", "look", {"idle_s": 600})
    assert main(["-o", "json", "notebook", "ls"]) == CommandStatus.OK
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["look"]
    assert main(["notebook", "open", "look"]) == CommandStatus.REFUSED
    assert "Wait until it runs." in capsys.readouterr().err
    assert main(["notebook", "stop", "look"]) == CommandStatus.OK
    job.refresh_from_db()
    assert job.state == "paused"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["notebook", "open", "absent"], "There is no job absent"),
        (["notebook", "start", "--data", "absent"], "absent"),
    ],
)
def test_what_is_not_there_is_named(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    argv: list[str],
    message: str,
) -> None:
    assert main(argv) == CommandStatus.REFUSED
    assert message in capsys.readouterr().err
