# SPDX-License-Identifier: Apache-2.0
"""The life of a job as a pure table: which trigger leads from which state to which. lifecycle.py applies it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class JobState(StrEnum):
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


# of a sentence whose subject is the job
_PREDICATES: Mapping[JobState, str] = {
    JobState.QUEUED: "is pending",
    JobState.STARTING: "is starting",
    JobState.RUNNING: "is running",
    JobState.STOPPING: "is stopping",
    JobState.PAUSED: "is paused",
    JobState.SUCCEEDED: "succeeded",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "was cancelled",
}


def predicate(state: str) -> str:
    """What a sentence says of a job in the state: "is running", "succeeded"."""
    return _PREDICATES[JobState(state)]


ENDED = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)
HOLDING_GPUS = (JobState.STARTING, JobState.RUNNING, JobState.STOPPING)


class Intent(StrEnum):
    """What the user wants; the platform's state follows it when it can."""

    RUN = "run"
    PAUSE = "pause"
    CANCEL = "cancel"


class Trigger(StrEnum):
    LAUNCH = "launch"  # control gave it an allocation
    PODS_RUN = "pods_run"  # the backend shows the whole gang running
    STOP = "stop"  # control asked the gang to leave: preempted, resized, paused or cancelled
    GANG_SUCCEEDED = "gang_succeeded"
    GANG_FAILED = "gang_failed"  # for good: the user's fault, or no retries left
    GANG_LOST = "gang_lost"  # the platform's fault: it waits for another attempt
    GANG_STOPPED = "gang_stopped"  # left as asked, the user wants it to run: back to the queue
    GANG_STOPPED_FOR_PAUSE = "gang_stopped_for_pause"
    GANG_STOPPED_FOR_CANCEL = "gang_stopped_for_cancel"
    PAUSE = "pause"  # while it holds nothing
    RESUME = "resume"
    CANCEL = "cancel"  # while it holds nothing
    REJECT = "reject"  # preflight found that it cannot work


_S, _T = JobState, Trigger

TRANSITIONS: Mapping[tuple[JobState, Trigger], JobState] = {
    (_S.QUEUED, _T.LAUNCH): _S.STARTING,
    (_S.QUEUED, _T.PAUSE): _S.PAUSED,
    (_S.QUEUED, _T.CANCEL): _S.CANCELLED,
    (_S.QUEUED, _T.REJECT): _S.FAILED,
    (_S.PAUSED, _T.RESUME): _S.QUEUED,
    (_S.PAUSED, _T.CANCEL): _S.CANCELLED,
    (_S.FAILED, _T.RESUME): _S.QUEUED,
    (_S.CANCELLED, _T.RESUME): _S.QUEUED,  # a trial of a study that goes on; never asked for by a person
    (_S.STARTING, _T.PODS_RUN): _S.RUNNING,
    **{
        (state, trigger): target
        for state in (_S.STARTING, _S.RUNNING, _S.STOPPING)
        for trigger, target in {
            _T.GANG_SUCCEEDED: _S.SUCCEEDED,
            _T.GANG_FAILED: _S.FAILED,
            _T.GANG_LOST: _S.QUEUED,
            _T.GANG_STOPPED: _S.QUEUED,
            _T.GANG_STOPPED_FOR_PAUSE: _S.PAUSED,
            _T.GANG_STOPPED_FOR_CANCEL: _S.CANCELLED,
        }.items()
    },
    (_S.STARTING, _T.STOP): _S.STOPPING,
    (_S.RUNNING, _T.STOP): _S.STOPPING,
}
