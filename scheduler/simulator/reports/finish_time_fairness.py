# SPDX-License-Identifier: Apache-2.0
"""Finish-time fairness: how much later a job ends than it would on its own fair share of the cluster.

Source: Mahajan et al., Themis (NSDI '20): rho = T_shared / T_fair, where T_fair is the time on 1/N of the cluster with
the job alone there. N is the mean number of jobs in the cluster over the job's lifetime, as Qiao et al., Pollux (OSDI
'21), count it. A job of a size that is larger than its fair share is taken to run on the share in turns; one that could
use more than it asked for is taken at the size it asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from scheduler.policies import policy_named
from scheduler.simulator.engine import simulate
from scheduler.simulator.environments.environment import Environment
from scheduler.simulator.outcome import SimulationOutcome
from scheduler.simulator.reports.summary import job_seconds
from scheduler.simulator.traces.trace import Trace

_APART_S = 1e8  # no job takes longer alone


def alone_s(trace: Trace, make: Callable[[Trace], Environment], *, period_s: float | None = None) -> dict[str, float]:
    """Returns the seconds that every job would take with the whole cluster to itself, at the size it asks for, by job.

    make: the environment of a trace. Played as one simulation in which the jobs come one long after the other.
    """
    spaced = tuple(replace(job, submitted_at_s=i * _APART_S) for i, job in enumerate(trace.jobs))
    outcome = simulate(make(replace(trace, jobs=spaced)), policy=policy_named("fifo", {}), period_s=period_s)
    return {job_id: history.jct_s or 0.0 for job_id, history in outcome.histories.items()}


def finish_time_fairness(
    outcome: SimulationOutcome, *, alone_s: Mapping[str, float], n_asked: Mapping[str, int], n_gpus: int
) -> dict[str, float]:
    """Returns rho by job: 1 = as on its fair share, above 1 = later.

    n_asked: GPUs that the job asks for; n_gpus: those of the cluster. Source: Themis (NSDI '20).
    """
    histories = {job_id: history for job_id, history in outcome.histories.items() if history.ended_at_s is not None}
    since_J = np.array([history.submitted_at_s for history in histories.values()])
    to_J = np.array([history.ended_at_s for history in histories.values()], dtype=float)
    lasted_J = np.maximum(to_J - since_J, 1e-9)
    mean_jobs_J = (job_seconds(to_J, since_J, to_J) - job_seconds(since_J, since_J, to_J)) / lasted_J
    asked_J = np.array([n_asked[job_id] for job_id in histories], dtype=float)
    fair_J = np.array([alone_s[job_id] for job_id in histories]) * np.maximum(1.0, asked_J * mean_jobs_J / n_gpus)
    return dict(zip(histories, (lasted_J / np.maximum(fair_J, 1e-9)).tolist(), strict=True))
