# SPDX-License-Identifier: Apache-2.0
"""python -m tests.chaos.soak --hours 1: jobs come and faults strike at random; in the end nothing may be missing.

The faults follow from the seed, which is printed. Counted at the end: jobs that were acknowledged and are gone or have
failed, points and log lines that were seen once and are gone, GPUs that are still held, and processes of pods that are
left over. All must be 0.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from mlhub.client.job_parts import lines, points
from mlhub.demo.client import Person, RequestRefused
from tests.chaos.stopping import stopped
from tests.platform import ROOT, RunningPlatform, is_alive, running, wait
from tests.runtime.gang import write_blobs

AWAY = (httpx.HTTPError, OSError, RequestRefused)
PROCESSES = ("web", "worker", "beat", "control", "postgres", "valkey")
PAUSE_S = (2.0, 15.0)  # between two faults
N_LIVE = 3  # jobs at a time
ENDED = ("succeeded", "failed", "cancelled")
POINTS = """
import json
from mlhub.metrics.models import MetricPoint
columns = ("series__job_id", "series__attempt__number", "step", "value")
rows = MetricPoint.objects.filter(series__key="train/loss").values_list(*columns)
print(json.dumps([[str(job), attempt, step, value] for job, attempt, step, value in rows]))
"""
CHECK = "import json; from tests.chaos.invariants import check_everything; check_everything()"


@dataclass
class Seen:
    """What was acknowledged, and therefore must be there in the end. points: by attempt and step."""

    jobs: list[str] = field(default_factory=list)
    points: dict[str, dict[tuple[int, int], float]] = field(default_factory=dict)
    lines: dict[str, dict[tuple[Any, ...], str]] = field(default_factory=dict)


@dataclass
class Soak:
    platform: RunningPlatform
    person: Person
    body: Mapping[str, Any]
    chance: random.Random
    seen: Seen = field(default_factory=Seen)
    faults: dict[str, int] = field(default_factory=dict)

    def run(self, *, until: float) -> None:
        while time.monotonic() < until:
            self._submit()
            self._look()
            name, fault = self._fault()
            print(f"{max(0, until - time.monotonic()):7.0f} s left  {len(self.seen.jobs):3d} jobs  {name}", flush=True)
            self.faults[name] = self.faults.get(name, 0) + 1
            fault()
            time.sleep(self.chance.uniform(*PAUSE_S))

    def _submit(self) -> None:
        """Asked again with the same key while no answer comes, as a client should."""
        try:
            live = [j for j in self.person.get("/jobs", limit=200)["results"] if j["state"] not in ENDED]
            if len(live) < N_LIVE:
                body = {**self.body, "epochs": self.chance.randint(5, 60), "max_workers": self.chance.randint(1, 3)}
                self.seen.jobs.append(self.person.post("/jobs", **body)["id"])
        except AWAY:
            pass

    def _look(self) -> None:
        """Remembers what the platform shows; later it must show it still."""
        for job in self.seen.jobs[-N_LIVE:]:
            try:
                self.seen.points.setdefault(job, {}).update(self.points(job))
                self.seen.lines.setdefault(job, {}).update(self.lines(job))
            except AWAY:
                pass

    def points(self, job: str) -> dict[tuple[int, int], float]:
        """The curve that counts. A point leaves it when a later attempt resumed before its step, and stays stored."""
        return {(p["attempt_number"], p["step"]): p["value"] for p in points(self.person, job, "train/loss")}

    def lines(self, job: str) -> dict[tuple[Any, ...], str]:
        found = lines(self.person, job)
        return {(li["attempt_number"], li["role"], li["index"], li["number"]): li["text"] for li in found}

    def _fault(self) -> tuple[str, Callable[[], None]]:
        name = self.chance.choice(PROCESSES)
        how = self.chance.choice(("kill", "kill", "stop", "pod"))
        if how == "pod":
            return "a pod killed", self._kill_a_pod
        if how == "stop":
            return f"{name} stopped", lambda: self._stop(name)
        return f"{name} killed", lambda: self._signal(name, signal.SIGKILL)

    def _signal(self, name: str, number: signal.Signals) -> None:
        pid = self.platform.pids().get(name)
        if pid is not None and is_alive(pid):
            os.kill(pid, number)

    def _stop(self, name: str) -> None:
        with stopped([self.platform.pids()[name]]):
            time.sleep(self.chance.uniform(1, 8))

    def _kill_a_pod(self) -> None:
        alive = sorted((name, pid) for name, pid in self.platform.pods().items() if is_alive(pid))
        if alive:
            os.kill(self.chance.choice(alive)[1], signal.SIGKILL)

    def settle(self, *, seconds: float) -> None:
        """No faults any more: what is queued or runs comes to its end."""

        def over() -> bool:
            try:
                return all(self.state(job) in ENDED for job in self.seen.jobs)
            except AWAY:
                return False

        wait(over, seconds=seconds, message=self.platform.logs())

    def state(self, job: str) -> str:
        try:
            return str(self.person.get(f"/jobs/{job}")["state"])
        except RequestRefused as refused:
            if refused.problem.get("status") == 404:
                return "lost"
            raise

    def losses(self) -> dict[str, int]:
        points, lines, stored = 0, 0, _stored_points(self.platform)
        for job in self.seen.jobs:
            known_lines = self.lines(job)
            points += len(set(self.seen.points.get(job, {}).items()) - stored.get(job, set()))
            lines += len(set(self.seen.lines.get(job, {}).items()) - set(known_lines.items()))
        states = [self.state(job) for job in self.seen.jobs]
        for job in (job for job, state in zip(self.seen.jobs, states, strict=True) if state == "failed"):
            found = self.person.get(f"/jobs/{job}")
            ends = [f"{a['outcome']} {a['cause']} {a['first_step']}-{a['last_step']}" for a in found["attempts"]]
            print(json.dumps({"failed job": job, "failure": found["failure"], "attempts": ends}), flush=True)
        cluster = self.person.get("/cluster")
        held = cluster["totals"]["gpus"] - cluster["totals"]["free_gpus"]
        orphans = sum(is_alive(pid) for pid in self.platform.pods().values())
        return {
            "jobs lost": states.count("lost"),
            "jobs failed": states.count("failed"),
            "points lost": points,
            "log lines lost": lines,
            "GPUs still held": held,
            "orphaned pods": orphans,
        }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**6)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="mlhub-soak-") as parent:
        folder = Path(parent) / "platform"
        folder.mkdir()
        losses = _soaked(folder, seed, hours=arguments.hours)
    return 1 if any(losses.values()) else 0


def _soaked(folder: Path, seed: int, *, hours: float) -> dict[str, int]:
    """Returns what was lost."""
    with running(folder) as platform:
        soak = _prepared(platform, folder, random.Random(seed))
        soak.run(until=time.monotonic() + 3600 * hours)
        soak.settle(seconds=900)
        losses = soak.losses()
        losses["broken invariants"] = _broken_invariants(platform)
    print(json.dumps({"seed": seed, "jobs": len(soak.seen.jobs), "faults": soak.faults, **losses}, indent=1))
    return losses


def _prepared(platform: RunningPlatform, folder: Path, chance: random.Random) -> Soak:
    person = platform.person("alice", organisation="A")
    content = write_blobs(folder / "blobs.npz", n=2000).read_bytes()
    project = person.post("/projects", organisation=person.organisation["id"], name="p")
    dataset = person.upload("/datasets", "blobs.npz", content, name="blobs", project=project["id"])
    person.wait_ready(f"/datasets/{dataset['id']}")
    mlp = next(m for m in person.get("/models", limit=200)["results"] if m["name"] == "mlp")
    return Soak(platform, person, {"dataset": dataset["id"], "model": mlp["id"], "batch_size": 64}, chance)


def _stored_points(platform: RunningPlatform) -> dict[str, set[tuple[tuple[int, int], float]]]:
    """Every point of a training loss that is stored: ((attempt, step), value), by job."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "--command", POINTS]
    done = subprocess.run(command, cwd=ROOT, env=platform.environment, capture_output=True, text=True, check=True)
    found: dict[str, set[tuple[tuple[int, int], float]]] = {}
    for job, attempt, step, value in json.loads(done.stdout.splitlines()[-1]):
        found.setdefault(job, set()).add(((attempt, step), value))
    return found


def _broken_invariants(platform: RunningPlatform) -> int:
    """1 if the database is not consistent in itself; its message is printed."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "--command", CHECK]
    done = subprocess.run(command, cwd=ROOT, env=platform.environment, capture_output=True, text=True, check=False)
    print(done.stderr[-2000:], file=sys.stderr)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
