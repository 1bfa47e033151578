# SPDX-License-Identifier: Apache-2.0
"""What jobs of each kind really take on the testbed's nodes, measured before the policies are compared.

Each kind trains at each size on each type, as jobs of the platform under the policy `fifo`. Of these the simulated twin
is made; the policies learn nothing of them. One kind trains several times alone on one node: how much that varies says
how well the nodes get their share of the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from statistics import median
from typing import Any

from benchmarks.testbed_platform import PlatformFolder, PlatformOnNodes, SubmittedJob
from benchmarks.testbed_trace import FAST, KINDS, SLOW, TrainingKind

SIZES = (1, 2, 4)
REPEATS = 3
ALONE = next(kind for kind in KINDS if kind.name == "mlp-wide")  # short steps: what disturbs them shows
MOST_S = 1800.0
SAMPLE = (  # of the API's samples, as they are
    "mode", "n_workers", "n_servers", "n_nodes", "n_racks", "gpu_type", "batch_size", "step_s", "compute_s", "sync_s",
    "n_steps",
)  # fmt: skip


@dataclass(frozen=True)
class MeasuredGang:
    """A job of the calibration. sample: of its steps, with the names of the API. start_s: launch to first step."""

    kind: str
    sample: Mapping[str, Any]
    start_s: float
    profile: Mapping[str, Any]
    steps_per_epoch: int


@dataclass(frozen=True)
class NodeCalibration:
    """alone_s: step times of ALONE by itself on one fast node, one job after the other."""

    gangs: tuple[MeasuredGang, ...]
    alone_s: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> NodeCalibration:
        return cls(tuple(MeasuredGang(**gang) for gang in raw["gangs"]), tuple(raw["alone_s"]))

    def of(self, kind: str) -> list[MeasuredGang]:
        """Returns the measurements of one kind."""
        return [gang for gang in self.gangs if gang.kind == kind]

    def start_s(self, kind: str, gpu_type: str, n_workers: int) -> float:
        """Returns the seconds from launch to first step of such a gang, or of the next smaller one of that type."""
        measured = [g for g in self.of(kind) if g.sample["gpu_type"] == gpu_type]
        smaller = [g for g in measured if g.sample["n_workers"] <= n_workers] or measured
        most = max(g.sample["n_workers"] for g in smaller)
        return median(g.start_s for g in smaller if g.sample["n_workers"] == most)


def submitted(kind: TrainingKind, name: str, epochs: int, guess: int, **more: Any) -> SubmittedJob:
    """Returns a job of the kind, to be submitted."""
    return SubmittedJob(
        more.pop("at_s", 0.0), name, kind.model, epochs, guess, kind.batch_size, kind.hyperparameters, kind.mode,
        kind.dataset, **more,
    )  # fmt: skip


def one_of_each() -> list[SubmittedJob]:
    """Returns a job of each kind for each organisation: what is tried out before the first run."""
    return [submitted(kind, kind.name, 1, 1, organisation=owner) for kind in KINDS for owner in (0, 1)]


def calibrate(folder: PlatformFolder) -> NodeCalibration:
    """Raises RuntimeError if a job did not succeed."""
    with folder.run() as platform:
        platform.choose_policy("fifo", {})
        trace = [
            submitted(kind, f"{kind.name}-{t.gpu_type}-{n}", max(1, kind.epochs // 2), n, gpu_types=(t.gpu_type,))
            for n in SIZES
            for kind in KINDS
            for t in (FAST, SLOW)
        ]
        gangs = _measured(platform, trace, [kind for _ in SIZES for kind in KINDS for _ in (FAST, SLOW)])
        alone = measure_alone(platform)
    return NodeCalibration(tuple(gangs), alone)


def measure_alone(platform: PlatformOnNodes) -> tuple[float, ...]:
    """Returns the step times of ALONE on one fast node, one job after the other. Raises RuntimeError."""
    found = []
    for number in range(REPEATS):
        job = submitted(ALONE, f"alone-{number}", 2, 1, gpu_types=(FAST.gpu_type,))
        found += _measured(platform, [job], [ALONE])
    return tuple(gang.sample["step_s"] for gang in found)


def _measured(
    platform: PlatformOnNodes, trace: Sequence[SubmittedJob], kinds: Iterable[TrainingKind]
) -> list[MeasuredGang]:
    found = []
    for job, kind in zip(platform.run(trace, is_elastic=False, seconds=MOST_S), kinds, strict=True):
        if job["state"] != "succeeded":
            raise RuntimeError(f"{job['name']} did not succeed: {job['failure']}")
        samples = platform.get(job["id"], "speed")["samples"]
        if samples:
            sample = {name: samples[-1][name] for name in SAMPLE}
            profile = {
                name: job["profile"][name] for name in ("example_s", "step_overhead_s", "parameters_bytes")
            }  # fmt: skip
            found.append(
                MeasuredGang(
                    kind.name, sample, start_s(job["attempts"][-1]), profile, job["profile"]["steps_per_epoch"]
                )
            )
    return found


def start_s(attempt: Mapping[str, Any]) -> float:
    """Returns the seconds from an attempt's launch to its first step."""
    began, trained = (datetime.fromisoformat(attempt[name]) for name in ("created_at", "training_at"))
    return (trained - began).total_seconds()
