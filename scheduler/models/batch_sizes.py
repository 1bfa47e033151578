# SPDX-License-Identifier: Apache-2.0
"""The batch of jobs whose user allows a range: the size with the highest goodput on what the job holds or gets.

Sizes are the declared batch times powers of two, at most twice what the job has trained with: the speed model knows
little of those far beyond. Source: Qiao et al., Pollux (OSDI '21), sec. 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from scheduler.api.plan import BatchChoice, Decision, Explanation, Keep, Launch, Reason
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot, Phase
from scheduler.models.goodput import adapts_batch
from scheduler.models.speed.job_speeds import JobSpeeds

MIN_GAIN = 1.05  # of goodput, below which a change is not worth its disturbance, as the trainer's own rule has it
MAX_GROWTH = 2  # of the batch in one change


def choose_batches(
    jobs: Iterable[JobSnapshot], decisions: Mapping[str, Decision], speeds: JobSpeeds
) -> dict[str, BatchChoice]:
    """Returns the batches by job, of all that are launched or train on and whose user allows a range."""
    found = {}
    for job in jobs:
        if job.max_batch_size is None:
            continue
        allocation = _allocation(job, decisions[job.id])
        if allocation is not None:
            found[job.id] = _choice(job, allocation, speeds)
    return found


def explain_batches(
    snapshot: ClusterSnapshot,
    decisions: Mapping[str, Decision],
    batches: Mapping[str, BatchChoice],
    speeds: JobSpeeds,
) -> dict[str, Decision]:
    """Returns the decisions on jobs whose batch changes, with that among their explanations."""
    found: dict[str, Decision] = {}
    for job in snapshot.jobs if batches else ():
        choice, decision = batches.get(job.id), decisions[job.id]
        if choice is None or (allocation := _allocation(job, decision)) is None:
            continue
        used = used_batch_size(job)
        if choice.batch_size == used:
            continue
        gain = speeds.goodput_of(job, allocation, choice.batch_size) / speeds.goodput_of(job, allocation, used)
        facts = {"was": used, "batch_size": choice.batch_size, "noise_scale": choice.noise_scale or 0.0, "times": gain}
        why = Explanation(Reason.BATCH_SIZE_CHANGES, facts)
        found[job.id] = replace(decision, explanations=(*decision.explanations, why))
    return found


def used_batch_size(job: JobSnapshot) -> int:
    """Returns the batch that the job trains with, or did last, within what its user allows now."""
    most = max(job.batch_size, job.max_batch_size or job.batch_size)
    return max(job.batch_size, min(job.used_batch_size or job.batch_size, most))


def _allocation(job: JobSnapshot, decision: Decision) -> GangAllocation | None:
    """What the job will train on; None where it does not, or is only on its way there."""
    if isinstance(decision, Launch):
        return decision.allocation
    return job.allocation if isinstance(decision, Keep) and job.phase is Phase.RUNNING else None


def _choice(job: JobSnapshot, allocation: GangAllocation, speeds: JobSpeeds) -> BatchChoice:
    used = used_batch_size(job)
    if not adapts_batch(job) or not job.noise_scale:
        return BatchChoice(used)
    goodputs = {size: speeds.goodput_of(job, allocation, size) for size in _candidates(job, used)}
    best = max(goodputs, key=lambda size: (goodputs[size], -size))
    if goodputs[best] < MIN_GAIN * goodputs[used]:
        best = used
    return BatchChoice(best, job.noise_scale)


def _candidates(job: JobSnapshot, used: int) -> list[int]:
    """The sizes that may follow on the one that is used, that one among them; ascending."""
    most = min(max(job.batch_size, job.max_batch_size or 0), MAX_GROWTH * used)
    powers = [job.batch_size << i for i in range((most // job.batch_size).bit_length())]
    return sorted({used, *(size for size in powers if size <= most)})
