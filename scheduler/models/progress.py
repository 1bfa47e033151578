# SPDX-License-Identifier: Apache-2.0
"""Remaining work and time of a job, with a band. Declared steps are believed; their speed is predicted."""

from __future__ import annotations

import math

from scheduler.api.snapshot import JobSnapshot

P90_SIGMAS = 1.2816


def steps_left(job: JobSnapshot) -> float:
    """Returns the optimiser steps to go, at least one: a job that has done all its steps still has to report it.

    For a job of unknown length they are what others like it suggest (job_length.py); where nothing was learnt, as many
    as it has done: the median where any length is as likely as its double.
    """
    if not job.length_is_known:
        return max(1.0, job.steps_done if job.likely_steps_left is None else job.likely_steps_left)
    return max(1.0, job.steps_total - job.steps_done)


def remaining_s(job: JobSnapshot, *, step_s: float) -> float:
    """Returns the seconds to train with this step time."""
    return steps_left(job) * step_s


def p90_s(p50_s: float, *, error: float) -> float:
    """Returns the 90th percentile of a time whose relative error is log-normal with that standard deviation."""
    return p50_s * math.exp(P90_SIGMAS * error)
