# SPDX-License-Identifier: Apache-2.0
"""What holds of the database at every moment, whatever was killed: histories, allocations, streams, holdings."""

from __future__ import annotations

from collections import Counter

from mlhub.events.models import Event
from mlhub.jobs.models import Allocation, Artifact, Attempt, Job
from mlhub.jobs.states import ENDED, HOLDING_GPUS, TRANSITIONS, JobState, Trigger
from mlhub.metrics.models import LogLine, MetricPoint, StreamCursor
from mlhub.registry.models import ModelVersion
from mlhub.storage.models import Blob
from mlhub.storage.stores import blob_store


def check_everything() -> None:
    for job in Job.objects.all():
        check_history(job)
        check_attempts(job)
        check_streams(job)
    check_allocations()
    check_blobs()


def check_history(job: Job) -> None:
    """G2: the events of a job are a legal path from QUEUED to its state, one a version."""
    state = JobState.QUEUED
    moves = list(Event.objects.filter(subject_id=job.pk, kind="job.state").order_by("id"))
    for move in moves:
        before, trigger = JobState(move.facts["before"]), Trigger(move.facts["trigger"])
        assert before == state, f"{job}: an event begins in {before} where the job was {state}"
        state = TRANSITIONS[before, trigger]
        assert move.facts["after"] == state
        # that all pods run needs no other reason
        assert move.facts["reason"] or trigger is Trigger.PODS_RUN, f"{job}: {trigger} has no reason"
    assert job.state == state, f"{job} is {job.state}, and its events lead to {state}"
    assert job.version == 1 + len(moves)


def check_attempts(job: Job) -> None:
    """G4: at most one live attempt, and exactly one while the job holds GPUs; every other one is fenced."""
    live = [a for a in job.attempts.all() if a.ended_at is None]
    assert len(live) == (1 if job.state in HOLDING_GPUS else 0), f"{job} is {job.state} with {len(live)} live attempts"
    assert all(a.is_fenced for a in job.attempts.all() if a.ended_at is not None)
    numbers = sorted(a.number for a in job.attempts.all())
    assert len(set(numbers)) == len(numbers)
    results = ModelVersion.objects.filter(job_id=job.pk).count()
    assert results <= 1
    if job.state in ENDED and Artifact.objects.filter(attempt__job=job, attempt__outcome="succeeded").exists():
        assert results == 1


def check_streams(job: Job) -> None:
    """G5, G6: every row of a job has a seq of its own, none above the cursor; lines of a pod have no gap."""
    points = MetricPoint.objects.filter(series__job=job).values_list("seq", flat=True)
    lines = LogLine.objects.filter(attempt__job=job).values_list("seq", flat=True)
    seqs = [*points, *lines]
    assert len(set(seqs)) == len(seqs)
    cursor = StreamCursor.objects.filter(job=job).first()
    assert max(seqs, default=0) <= (cursor.last_seq if cursor else 0)
    for attempt in Attempt.objects.filter(job=job):
        pods = LogLine.objects.filter(attempt=attempt).values_list("role", "index", "number").order_by("number")
        counts = Counter((role, index) for role, index, _ in pods)
        for pod, n in counts.items():
            assert [number for role, index, number in pods if (role, index) == pod] == list(range(n))


def check_allocations() -> None:
    """G12: only live attempts hold GPUs, and no GPU is held twice."""
    held = Allocation.objects.filter(released_at=None).select_related("attempt")
    assert all(a.attempt.ended_at is None for a in held), "an ended attempt holds GPUs"
    slots = Counter((a.node, slot) for a in held for slot in a.slots)
    assert all(n == 1 for n in slots.values()), f"held twice: {[s for s, n in slots.items() if n > 1]}"


def check_blobs() -> None:
    """Bytes that an owner holds are in the store and are what they were."""
    held = Blob.objects.exclude(holdings=None).values_list("sha256", flat=True)
    assert all(blob_store().verify(sha256) for sha256 in held)
