# SPDX-License-Identifier: Apache-2.0
"""How low the mean completion time on the testbed's twin can be: a search that knows all jobs and speeds beforehand.

    python -m benchmarks.testbed_bound [--seeds 1,2,3] [--steps 200000]

Schedules of the same jobs at the step times and start-up times of the twin: each job has a GPU type and a size, and is
neither stopped nor resized. Simulated annealing over the order, the types and the sizes; a job starts as early as the
jobs before it in the order allow. What it finds can be reached by a scheduler that knows all, so that the least
possible mean is no larger; it is no lower bound in the strict sense.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from benchmarks.testbed_calibration import NodeCalibration
from benchmarks.testbed_runs import RunStore
from benchmarks.testbed_trace import RACKS, UPLINK_BPS, TestbedJob, TrainingKind, jobs_of
from benchmarks.testbed_twin import speed_model_of, twin_nodes
from scheduler.api.snapshot import GangAllocation, Mode, NodeAllocation
from scheduler.api.topology import RackSnapshot
from scheduler.models.layout import ClusterTopology
from scheduler.models.speed.model import SpeedModel

WARMEST, COLDEST = 3.0, 0.025  # seconds of the mean: changes that lengthen it so much are taken once in e times
OTHER_PLACE = 0.7  # the part of changes that move a job in the order; the others change its type and size


class GangOption(NamedTuple):
    """A type and a size that a job may have, and its seconds there, start-up included."""

    gpu_type: str
    n_workers: int
    seconds: float


class SearchedJob(NamedTuple):
    """A job of the search: when it is submitted, and what it may have."""

    at_s: float
    options: tuple[GangOption, ...]


class TypeTimeline:
    """Counts the free GPUs of one type over time; the last interval has no end."""

    def __init__(self, n_gpus: int) -> None:
        self._from_s, self._free = [0.0], [n_gpus]

    def reserve(self, at_s: float, seconds: float, n_gpus: int) -> float:
        """Reserves the GPUs for so long, as early as they are free, and returns when that begins."""
        from_s, free, first = self._from_s, self._free, 0
        while first + 1 < len(from_s) and from_s[first + 1] <= at_s:
            first += 1
        start_s, i = at_s, first
        while i < len(free) and from_s[i] < start_s + seconds:
            i += 1
            if free[i - 1] < n_gpus:
                start_s = from_s[i]
        for time_s in (start_s, start_s + seconds):
            self._split(time_s)
        for k in range(len(from_s)):
            if start_s <= from_s[k] < start_s + seconds:
                free[k] -= n_gpus
        return start_s

    def _split(self, time_s: float) -> None:
        i = next((i for i, from_s in enumerate(self._from_s) if from_s >= time_s), len(self._from_s))
        if i == len(self._from_s) or self._from_s[i] != time_s:
            self._from_s.insert(i, time_s)
            self._free.insert(i, self._free[i - 1])


def mean_jct_s(
    jobs: Sequence[SearchedJob], order: Sequence[int], chosen: Sequence[int], capacity: dict[str, int]
) -> float:
    """Returns the mean completion time where jobs are placed in that order, each with its chosen option."""
    timelines = {gpu_type: TypeTimeline(n_gpus) for gpu_type, n_gpus in capacity.items()}
    total_s = 0.0
    for j in order:
        option = jobs[j].options[chosen[j]]
        start_s = timelines[option.gpu_type].reserve(jobs[j].at_s, option.seconds, option.n_workers)
        total_s += start_s + option.seconds - jobs[j].at_s
    return total_s / len(jobs)


def least_found_s(jobs: Sequence[SearchedJob], capacity: dict[str, int], *, n_steps: int, seed: int = 0) -> float:
    """Returns the least mean completion time that the annealing finds in so many steps."""
    dice = random.Random(seed)
    order = list(range(len(jobs)))
    chosen = [min(range(len(job.options)), key=lambda o: job.options[o].seconds) for job in jobs]
    present_s = best_s = mean_jct_s(jobs, order, chosen, capacity)
    for step in range(n_steps):
        warmth_s = WARMEST * (COLDEST / WARMEST) ** (step / n_steps)
        new_order, new_chosen = order.copy(), chosen.copy()
        if dice.random() < OTHER_PLACE:
            new_order.insert(dice.randrange(len(order)), new_order.pop(dice.randrange(len(order))))
        else:
            j = dice.randrange(len(jobs))
            new_chosen[j] = dice.randrange(len(jobs[j].options))
        new_s = mean_jct_s(jobs, new_order, new_chosen, capacity)
        if new_s <= present_s or dice.random() < math.exp((present_s - new_s) / warmth_s):
            order, chosen, present_s = new_order, new_chosen, new_s
            best_s = min(best_s, present_s)
    return best_s


def capacity_of_nodes() -> dict[str, int]:
    """Returns the testbed's GPUs by type."""
    types = [node.gpu_type for node in twin_nodes()]
    return {gpu_type: types.count(gpu_type) for gpu_type in sorted(set(types))}


