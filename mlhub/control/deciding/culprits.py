# SPDX-License-Identifier: Apache-2.0
"""Finds the job on which a decision fails, so that this job is left out and all others are decided on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from mlhub.control.deciding.deciders import DecisionError
from mlhub.control.deciding.decision_process import DecisionResult
from mlhub.control.fault_isolation.unreadable_jobs import leaving_job
from scheduler import ClusterSnapshot
from scheduler.api.snapshot import JobSnapshot

logger = structlog.stdlib.get_logger(__name__)
REFUSED_FOR = timedelta(minutes=10)
MOST_A_ROUND = 3
RAISED = "raised"

Decide = Callable[[ClusterSnapshot], DecisionResult]


@dataclass
class RefusedJobs:
    """Jobs that are left out of rounds for a while, because a decision raised as soon as they took part.

    Other settings than those that failed are given a chance at once.
    """

    _until: dict[str, tuple[datetime, str]] = field(default_factory=dict)
    _settings_version: int | None = None

    def current(self, *, settings_version: int, now: datetime) -> Mapping[str, str]:
        """By job, the reason why it is left out of a round now."""
        if self._settings_version != settings_version:
            self._settings_version, self._until = settings_version, {}
        self._until = {job: (until, why) for job, (until, why) in self._until.items() if now < until}
        return {job: why for job, (_, why) in self._until.items()}

    def decide(
        self, snapshot: ClusterSnapshot, decide: Decide, *, now: datetime, budget_s: float
    ) -> tuple[ClusterSnapshot, DecisionResult, Mapping[str, str]]:
        """Returns the snapshot without the jobs on which the decision fails, the decision, and why each was left out.

        At most MOST_A_ROUND jobs are left out, and budget_s is spent on the search. Raises the DecisionError of the
        whole snapshot where the policy fails for another reason than single jobs.
        """
        try:
            return snapshot, decide(snapshot), {}
        except DecisionError as error:
            if error.kind != RAISED:
                raise
            first = error
        until_s, left_out = time.monotonic() + budget_s, dict[str, str]()
        while len(left_out) < MOST_A_ROUND and (culprit := _culprit(snapshot, decide, until_s=until_s)) is not None:
            left_out[culprit] = f"The decision fails with this job: {first}"
            snapshot = without(snapshot, culprit)
            try:
                decided = decide(snapshot)
            except DecisionError:
                continue
            for job, why in left_out.items():
                self._until[job] = (now + REFUSED_FOR, why)
                logger.error("job.left_out", job=job, error=why)
            return snapshot, decided, left_out
        raise first


def without(snapshot: ClusterSnapshot, job_id: str) -> ClusterSnapshot:
    """The snapshot without that job; one that holds GPUs is seen as leaving, with nothing known of it but its place."""
    jobs = [_as_leaving(job) if job.id == job_id else job for job in snapshot.jobs]
    return replace(snapshot, jobs=tuple(job for job in jobs if job is not None))


def _as_leaving(job: JobSnapshot) -> JobSnapshot | None:
    if job.held is None:
        return None
    return leaving_job(job.id, job.name, job.held.shares, tenant=job.tenant, submitted_at_s=job.submitted_at_s)


def _culprit(snapshot: ClusterSnapshot, decide: Decide, *, until_s: float) -> str | None:
    """Returns the last job of the shortest beginning of the list that fails; None where it fails without jobs, too."""
    good, bad = 0, len(snapshot.jobs)
    if not bad or _fails(snapshot, 0, decide):
        return None
    while bad - good > 1:
        if time.monotonic() > until_s:
            return None
        middle = (good + bad) // 2
        if _fails(snapshot, middle, decide):
            bad = middle
        else:
            good = middle
    return snapshot.jobs[bad - 1].id


def _fails(snapshot: ClusterSnapshot, n_jobs: int, decide: Decide) -> bool:
    """Whether the decision on the first n_jobs raises. Raises DecisionError where it overran or died."""
    try:
        decide(replace(snapshot, jobs=snapshot.jobs[:n_jobs]))
    except DecisionError as error:
        if error.kind != RAISED:
            raise
        return True
    return False
