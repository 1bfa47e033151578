# SPDX-License-Identifier: Apache-2.0
"""Processes of the running platform are killed while a job trains: no job, no stored point and no pod is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mlhub.demo.client import Person
from tests.platform import RunningPlatform, is_alive, wait
from tests.runtime.gang import write_blobs

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(420)]


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[RunningPlatform]:
    tmp_path.chmod(0o755)
    found = RunningPlatform(tmp_path / "home")
    try:
        found.start()
        yield found
    finally:  # also when it did not come up
        found.end()


class Training:
    """A long job of one person, and how it goes on."""

    def __init__(self, platform: RunningPlatform, folder: Path) -> None:
        self.platform = platform
        self.person: Person = platform.person("alice", organisation="A")
        content = write_blobs(folder / "blobs.npz", n=2000).read_bytes()
        project = self.person.post("/projects", organisation=self.person.organisation["id"], name="p")
        dataset = self.person.upload("/datasets", "blobs.npz", content, name="blobs", project=project["id"])
        self.person.wait_ready(f"/datasets/{dataset['id']}")
        mlp = next(m for m in self.person.get("/models", limit=200)["results"] if m["name"] == "mlp")
        body = {"dataset": dataset["id"], "model": mlp["id"], "epochs": 50_000, "batch_size": 64}
        self.id = self.person.post("/jobs", **body, min_workers=2, max_workers=2)["id"]
        wait(lambda: self.steps() > 200, seconds=120, message=platform.logs())

    def job(self) -> dict[str, Any]:
        found: dict[str, Any] = self.person.get(f"/jobs/{self.id}")
        return found

    def steps(self) -> int:
        return int(self.job()["steps_done"])

    def points(self) -> dict[int, float]:
        """Of the training loss, by step; all that are stored."""
        (series,) = self.person.get(f"/jobs/{self.id}/metrics", key="train/loss", max_points=100_000)["series"]
        return {p["step"]: p["value"] for p in series["points"]}

    def moves_on(self) -> None:
        """It trains further than it had when this was asked."""
        answers = (httpx.HTTPError, OSError)

        def more(than: int) -> bool:
            try:
                return self.steps() > than
            except answers:
                return False

        seen: list[int] = []

        def first() -> bool:
            try:
                seen.append(self.steps())
            except answers:
                return False
            return True

        wait(first, seconds=60, message=self.platform.logs())
        wait(lambda: more(seen[0]), seconds=60, message=self.platform.logs())


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
