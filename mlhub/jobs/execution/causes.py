# SPDX-License-Identifier: Apache-2.0
"""What follows from the cause of a failed attempt: another attempt after a pause, or the end of the job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlhub.wire.exits import Cause, Fault

BACK_OFF_S = (5.0, 10.0, 30.0, 60.0, 120.0)


@dataclass(frozen=True)
class RetryDecision:
    """is_final: the job has failed. wait_s: else, how long it waits before its next attempt."""

    is_final: bool
    wait_s: float = 0.0


def judge_failure(cause: Cause, *, n_failures: int, max_retries: int) -> RetryDecision:
    """n_failures: attempts in a row, this one included, that failed by the platform's fault and made no progress."""
    if cause.fault is Fault.USER or n_failures > max_retries:
        return RetryDecision(is_final=True)
    return RetryDecision(is_final=False, wait_s=BACK_OFF_S[min(n_failures, len(BACK_OFF_S)) - 1])


def failure(cause: Cause, *, message: str = "", traceback: str = "", n_attempts: int = 1) -> dict[str, Any]:
    """Job.failure: {cause, fault, message, remedy, traceback}. n_attempts: how often the platform tried in vain."""
    text = f"{cause.message} {message}".strip()
    if n_attempts > 1:
        text += f" It was tried {n_attempts} times."
    return {
        "cause": cause,
        "fault": cause.fault,
        "message": text,
        "remedy": cause.remedy,
        "traceback": traceback or None,
    }
