# SPDX-License-Identifier: Apache-2.0
"""Processes of the running platform are killed while a job trains: no job, no stored point and no pod is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.training import Training
from tests.platform import RunningPlatform, is_alive, running, wait

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningPlatform]:
    """One for both tests: the first leaves it without a pod."""
    with running(tmp_path_factory.mktemp("kills")) as found:
        yield found


def living_pods(platform: RunningPlatform) -> dict[str, int]:
    return {name: pid for name, pid in platform.pods().items() if is_alive(pid)}


def test_killing_web_worker_and_control_loses_no_job_no_point_and_no_pod(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    training = Training(platform, tmp_path)
    pods = platform.pods()
    assert len(pods) == 2
    for name in ("web", "worker", "control"):
        before, pid = training.points(), platform.pids()[name]
        os.kill(pid, signal.SIGKILL)
        wait(lambda name=name, pid=pid: platform.pids()[name] != pid)
        training.moves_on()
        after = training.points()
        assert {step: after.get(step) for step in before} == before, name
        assert max(after) > max(before)
        assert platform.pods() == pods, name
        assert all(is_alive(pid) for pid in pods.values()), name
    job = training.job()
    assert (job["state"], len(job["attempts"])) == ("running", 1)
    training.person.post(f"/jobs/{training.id}/cancel")
    wait(lambda: training.job()["state"] == "cancelled", message=platform.logs())
    wait(lambda: not any(is_alive(pid) for pid in pods.values()))


def test_a_killed_supervisor_s_platform_is_taken_over_with_its_pods_and_a_stop_leaves_nothing(
    platform: RunningPlatform, tmp_path: Path
) -> None:
    training = Training(platform, tmp_path, organisation="B")
    pods, points = living_pods(platform), training.points()
    assert len(pods) == 2
    platform.kill()
    platform.start()
    training.sign_in()
    training.moves_on()
    assert living_pods(platform) == pods
    assert points.items() <= training.points().items()
    everything = [*platform.pids().values(), *pods.values()]
    assert platform.stop() == 0
    assert not [pid for pid in everything if is_alive(pid)]
    platform.start()
    training.sign_in()
    saved = training.steps()
    wait(lambda: len(training.job()["attempts"]) == 2 and training.steps() > saved, message=platform.logs())
    assert training.job()["attempts"][1]["first_step"] > 0  # it resumed from what the stop had saved
