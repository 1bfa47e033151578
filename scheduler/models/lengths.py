"""How much is left of jobs whose length nobody told: learnt from how long others turned out to be.

Pure: who was seen how far, and who ended how far, travels in the plan's memory from round to round. Work is counted in
GPU-seconds of training alone. Axis B: bins of work, each 2^(1/2) times as wide as the one before.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from scheduler.models.fitting import Floats
from scheduler.models.speeds import Speeds
from scheduler.snapshot import ClusterSnapshot, JobSnapshot

EDGE_B: Floats = 2.0 ** (np.arange(0, 61) / 2)  # 1 GPU-second to 34 GPU-years
PRIOR_END = 1 - 2**-0.5  # chance to end within a bin, where any length is as likely as its double
PRIOR_JOBS = 2.0  # as many jobs is that worth
ALIKE_JOBS = 8.0  # as many jobs of a family is worth what is known of all of them
MOST_ENDED = 600  # of the newest ends count


class Lengths:
    """Chances to end, from those that ended and those that did not yet; of a family, drawn to those of all jobs."""

    def __init__(self, memory: Mapping[str, Any]) -> None:
        self._open: dict[str, list[Any]] = {job_id: list(seen) for job_id, seen in memory.get("open", {}).items()}
        self._ended: list[tuple[str, float]] = [(family, float(work)) for family, work in memory.get("ended", ())]
        self._cut_short: list[tuple[str, float]] = [
            (family, float(work)) for family, work in memory.get("cut_short", ())
        ]
        self._left_B: dict[str, Floats] = {}

    def see(
        self, done: Mapping[str, tuple[str, float, float]], *, withdrawn: Collection[str] = (), now_s: float
    ) -> None:
        """Who is here: (family, work done, work it does in a second at most). Who is gone ended, just now.

        Withdrawn ones, who were cancelled, would have gone on: they count as longer than they came.
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
        self._left_B = {}

    def left_gpu_s(self, family: str, done_gpu_s: float) -> float:
        """The work after which a job that has done so much is most worth while, per chance to have ended by then.

        That is 1 / its Gittins index: the least, over all d, of E[min(rest, d)] / P(rest <= d). Where ends come ever
        more rarely it grows with what was done; before a length that many jobs have it shrinks.
        """
        if family not in self._left_B:
            self._left_B[family] = _left_B(self._chance_B(family))
        return float(np.interp(np.log2(max(done_gpu_s, 1.0)), np.log2(EDGE_B[:-1]), self._left_B[family]))

    @property
    def has_learnt(self) -> bool:
        return bool(self._open or self._ended or self._cut_short)

    def to_json(self) -> dict[str, Any]:
        kept: dict[str, Any] = {"open": self._open, "ended": [list(one) for one in self._ended]}
        if self._cut_short:
            kept["cut_short"] = [list(one) for one in self._cut_short]
        return kept

    def _chance_B(self, family: str) -> Floats:  # noqa: N802 (arrays wear their axes)
        """The chance to end within each bin of who comes to it."""
        prior_B = np.full(len(EDGE_B) - 1, PRIOR_END)
        all_B = _chance_B(self._works(None), prior_B, PRIOR_JOBS)
        return _chance_B(self._works(family), all_B, ALIKE_JOBS)

    def _works(self, family: str | None) -> tuple[Floats, Floats]:
        ended = [work for other, work in self._ended if family in (None, other)]
        unended = [*((other, work) for other, work, *_ in self._open.values()), *self._cut_short]
        there = [float(work) for other, work in unended if family in (None, other)]
        return np.array(ended), np.array(there)


def with_likely_lengths(snapshot: ClusterSnapshot, lengths: Lengths, speeds: Speeds) -> ClusterSnapshot:
    """The snapshot with likely_steps_left filled in, where lengths are not known; what is new in it is learnt."""
    unknown = [job for job in snapshot.jobs if not job.length_is_known]
    gpu_s = {job.id: speeds.step_s(job, job.fixed_workers) * job.fixed_workers for job in unknown}
    done = {job.id: (job.family, job.steps_done * gpu_s[job.id], _pace(job)) for job in unknown}
    lengths.see(done, withdrawn=snapshot.withdrawn, now_s=snapshot.now_s)
    if not unknown:
        return snapshot
    guessed = {
        job.id: replace(job, likely_steps_left=lengths.left_gpu_s(*done[job.id][:2]) / max(gpu_s[job.id], 1e-9))
        for job in unknown
    }
    return replace(snapshot, jobs=tuple(guessed.get(job.id, job) for job in snapshot.jobs))


def _pace(job: JobSnapshot) -> float:
    return float(job.allocation.n_workers) if job.training_since_s is not None and job.allocation is not None else 0.0


def _chance_B(works: tuple[Floats, Floats], prior_B: Floats, prior_jobs: float) -> Floats:  # noqa: N802
    """Of those that came to a bin, the part that ended in it; who is in it still counts as half."""
    ended, there = works
    ended_B = np.histogram(np.maximum(ended, 1.0), EDGE_B)[0]
    there_B = np.histogram(np.maximum(there, 1.0), EDGE_B)[0]
    came_B = (ended_B + there_B)[::-1].cumsum()[::-1] - there_B / 2
    return np.asarray((ended_B + prior_jobs * prior_B) / (came_B + prior_jobs))


def _left_B(chance_B: Floats) -> Floats:  # noqa: N802
    """1 / the Gittins index at the beginning of each bin; who ends in a bin does so in its middle on average."""
    width_B = np.diff(EDGE_B)
    stays_B = 1 - chance_B
    left_B = np.empty(len(width_B))
    for b in range(len(width_B)):
        reaches = np.concatenate(([1.0], stays_B[b:-1].cumprod()))
        spent = (reaches * width_B[b:] * (1 - chance_B[b:] / 2)).cumsum()
        left_B[b] = (spent / (1 - reaches * stays_B[b:])).min()
    return left_B
