# SPDX-License-Identifier: Apache-2.0
"""The remaining work of jobs of unknown length, learnt from how long other jobs turned out to be.

Pure: the work of running and of ended jobs travels in the plan's memory from round to round. Work is counted in
GPU-seconds of training alone. Axis B: bins of work, each 2^(1/2) times as wide as the one before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats, Ints
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot
from scheduler.models.speed.job_speeds import JobSpeeds

Counts = dict[str, Ints]  # by family, shape (B,)

EDGE_B: Floats = 2.0 ** (np.arange(0, 61) / 2)  # 1 GPU-second to 34 GPU-years
LOG_EDGE_B = np.log2(EDGE_B[:-1])
_IS_LATER_BB = np.triu(np.ones((len(EDGE_B) - 1,) * 2, dtype=np.bool_), 1)
_IS_BEFORE_BB = _IS_LATER_BB.T
_NONE_B = np.zeros(len(EDGE_B) - 1, dtype=np.int64)
PRIOR_END = 1 - 2**-0.5  # chance to end within a bin, where any length is as likely as its double
PRIOR_B = np.full(len(EDGE_B) - 1, PRIOR_END)
PRIOR_JOBS = 2.0  # as many jobs is that worth
ALIKE_JOBS = 8.0  # as many jobs of a family is worth what is known of all of them
MOST_ENDED = 600  # of the newest ends count
LEAST_GPU_S = 60.0  # of training, before which the prior alone would end every job within seconds


class JobLengthModel:
    """Estimates how much work jobs of unknown length have left, from jobs that ended and jobs that did not yet; what is
    known of all jobs is the prior of a family.
    """

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._open: dict[str, list[Any]] = {job_id: list(seen) for job_id, seen in memory.get("open", {}).items()}
        self._ended: list[tuple[str, float]] = [(family, float(work)) for family, work in memory.get("ended", ())]
        self._cut_short: list[tuple[str, float]] = [
            (family, float(work)) for family, work in memory.get("cut_short", ())
        ]
        self._left_B: dict[str, Floats] = {}
        self._bins: tuple[Counts, Counts] | None = None

    def see(
        self, done: Mapping[str, tuple[str, float, float]], *, withdrawn: Collection[str] = (), now_s: float
    ) -> None:
        """Records present jobs: (family, work done, work per second at most). Absent ones ended just now.

        Withdrawn (cancelled) jobs count as censored: longer than they came.
        """
        for job_id in [job_id for job_id in self._open if job_id not in done]:
            family, work, pace, at_s = self._open.pop(job_id)
            if job_id in withdrawn:
                self._cut_short.append((family, work))
            else:
                self._ended.append((family, work + pace * (now_s - at_s)))
        self._ended = self._ended[-MOST_ENDED:]
        self._cut_short = self._cut_short[-MOST_ENDED:]
        for job_id, (family, work, pace) in done.items():
            self._open[job_id] = [family, work, pace, now_s]
        self._left_B, self._bins = {}, None

    def left_gpu_s(self, family: str, done_gpu_s: float) -> float:
        """Returns the GPU-seconds after which continuing a job that has done so much pays best, per chance to have
        ended.

        It is 1 / the Gittins index: the least, over all d, of E[min(rest, d)] / P(rest <= d). Where ends come ever
        more rarely it grows with what was done; before a length that many jobs have it shrinks.
        """
        if family not in self._left_B:
            self._left_B[family] = _left_B(self._chance_B(family).tobytes())
        return float(np.interp(np.log2(max(done_gpu_s, 1.0)), LOG_EDGE_B, self._left_B[family]))

    def without_estimate(self) -> frozenset[str]:
        """Returns the present jobs of whose length nothing is known: none has ended yet, and they hardly trained."""
        if self._ended:
            return frozenset()
        return frozenset(job_id for job_id, (_, work, *_) in self._open.items() if work < LEAST_GPU_S)

    @property
    def has_learnt(self) -> bool:
        """Returns whether any job was recorded."""
        return bool(self._open or self._ended or self._cut_short)

    def to_json(self) -> dict[str, Any]:
        """Returns the state as JSON values, from which the constructor continues."""
        kept: dict[str, Any] = {"open": self._open, "ended": [list(one) for one in self._ended]}
        if self._cut_short:
            kept["cut_short"] = [list(one) for one in self._cut_short]
        return kept

    def _chance_B(self, family: str) -> Floats:  # noqa: N802 (arrays wear their axes)
        """The chance of a job that reaches a bin to end within it, for each bin."""
        if self._bins is None:
            there = [(seen[0], float(seen[1])) for seen in self._open.values()]
            self._bins = _counts(self._ended), _counts([*there, *self._cut_short])
        ended, unended = self._bins
        all_B = _chance_B(sum(ended.values(), _NONE_B), sum(unended.values(), _NONE_B), PRIOR_B, PRIOR_JOBS)
        return _chance_B(ended.get(family, _NONE_B), unended.get(family, _NONE_B), all_B, ALIKE_JOBS)


def with_likely_lengths(
    snapshot: ClusterSnapshot, lengths: JobLengthModel, speeds: JobSpeeds, *, jobs: Iterable[JobSnapshot]
) -> ClusterSnapshot:
    """Returns the snapshot with likely_steps_left filled in where lengths are not known, and records what is new in
    it. jobs: those of the snapshot among which such ones are.
    """
    unknown = [job for job in jobs if not job.length_is_known]
    gpu_s = {job.id: speeds.step_s(job, job.fixed_workers) * job.fixed_workers for job in unknown}
    done = {job.id: (job.family, _work(job, gpu_s[job.id]), _pace(job)) for job in unknown}
    lengths.see(done, withdrawn=snapshot.withdrawn, now_s=snapshot.now_s)
    if not unknown:
        return snapshot
    guessed = {
        job.id: job.moved_on(likely_steps_left=lengths.left_gpu_s(*done[job.id][:2]) / max(gpu_s[job.id], 1e-9))
        for job in unknown
    }
    return replace(snapshot, jobs=tuple(guessed.get(job.id, job) for job in snapshot.jobs))


def _work(job: JobSnapshot, gpu_s: float) -> float:
    """The GPU-seconds that the job has trained. Where nothing is known of its steps' time, as of scripts that report
    none, those that it has held.
    """
    return job.steps_done * gpu_s if job.observations or job.example_s is not None else job.executed_gpu_s


def _pace(job: JobSnapshot) -> float:
    return float(job.allocation.n_workers) if job.training_since_s is not None and job.allocation is not None else 0.0


def _counts(works: Iterable[tuple[str, float]]) -> Counts:
    """How many works of each family lie in each bin; beyond the last one they are passed over."""
    found: dict[str, list[float]] = {}
    for family, work in works:
        found.setdefault(family, []).append(work)
    counts: Counts = {}
    for family, own in found.items():
        at = np.searchsorted(EDGE_B[1:-1], own, side="right")[np.asarray(own) <= EDGE_B[-1]]
        counts[family] = np.bincount(at, minlength=len(EDGE_B) - 1)
    return counts


def _chance_B(ended_B: Ints, there_B: Ints, prior_B: Floats, prior_jobs: float) -> Floats:  # noqa: N802
    """Of those that came to a bin, the part that ended in it; a job that is still in it counts as half."""
    came_B = (ended_B + there_B)[::-1].cumsum()[::-1] - there_B / 2
    return np.asarray((ended_B + prior_jobs * prior_B) / (came_B + prior_jobs))


@lru_cache(maxsize=1 << 12)
def _left_B(chances: bytes) -> Floats:  # noqa: N802
    """1 / the Gittins index at the beginning of each bin; jobs end in the middle of a bin on average.

    chances: to end in each bin, as bytes: they change seldom, so that the same ones are looked up.
    """
    chance_B = np.frombuffer(chances)
    stays_B = 1 - chance_B
    before_BB = np.where(_IS_LATER_BB, np.concatenate(([1.0], stays_B[:-1])), 1.0)
    reaches_BB = before_BB.cumprod(axis=1)  # reaches the later bin, from the beginning of the earlier one
    spent_BB = np.where(_IS_BEFORE_BB, 0.0, reaches_BB * np.diff(EDGE_B) * (1 - chance_B / 2)).cumsum(axis=1)
    ended_BB = np.where(_IS_BEFORE_BB, 1.0, 1 - reaches_BB * stays_B)
    return np.asarray(np.where(_IS_BEFORE_BB, np.inf, spent_BB / ended_BB).min(axis=1))
