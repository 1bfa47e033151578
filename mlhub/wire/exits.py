# SPDX-License-Identifier: Apache-2.0
"""Exit codes of a pod's main process, and every cause that a failure is reported with.

A cause is declared here and nowhere else: whose fault it is, what it means, and what to do about it. The API's schema,
the dashboard's type and the table in docs/guides/failures.md follow from this declaration.
"""

from __future__ import annotations

import signal
from enum import IntEnum, StrEnum

CRASH_SIGNALS = frozenset(
    {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGSYS}
)


class ExitCode(IntEnum):
    """What the launcher's exit status means; each name but DONE is a cause's. Codes above 128 are signals, as shells
    write them."""

    DONE = 0
    USER_CODE = 64  # the model, dataset or script raised
    BAD_SPEC = 65  # the pod was started with a specification it cannot read
    INPUT_UNAVAILABLE = 66  # a dataset or code package could not be fetched, or its hash is wrong
    OUT_OF_MEMORY = 67
    PEER_LOST = 68  # another member of the gang went away
    NOT_A_NUMBER = 69  # the loss became NaN or infinite
    REPORT_REFUSED = 70  # the platform no longer accepts this attempt (fenced)
    IO_ERROR = 71  # a file of the platform could not be read or written
    STORAGE_QUOTA = 72  # the storage quota has no room for the result
    SANDBOX_FAILED = 73  # a process of the sandbox ended, or the sandbox could not be set up
    GPU_UNAVAILABLE = 74  # the pod was given a GPU on which CUDA does not start
    PREEMPTED = 75  # asked to stop, saved a checkpoint, left
    TIMEOUT = 76  # the gang did not assemble in time
    JOB_IMAGE = 77  # the job's own image lacks the runtime, or has that of another version


class Fault(StrEnum):
    """USER: another try would fail again, so the job ends. PLATFORM: the job is tried again by itself, some times."""

    USER = "user"
    PLATFORM = "platform"


_U, _P = Fault.USER, Fault.PLATFORM
_AGAIN = (
    "Resume the job: it goes on from its newest checkpoint, or begins anew without one. Ask an administrator if the "
    "failure stays."
)


