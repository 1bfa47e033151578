# SPDX-License-Identifier: Apache-2.0
"""mlhub node: what is said of a node that takes no new jobs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.control.models import NodeExclusion
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.control.worlds import World

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_node_that_is_excluded_says_why_and_until_when(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = timezone.now()
    World(bob, now=now).round()
    until = now + timedelta(minutes=9, seconds=25)
    NodeExclusion.objects.create(node="n1", since=now, until=until, n_times=1, cause="io_error", n_failures=3, n_jobs=2)
    assert main(["node", "ls"]) == CommandStatus.OK
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "excluded: 3 attempts failed (io_error); tried again in 9 min" in lines["n1"]
    assert "ready" in lines["n0"]
