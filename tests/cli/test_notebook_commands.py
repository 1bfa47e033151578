# SPDX-License-Identifier: Apache-2.0
"""mlhub notebook: start, list, open, stop."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.jobs.models import Attempt, Job, NotebookActivity
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.slow
def test_a_notebook_is_started_listed_and_stopped(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["notebook", "start", "--name", "look", "--idle-minutes", "10"]) == CommandStatus.OK
    made = Job.objects.get(pk=capsys.readouterr().out.strip())
    assert (made.kind, made.name, made.limits) == ("notebook", "look", {"idle_s": 600})
    assert main(["-o", "json", "notebook", "ls"]) == CommandStatus.OK
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["look"]
    assert main(["notebook", "open", "look"]) == CommandStatus.REFUSED
    assert "Wait until it runs." in capsys.readouterr().err
    assert main(["notebook", "stop", "look"]) == CommandStatus.OK
    made.refresh_from_db()
    assert made.state == "paused"


@pytest.mark.parametrize("listing", [["notebook", "ls"], ["ps"]])
def test_the_lists_say_of_a_paused_notebook_why_it_was_paused(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    listing: list[str],
) -> None:
    idle, _ = (job(bob.project_a, bob.bob, name=name, kind="notebook", state="paused") for name in ("idle", "stopped"))
    now = timezone.now()
    NotebookActivity.objects.create(
        attempt=Attempt.objects.create(job=idle, number=1, mode="all_reduce", n_workers=1),
        active_at=now - timedelta(hours=2),
        reported_at=now,
        reclaimed_at=now - timedelta(minutes=1),
    )
    assert main(listing) == CommandStatus.OK
    lines = {line.split()[1]: line for line in capsys.readouterr().out.splitlines()[1:]}
    assert "since nothing was done in it for 119 min" in lines["idle"]
    assert "The job is paused." in lines["stopped"]
    assert main(["why", "idle"]) == CommandStatus.OK
    assert capsys.readouterr().out.splitlines()[0] in lines["idle"]
    Attempt.objects.create(job=idle, number=2, mode="all_reduce", n_workers=1)  # it was resumed, and paused by a person
    assert main(listing) == CommandStatus.OK
    assert "nothing was done" not in capsys.readouterr().out


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
