# SPDX-License-Identifier: Apache-2.0
"""Processes of the running platform are killed while a job trains: no job, no stored point and no pod is lost."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.chaos.training import Training
from tests.platform import RunningPlatform, is_alive, wait

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


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
    training = Training(platform, tmp_path)
    pods, points = platform.pods(), training.points()
    platform.kill()
    platform.start()
    training.person = platform.person("alice", organisation="A")
    training.moves_on()
    assert platform.pods() == pods
    assert all(is_alive(pid) for pid in pods.values())
    assert points.items() <= training.points().items()
    everything = [*platform.pids().values(), *pods.values()]
    assert platform.stop() == 0
    assert not [pid for pid in everything if is_alive(pid)]
    platform.start()
    training.person = platform.person("alice", organisation="A")
    saved = training.steps()
    wait(lambda: len(training.job()["attempts"]) == 2 and training.steps() > saved, message=platform.logs())
    assert training.job()["attempts"][1]["first_step"] > 0  # it resumed from what the stop had saved