class Cause(StrEnum):
    """Why an attempt ended badly.

    fault: whose. message, remedy: what a person reads. precedence: of several pods' causes the one with the lowest
    number explains the gang's end; those above 0 may be mere consequences of another pod's failure.
    """

    fault: Fault
    message: str
    remedy: str
    precedence: int

    def __new__(cls, value: str, fault: Fault = _P, message: str = "", remedy: str = "", precedence: int = 0) -> Cause:
        """The declaration of a member below. Cause(value) looks one up."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.fault, member.message, member.remedy, member.precedence = fault, message, remedy, precedence
        return member

    USER_CODE = "user_code", _U, "The model's code raised an error.", "Correct the code, upload it and clone the job."
    NOT_A_NUMBER = (
        "not_a_number", _U, "The loss became NaN or infinite.",
        "Lower learning_rate, clip gradients (clip_norm), or check the dataset for extreme values.",
    )  # fmt: skip
    OUT_OF_MEMORY = (
        "out_of_memory", _U, "A pod ran out of memory.",
        "Use a smaller batch_size or model, or more workers (min_workers); or ask for more "
        "memory (resources.memory_gib).",
    )  # fmt: skip
    STALLED = (
        "stalled", _U, "Training made no progress for too long and was ended.",
        "Look for an endless loop, a deadlock or a wait for something that never comes. A script must report now and "
        "then (mlhub.runtime.report, TensorBoard or MLflow); where steps take long by nature, raise "
        "limits.stall_s.",
    )  # fmt: skip
    STORAGE_QUOTA = (
        "storage_quota", _U, "The organisation's storage quota has no room for the result.",
        "Delete datasets, models or trained versions that are no longer needed, or ask an administrator for a larger "
        "quota; then resume the job, which goes on from its newest checkpoint.",
    )  # fmt: skip
    DISK_FULL = (
        "disk_full", _U, "A pod took too much of its node's disk.",
        "Write fewer and smaller files, remove those that are no longer needed, and print less; where the node has "
        "little room left, ask an administrator to make some, then resume the job: it goes on from its newest "
        "checkpoint.",
    )  # fmt: skip
    JOB_IMAGE = (
        "job_image", _U, "The job's own container image cannot be used.",
        "Check its name and that it was pushed, and build it FROM the platform's runtime image of the same version; "
        "then clone the job with an image that is right. Ask an administrator where the cluster may not pull it.",
    )  # fmt: skip
    SECRET = (
        "secret", _U, "A secret that the job names cannot be given to it.",
        "Set it again (`mlhub secret set NAME`, or Secrets of the project on the page Members), then resume the job. "
        "Where no key decrypts it, an administrator may instead put the earlier key into MLHUB_SECRET_KEY_FALLBACKS "
        "and run `manage.py reencrypt`.",
    )  # fmt: skip
    CRASHED = (
        "crashed", _P, "A process crashed in native code.",
        "If it crashes at the same place again, look at the stack at the end of the log, and check the native "
        "extensions that the code uses.", 1,
    )  # fmt: skip
    KILLED = "killed", _P, "A pod was killed.", _AGAIN, 1
    PEER_LOST = "peer_lost", _P, "A member of the gang lost its connection to another.", _AGAIN, 2
    TIMEOUT = "timeout", _P, "The gang did not assemble in time, or waited in vain for one of its own.", _AGAIN, 2
    PREEMPTED = "preempted", _P, "The job was asked to leave its GPUs.", _AGAIN, 3
    BAD_SPEC = "bad_spec", _P, "A pod could not read its specification.", _AGAIN
    INPUT_UNAVAILABLE = "input_unavailable", _P, "A dataset or package could not be brought to a pod.", _AGAIN
    REPORT_REFUSED = "report_refused", _P, "The platform did not accept the pod's reports.", _AGAIN
    SANDBOX_FAILED = "sandbox_failed", _P, "The sandbox that a pod ran in failed.", _AGAIN
    GPU_UNAVAILABLE = (
        "gpu_unavailable", _P, "CUDA does not start on the GPU that a pod was given.",
        "Ask an administrator to run `mlhub doctor` on the node: the driver, the sandbox or a torch without CUDA may "
        "be the reason. MLHUB_GPUS=none lets the local backend train on CPUs.",
    )  # fmt: skip
    IO_ERROR = (
        "io_error", _P, "A pod could not read or write a file of the platform.",
        "Ask an administrator to check the storage of checkpoints and the nodes' disks.",
    )  # fmt: skip
    IMAGE = "image", _P, "The container image could not be started.", "Ask an administrator to check the image."
    VOLUME = (
        "volume", _P, "A volume could not be mounted into a pod.",
        "Ask an administrator to check the project's volumes and its storage class; the cluster's message is above.",
    )  # fmt: skip
    QUOTA = (
        "quota", _P, "The cluster's own quota for the project is used up.",
        "Ask an administrator to raise the ResourceQuota of the project's namespace, or end jobs of this project.",
    )  # fmt: skip
    TAINT = (
        "taint", _P, "A node was closed to the job's pods by a taint or a cordon.",
        "Ask an administrator to open the node again; until then other nodes are chosen.",
    )  # fmt: skip
    UNSCHEDULABLE = (
        "unschedulable", _P, "The cluster's scheduler found no room for a pod on its node.",
        "Something outside MLHub may take the node's CPUs, memory or GPUs; ask an administrator to look at the node.",
    )  # fmt: skip
    NODE_LOST = "node_lost", _P, "A node went away.", _AGAIN
    LAUNCH_FAILED = "launch_failed", _P, "The gang could not be started.", _AGAIN
    UNKNOWN = "unknown", _P, "A pod ended for an unknown reason.", _AGAIN


def cause_of(exit_code: int) -> Cause | None:
    """The cause that an exit status stands for; None for success, UNKNOWN for a status that means nothing here.

    A signal alone never proves that memory was short: SIGKILL may come from a person or from the node.
    """
    if exit_code == ExitCode.DONE:
        return None
    if exit_code < 0 or exit_code > 128:
        return cause_of_signal(-exit_code if exit_code < 0 else exit_code - 128)
    try:
        return Cause[ExitCode(exit_code).name]
    except ValueError:
        return Cause.UNKNOWN


def cause_of_signal(number: int) -> Cause:
    """CRASHED for signals that a process causes itself, KILLED for those that come from outside."""
    return Cause.CRASHED if number in CRASH_SIGNALS else Cause.KILLED
