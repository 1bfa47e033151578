# SPDX-License-Identifier: Apache-2.0
"""Interleaving: how long a joint iteration takes of jobs that use a GPU's node in turn, stage by stage. Seconds.

Source: Zhao et al., Muri (SIGCOMM '22), sec. 4: each job's iteration is loading and preprocessing (CPU, disk), then
computation (GPU), then synchronisation (network); jobs of a group are a stage apart, and each iterates once a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations

from scheduler.api.snapshot import JobSnapshot

Stages = tuple[float, float, float]  # seconds a step of CPU and disk, GPU, network

N_SLOTS = 4  # of a round; loading may take two of them, computing and synchronising one each
N_ROUNDS = 2  # after the first one a round repeats itself
# What a joint iteration takes beyond the ideal one, by the jobs that share: measured, as their simulator has it.
CONTENTION = (1.0, 1.33 / 1.015, 1.5 / 1.015, 1.37 / 1.015)


def stages_of(job: JobSnapshot) -> Stages | None:
    """Returns the job's stages; None unless all were measured."""
    profile = job.profile
    if profile is None or profile.cpu_io_s is None or profile.gpu_s is None or profile.network_s is None:
        return None
    return profile.cpu_io_s, profile.gpu_s, profile.network_s


def joint_step_s(stages: Sequence[Stages]) -> float:
    """Returns the seconds of an ideal joint iteration of two to four jobs, in the order that suits them best.

    Two jobs may also take turns so that one loads while the other computes and synchronises: max(c_a, g_b + n_b) +
    max(c_b, g_a + n_a). Raises ValueError for any other number of jobs.
    """
    if not 2 <= len(stages) <= N_SLOTS:
        raise ValueError(f"{len(stages)} jobs cannot be interleaved; it must be 2 to {N_SLOTS}")
    return _joint_step_s(tuple(sorted(stages)))


def efficiency(stages: Sequence[Stages], step_s: float) -> float:
    """Returns the share of a joint iteration in which CPU, GPU and network (of four kinds, one of them storage) are
    busy.
    """
    return sum(map(sum, stages)) / (N_SLOTS * step_s)


@lru_cache(maxsize=100_000)
def _joint_step_s(stages: tuple[Stages, ...]) -> float:
    best_s = min(_round_s(order) for order in permutations(stages))
    if len(stages) == 2:
        (c_a, g_a, n_a), (c_b, g_b, n_b) = stages
        best_s = min(best_s, max(c_a, g_b + n_b) + max(c_b, g_a + n_a))
    return best_s


def _round_s(order: Sequence[Stages]) -> float:
    """A round's length once it repeats itself: a slot ends when all whose stage it is are done.

    In slot k the job at place k+1 (of four) synchronises, that at k+2 computes, and that at k+3, which began a slot
    before, ends loading.
    """
    ends = [0.0]
    for slot in range(N_SLOTS * N_ROUNDS):
        syncing, computing, loading = ((slot + ahead) % N_SLOTS for ahead in (1, 2, 3))
        end_s = ends[slot]
        if syncing < len(order):
            end_s = max(end_s, ends[slot] + order[syncing][2])
        if computing < len(order):
            end_s = max(end_s, ends[slot] + order[computing][1])
        if slot > 0 and loading < len(order):
            end_s = max(end_s, ends[slot - 1] + order[loading][0])
        ends.append(end_s)
    return ends[-1] - ends[-1 - N_SLOTS]
