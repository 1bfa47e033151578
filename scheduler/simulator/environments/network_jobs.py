# SPDX-License-Identifier: Apache-2.0
"""What is true of each job in the network environment: computation, gradient, overlap, noise; and what the scheduler
sees of it.

From a trace in Muri's format: iterations, and measured stages (CPU and disk, GPU, network) of one iteration. Or from
MLHub's own, with the columns step_s and parameters_bytes.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np

from scheduler.api.snapshot import GangAllocation, JobSnapshot
from scheduler.simulator.traces.trace import TraceJob

REFERENCE_BPS = 100e9  # of the links that the stages were measured on; gives BERT 421 MB and VGG-16 471 MB
GAMMA = (1.0, 2.0)  # overlap exponents of families, drawn between these; 1 hides nothing
FIXED_PART = (0.05, 0.25)  # of a pass that does not shrink with its batch
HOP_S = (20e-6, 80e-6)
PLACE_NOISE = 0.03  # spread of a job's step time from place to place
PREFLIGHT_NOISE = 0.05  # spread of what is measured before a job first runs, against the truth
START_S = (8.0, 40.0)  # load code, data and checkpoint; by family
STOP_S = 3.0
OWN_STEP_S = 1.0  # of jobs whose trace has no iteration time


@dataclass(frozen=True)
class Steps:
    """Holds a gang's true steps at one place, whatever its links give it.

    The last pass overlaps with the synchronisation, the earlier ones do not. overlapping: seconds of a pass to the
    power of gamma.
    """

    earlier_s: float
    overlapping: float
    hops_s: float
    gamma: float
    inside_s: float
    is_gang: bool
    noise: float

    def step_s(self, wire_s: float) -> float:
        """Returns the seconds of a step if the synchronisation spends wire_s on the links."""
        sync_s = max(wire_s, self.inside_s) + self.hops_s if self.is_gang else 0.0
        overlapped_s: float = (self.overlapping + sync_s**self.gamma) ** (1 / self.gamma)
        return (self.earlier_s + overlapped_s) * self.noise


@dataclass(frozen=True)
class JobTruth:
    """Holds the truth of a job.

    batch: examples per worker at n_asked workers, and the most that it can hold. pass_s: seconds of one pass over them.
    """

    n_asked: int
    batch: int
    pass_s: float
    fixed_part: float
    gamma: float
    gradient_bytes: float
    hop_s: float
    start_s: float
    seed: int

    def passes(self, n_workers: int) -> int:
        """Returns the passes per step that n workers need for the same global batch."""
        return -(-self.n_asked // n_workers)

    def compute_s(self, n_workers: int) -> float:
        """Returns the seconds of one pass, of as many as it takes to hold the same global batch on n workers."""
        examples = self.n_asked / n_workers / self.passes(n_workers)
        return self.pass_s * (self.fixed_part + (1 - self.fixed_part) * examples)

    def steps(self, n_workers: int, *, inside_s: float = 0.0, n_messages: int, noise: float = 1.0) -> Steps:
        """Returns the true steps at a place.

        inside_s: wire seconds that it has wherever it is; noise: the factor of its place.
        """
        compute_s = self.compute_s(n_workers)
        earlier_s = (self.passes(n_workers) - 1) * compute_s
        hops_s = self.hop_s * n_messages
        return Steps(earlier_s, compute_s**self.gamma, hops_s, self.gamma, inside_s, bool(n_messages), noise)

    def noise(self, allocation: GangAllocation) -> float:
        """Returns the factor of this place: the same whenever the job is there."""
        place = "|".join(f"{s.node}:{len(s.gpus)}" for s in sorted(allocation.shares, key=lambda s: s.node))
        return float(np.exp(_rng(self.seed, place).normal(0.0, PLACE_NOISE)))


def truth_of(job: TraceJob, *, seed: int) -> JobTruth:
    """Returns the truth of a job: the measured iteration is exact where the gang is alone on links as fast as those of
    the measurement.
    """
    family = _rng(seed, job.model or job.id)
    gamma, fixed, hop, start = (float(family.uniform(*bounds)) for bounds in (GAMMA, FIXED_PART, HOP_S, START_S))
    iteration_s = float(job.extra.get("iteration_s") or job.extra.get("step_s") or OWN_STEP_S)
    n = job.n_gpus
    network_s = float(job.extra.get("network_s") or 0.0) if n > 1 else 0.0
    gradient_bytes = float(job.extra.get("parameters_bytes") or 0.0)
    if network_s > 0:
        network_s = min(network_s, 0.9 * iteration_s)
        gradient_bytes = network_s * REFERENCE_BPS / 8 * n / (2 * (n - 1))
    elif gradient_bytes > 0 and n > 1:
        network_s = min(2 * (n - 1) / n * gradient_bytes * 8 / REFERENCE_BPS, 0.9 * iteration_s)
    pass_s = float((iteration_s**gamma - network_s**gamma) ** (1 / gamma))
    batch = int(job.extra.get("batch_size") or 32)
    own_seed = zlib.crc32(f"{seed}/{job.id}".encode())
    return JobTruth(n, batch, pass_s, fixed, gamma, gradient_bytes, hop, start, own_seed)


def snapshot_of_submission(job: TraceJob, truth: JobTruth, *, is_elastic: bool, is_exact: bool) -> JobSnapshot:
    """Returns what the scheduler sees of the job when it is submitted.

    is_exact: the preflight's measurements are the truth.
    """
    iteration_s = float(job.extra.get("iteration_s") or job.extra.get("step_s") or OWN_STEP_S)
    steps = float(job.extra.get("iterations") or job.duration_s / iteration_s)
    noise = 1.0 if is_exact else float(np.exp(_rng(truth.seed, "preflight").normal(0.0, PREFLIGHT_NOISE)))
    least = job.min_gpus or (1 if is_elastic else job.n_gpus)
    return JobSnapshot(
        id=job.id,
        tenant=job.tenant,
        study=job.study,
        user=job.user,
        submitted_at_s=job.submitted_at_s,
        steps_total=max(1, math.ceil(steps)),
        batch_size=truth.batch * job.n_gpus,
        max_local_batch=truth.batch,
        name=job.id,
        family=job.model,
        priority=job.priority,
        min_workers=least,
        max_workers=job.max_gpus or job.n_gpus,
        requested_workers=job.n_gpus,
        cpus_per_worker=0.0,
        cpus_per_server=0.0,
        step_overhead_s=truth.pass_s * truth.fixed_part * noise,
        example_s=truth.pass_s * (1 - truth.fixed_part) / truth.batch * noise,
        parameters_bytes=round(truth.gradient_bytes),
        start_s=truth.start_s,
        checkpoint_s=STOP_S,
    )


def _rng(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(name.encode())])
