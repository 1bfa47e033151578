# SPDX-License-Identifier: Apache-2.0
"""mlhub quota set --dry-run of limits below their use, and the way back: history and restore."""

from __future__ import annotations

import pytest

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.jobs.models import Job
from mlhub.jobs.states import JobState
from mlhub.tenants.actions import quota_of
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.jobs.builders import job as make_job

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_limit_below_its_use_is_named_before_it_is_set_and_a_change_is_undone(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    bob.a.memberships.filter(user=bob.bob).update(role="admin")
    waiting = make_job(bob.project_a, bob.bob)
    assert main(["quota", "set", "vision", "--waiting-jobs", "0", "--dry-run"]) == CommandStatus.OK
    said = capsys.readouterr().err
    assert "vision queues 1 jobs now, and the limit would be 0: nothing is stopped or deleted" in said
    Job.objects.filter(pk=waiting.pk).update(state=JobState.STARTING)
    assert main(["quota", "set", "vision", "--running-jobs", "0", "--dry-run"]) == CommandStatus.OK
    assert "jobs above it save a checkpoint within 30 s, and wait" in capsys.readouterr().err
    assert main(["quota", "set", "vision", "--max-gpus", "3"]) == CommandStatus.OK
    capsys.readouterr()
    assert main(["quota", "history", "vision"]) == CommandStatus.OK
    assert "max_gpus none" in capsys.readouterr().out
    assert main(["quota", "restore", "vision", "1"]) == CommandStatus.OK
    assert quota_of(bob.project_a).max_gpus is None
    assert main(["quota", "restore", "vision", "99"]) == CommandStatus.REFUSED