def searched_jobs(jobs: Sequence[TestbedJob], calibration: NodeCalibration) -> list[SearchedJob]:
    """Returns the jobs with what they take on each type at each size, in the place and mode where that is least."""
    step_s = {job.kind.name: _steps_s(job.kind, calibration) for job in {job.kind.name: job for job in jobs}.values()}
    found = []
    for job in jobs:
        n_steps = job.epochs * calibration.of(job.kind.name)[0].steps_per_epoch
        options = [
            GangOption(t, n, calibration.start_s(job.kind.name, t, n) + n_steps * seconds)
            for (t, n), seconds in step_s[job.kind.name].items()
        ]
        found.append(SearchedJob(job.at_s, tuple(options)))
    return found


def _steps_s(kind: TrainingKind, calibration: NodeCalibration) -> dict[tuple[str, int], float]:
    """Seconds of a step by GPU type and size."""
    model = speed_model_of(calibration.of(kind.name))
    racks = tuple(RackSnapshot(f"rack-{r}", UPLINK_BPS) for r in range(len(RACKS)))
    nodes = twin_nodes()
    topology = ClusterTopology(nodes, racks)
    found = {}
    for gpu_type, n_gpus in capacity_of_nodes().items():
        names = [node.name for node in nodes if node.gpu_type == gpu_type]
        for n in range(1, n_gpus + 1):
            places = (names[:n], names[-1:] + names[: n - 1])  # in few racks, and in both
            found[gpu_type, n] = min(_least_step_s(kind, model, topology, place) for place in places)
    return found


def _least_step_s(kind: TrainingKind, model: SpeedModel, topology: ClusterTopology, names: Sequence[str]) -> float:
    """Seconds of a step on these nodes in the better mode, or in the one that the kind has."""
    shares = tuple(NodeAllocation(name, (0,)) for name in names)
    layout = topology.layout_of(GangAllocation(Mode.ALL_REDUCE, len(names), 0, shares))
    gangs = [(layout, Mode.ALL_REDUCE)] if kind.mode is None else []
    if kind.mode is not None or len(names) > 1:
        gangs += [(served, Mode.PARAMETER_SERVER) for served in layout.server_layouts]
    return min(model.step_s(gang, mode, batch_size=kind.batch_size) for gang, mode in gangs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", default="1,2,3,4,5,6,7,8")
    parser.add_argument("--jobs", type=int, default=20)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--store", type=Path, default=Path("benchmarks/recorded/testbed"))
    arguments = parser.parse_args()
    calibration = RunStore(arguments.store).calibration
    if calibration is None:
        print(
            f"there is no calibration in {arguments.store}; run python -m benchmarks.testbed, or name it by --store",
            file=sys.stderr,
        )
        return 2
    found = []
    for seed in map(int, arguments.seeds.split(",")):
        jobs = searched_jobs(jobs_of(seed, arguments.jobs), calibration)
        found.append(least_found_s(jobs, capacity_of_nodes(), n_steps=arguments.steps))
        print(f"seed {seed}: {found[-1]:.1f} s", flush=True)
    print(f"mean: {fmean(found):.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
