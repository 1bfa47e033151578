# SPDX-License-Identifier: Apache-2.0
"""mlhub move: simulates another place in the queue, and makes it so when it is asked to."""

from __future__ import annotations

import pytest
from django.utils import timezone

from mlhub.cli.app import main
from mlhub.cli.failures import CommandStatus
from mlhub.clusters.models import Node
from mlhub.jobs.models import Job
from tests.cast import Cast
from tests.cli.test_commands import _own_folders, bob, cast  # noqa: F401 (fixtures)
from tests.control.worlds import World

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_move_in_the_queue_is_simulated_and_made_with_yes(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = World(bob, now=timezone.now())
    world.settle(policy="fifo")
    for name in ("holding", "early", "late"):
        world.job(name=name, min_workers=4)
        world.rounds(2)
    late = Job.objects.get(name="late")
    assert main(["move", "late"]) == CommandStatus.USAGE
    assert "--before or --after" in capsys.readouterr().err
    assert main(["move", "late", "--before", "early"]) == CommandStatus.OK
    said = capsys.readouterr()
    assert "late" in said.out
    assert "Priority 1 gives it place 1 instead of 2. Nothing was changed" in " ".join(said.err.split())
    late.refresh_from_db()
    assert late.priority == 0
    assert main(["move", "late", "--before", "early", "--yes"]) == CommandStatus.OK
    late.refresh_from_db()
    assert late.priority == 1
    assert main(["move", "late", "--before", "early"]) == CommandStatus.REFUSED
    assert "already" in capsys.readouterr().err


def test_the_queue_is_shown_for_a_type_of_gpu(
    bob: Cast,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = World(bob, now=timezone.now())
    world.settle(policy="fifo")
    for name, types in (("holding", []), ("anywhere", []), ("elsewhere", ["K80"])):
        world.job(name=name, min_workers=4, resources={"gpu_types": types} if types else {})
        world.rounds(2)
    (gpu_type,) = {node.gpu_type for node in Node.objects.all()}
    assert main(["queue", "--gpu-type", gpu_type]) == CommandStatus.OK
    listed = capsys.readouterr().out
    assert "anywhere" in listed
    assert "elsewhere" not in listed
    assert main(["queue", "--gpu-type", "no such"]) != CommandStatus.OK
    assert gpu_type in capsys.readouterr().err
