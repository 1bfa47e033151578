"""Whose fault a failure is, what it means and what to do about it, for every cause that the wire knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mlhub.wire.exits import Cause


class Fault(StrEnum):
    """user: trying again would fail again. platform: it is tried again by itself."""

    USER = "user"
    PLATFORM = "platform"


@dataclass(frozen=True)
class Meaning:
    fault: Fault
    message: str
    remedy: str


_U, _P = Fault.USER, Fault.PLATFORM
_AGAIN = "Submit the job again; tell an administrator if it stays like this."

MEANINGS: Mapping[Cause, Meaning] = {
    Cause.USER_CODE: Meaning(_U, "The model's code raised an error.", "Correct the code, upload it and clone the job."),
    Cause.NOT_A_NUMBER: Meaning(
        _U,
        "The loss became NaN or infinite.",
        "Lower learning_rate, clip gradients (clip_norm), or check the "
        "dataset for extreme values. The last checkpoint is kept for a day.",
    ),
    Cause.OUT_OF_MEMORY: Meaning(
        _U,
        "A pod ran out of memory.",
        "Use a smaller batch_size or model, or more workers (min_workers); or ask for more "
        "memory (resources.memory_gib). The last checkpoint is kept for a day.",
    ),
    Cause.STALLED: Meaning(
        _U,
        "It stood still for too long and was ended.",
        "Look for an endless loop, a deadlock or a wait for something that never comes. A script must report now and "
        "then (mlhub.runtime.report, TensorBoard or MLflow); where steps take long by nature, raise "
        "limits.stall_s. The last checkpoint is kept for a day.",
    ),
    Cause.BAD_SPEC: Meaning(_P, "A pod could not read its specification.", _AGAIN),
    Cause.INPUT_UNAVAILABLE: Meaning(_P, "A dataset or package could not be brought to a pod.", _AGAIN),
    Cause.PEER_LOST: Meaning(_P, "A member of the gang lost its connection to another.", _AGAIN),
    Cause.REPORT_REFUSED: Meaning(_P, "The platform did not accept the pod's reports.", _AGAIN),
    Cause.PREEMPTED: Meaning(_P, "The job was asked to leave its GPUs.", _AGAIN),
    Cause.TIMEOUT: Meaning(_P, "The gang did not assemble in time, or waited in vain for one of its own.", _AGAIN),
    Cause.IMAGE: Meaning(_P, "The container image could not be started.", "Ask an administrator to check the image."),
    Cause.VOLUME: Meaning(
        _P,
        "A volume could not be mounted into a pod.",
        "Ask an administrator to check the project's volumes and its storage class; what the cluster said is above.",
    ),
    Cause.QUOTA: Meaning(
        _P,
        "The cluster's own quota for the project is used up.",
        "Ask an administrator to raise the ResourceQuota of the project's namespace, or end jobs of this project.",
    ),
    Cause.TAINT: Meaning(
        _P,
        "A node was closed to the job's pods by a taint or a cordon.",
        "Ask an administrator to open the node again; until then other nodes are chosen.",
    ),
    Cause.UNSCHEDULABLE: Meaning(
        _P,
        "The cluster's scheduler found no room for a pod on its node.",
        "Something outside MLHub may take the node's CPUs, memory or GPUs; ask an administrator to look at the node.",
    ),
    Cause.NODE_LOST: Meaning(_P, "A node went away.", _AGAIN),
    Cause.KILLED: Meaning(_P, "A pod was killed.", _AGAIN),
    Cause.LAUNCH_FAILED: Meaning(_P, "The gang could not be started.", _AGAIN),
    Cause.UNKNOWN: Meaning(_P, "A pod ended for an unknown reason.", _AGAIN),
}


def failure(cause: Cause, *, message: str = "", traceback: str = "", n_attempts: int = 1) -> dict[str, Any]:
    """Job.failure: {cause, fault, message, remedy, traceback}. n_attempts: how often the platform tried in vain."""
    meaning = MEANINGS[cause]
    told = f"{meaning.message} {message}".strip()
    if n_attempts > 1:
        told += f" It was tried {n_attempts} times."
    return {
        "cause": cause,
        "fault": meaning.fault,
        "message": told,
        "remedy": meaning.remedy,
        "traceback": traceback or None,
    }
