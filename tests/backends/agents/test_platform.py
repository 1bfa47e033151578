# SPDX-License-Identifier: Apache-2.0
"""A whole platform with two further machines: a gang over both trains, and outlives an agent and the platform."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.training import Training
from tests.platform import ROOT, RunningPlatform, running, wait

pytestmark = [pytest.mark.chaos, pytest.mark.slow, pytest.mark.timeout(1800)]


class Machine:
    def __init__(self, folder: Path, *, name: str, server: str, token: str, address: str) -> None:
        self.home, self.log = folder / name, folder / f"{name}.log"
        self.words = [f"--server={server}", f"--home={self.home}", f"--address={address}"]
        self.token = token
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mlhub.agent", *self.words, "--slots=1", "--warm-workers=0", "--no-gpus"],
                cwd=ROOT, env=os.environ | {"MLHUB_AGENT_TOKEN": self.token}, stdout=log, stderr=log,
            )  # fmt: skip

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def pods(self) -> set[str]:
        """Of each its attempt and name, with the process that looks after it."""
        return {
            f"{path.parts[-3]}/{path.parts[-2]}: {path.read_text()}" for path in self.home.glob("pods/*/*/shim.json")
        }

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()
        found = subprocess.run(["pgrep", "-f", f"shim.py {self.home}/"], capture_output=True, text=True, check=False)
        for pid in map(int, found.stdout.split()):
            os.kill(pid, signal.SIGTERM)


@pytest.fixture
def platform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningPlatform]:
    monkeypatch.setenv("MLHUB_BACKEND", "agents")
    monkeypatch.setenv("MLHUB_AGENT_LOST_S", "900")  # longer than any restart
    with running(tmp_path) as found:
        yield found


@pytest.fixture
def two(platform: RunningPlatform, tmp_path: Path) -> Iterator[list[Machine]]:
    """Two machines with a slot each, which are open; the platform's own is closed."""
    root = platform.person("root")
    found = []
    for i, name in enumerate(("lab-1", "lab-2"), start=2):
        token = root.post("/agents", name=name)["token"]
        found.append(Machine(tmp_path, name=name, server=platform.url, token=token, address=f"127.0.0.{i}"))
    try:
        for machine in found:
            machine.start()

        def nodes() -> dict[str, Any]:
            return {node["name"]: node for rack in root.get("/cluster")["racks"] for node in rack["nodes"]}

        wait(lambda: sum(node["is_ready"] for node in nodes().values()) == 3, seconds=600)
        own = next(agent["name"] for agent in root.get("/agents")["results"] if agent["is_own"])
        root.post(f"/cluster/nodes/{own}/cordon")
        yield found
    finally:
        for machine in found:
            machine.end()


def test_a_gang_over_two_machines_trains_and_outlives_an_agent_and_the_platform(
    platform: RunningPlatform, two: list[Machine], tmp_path: Path
) -> None:
    training = Training(platform, tmp_path)
    before = [machine.pods() for machine in two]
    assert all(sum("/worker-" in pod for pod in pods) == 1 for pods in before)
    two[1].kill()
    two[1].start()
    training.moves_on()
    platform.kill()
    platform.start()
    training.sign_in()
    training.moves_on()
    assert [machine.pods() for machine in two] == before
    assert len(training.job()["attempts"]) == 1
    training.person.post(f"/jobs/{training.id}/cancel")
    wait(lambda: training.job()["state"] == "cancelled", seconds=600)
    wait(lambda: not any(machine.pods() for machine in two), seconds=600)
    short = training.person.post("/jobs", **training.body | {"epochs": 2}, min_workers=2, max_workers=2)["id"]
    wait(lambda: training.person.get(f"/jobs/{short}")["state"] == "succeeded", seconds=600, message=platform.logs())
