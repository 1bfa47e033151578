# SPDX-License-Identifier: Apache-2.0
"""The testbed's runs as they are stored: one file a policy and seed, and the calibration. The page is made of these."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.testbed_calibration import NodeCalibration

OF_JOB = ("name", "submitted_at", "finished_at", "jct_s", "attempts")
OF_ATTEMPT = (
    "number", "mode", "n_workers", "n_servers", "created_at", "training_at", "stop_asked_at", "ended_at", "outcome",
    "first_step", "last_step", "predicted_step_s", "measured_step_s",
)  # fmt: skip
CALIBRATIONS = ("calibration", "calibration_by_organisation", "calibration_by_cause")
FIRST_MINUTE_S = 60.0  # of a run: in it nothing has been measured


@dataclass(frozen=True)
class TestbedRun:
    """A run of one seed's jobs under one policy. load: of the machine at its end. jobs: see OF_JOB. calibration: how
    the platform's forecasts came true, by CALIBRATIONS; empty in runs from before it was kept.
    """

    __test__ = False  # no test, whatever pytest makes of its name

    policy: str
    seed: int
    at: str
    load: float
    jobs: tuple[Mapping[str, Any], ...]
    calibration: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    @property
    def mean_jct_s(self) -> float:
        return mean(float(job["jct_s"]) for job in self.jobs)

    @property
    def makespan_s(self) -> float:
        ends = max(datetime.fromisoformat(job["finished_at"]) for job in self.jobs)
        return (ends - self._began).total_seconds()

    @property
    def attempts_a_job(self) -> float:
        return mean(len(job["attempts"]) for job in self.jobs)

    def step_errors(self, *, after_s: float = 0.0) -> Iterator[float]:
        """Yields |predicted - measured| / measured of the attempts that were launched so long after the first job."""
        for job in self.jobs:
            for attempt in job["attempts"]:
                launched = datetime.fromisoformat(attempt["created_at"])
                predicted, measured = attempt["predicted_step_s"], attempt["measured_step_s"]
                if predicted and measured and (launched - self._began).total_seconds() >= after_s:
                    yield abs(predicted - measured) / measured

    @cached_property
    def _began(self) -> datetime:
        return min(datetime.fromisoformat(job["submitted_at"]) for job in self.jobs)


def kept_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what is stored of a job, as the API shows it."""
    found = {name: job[name] for name in OF_JOB}
    found["attempts"] = [
        {name: attempt[name] for name in OF_ATTEMPT} | {"nodes": [share["node"] for share in attempt["placement"]]}
        for attempt in job["attempts"]
    ]
    return found


class RunStore:
    """A folder of runs. Those of another number of jobs are left alone, and not shown."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, policy: str, seed: int, *, n_jobs: int) -> bool:
        return self._path(policy, seed, n_jobs).exists()

    def keep(self, run: TestbedRun) -> None:
        self._write(self._path(run.policy, run.seed, len(run.jobs)), asdict(run))

    def runs(self, *, n_jobs: int) -> list[TestbedRun]:
        """Returns the runs of so many jobs, in the order in which they were made."""
        found = []
        for path in self._folder.glob(f"{n_jobs}-jobs-*.json"):
            raw = json.loads(path.read_text())
            found.append(TestbedRun(**{**raw, "jobs": tuple(raw["jobs"])}))
        return sorted(found, key=lambda run: run.at)

    @property
    def calibration(self) -> NodeCalibration | None:
        path = self._folder / "calibration.json"
        return NodeCalibration.from_json(json.loads(path.read_text())) if path.exists() else None

    @property
    def notes(self) -> str:
        """Returns what a person wrote about the runs; empty where nothing is."""
        path = self._folder / "notes.md"
        return path.read_text() if path.exists() else ""

    def keep_calibration(self, calibration: NodeCalibration) -> None:
        self._write(self._folder / "calibration.json", calibration.to_json())

    def _path(self, policy: str, seed: int, n_jobs: int) -> Path:
        return self._folder / f"{n_jobs}-jobs-{policy}-{seed}.json"

    def _write(self, path: Path, raw: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_text(json.dumps(raw, indent=1) + "\n")
        part.replace(path)  # a run that is killed here leaves no half of a file
