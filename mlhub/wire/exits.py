"""Exit codes of a pod's main process, and the typed causes that a failure is reported with."""

from __future__ import annotations

from enum import IntEnum, StrEnum


class ExitCode(IntEnum):
    """What the launcher's exit status means. Codes above 128 are signals, as shells write them."""

    DONE = 0
    USER_CODE = 64  # the model, dataset or script raised
    BAD_SPEC = 65  # the pod was started with a specification it cannot read
    INPUT_UNAVAILABLE = 66  # a dataset or code package could not be fetched, or its hash is wrong
    OUT_OF_MEMORY = 67
    PEER_LOST = 68  # another member of the gang went away
    NOT_A_NUMBER = 69  # the loss became NaN or infinite
    REPORT_REFUSED = 70  # the platform no longer accepts this attempt (fenced)
    PREEMPTED = 75  # asked to stop, saved a checkpoint, left
    TIMEOUT = 76  # the gang did not assemble in time


class Cause(StrEnum):
    """Why an attempt ended badly. The platform adds whose fault it is and what to do (mlhub/jobs/causes.py)."""

    USER_CODE = "user_code"
    BAD_SPEC = "bad_spec"
    INPUT_UNAVAILABLE = "input_unavailable"
    OUT_OF_MEMORY = "out_of_memory"
    PEER_LOST = "peer_lost"
    NOT_A_NUMBER = "not_a_number"
    REPORT_REFUSED = "report_refused"
    PREEMPTED = "preempted"
    TIMEOUT = "timeout"
    STALLED = "stalled"
    IMAGE = "image"
    VOLUME = "volume"
    QUOTA = "quota"
    TAINT = "taint"
    UNSCHEDULABLE = "unschedulable"
    NODE_LOST = "node_lost"
    KILLED = "killed"
    LAUNCH_FAILED = "launch_failed"
    UNKNOWN = "unknown"


_CAUSE_OF = {
    ExitCode.USER_CODE: Cause.USER_CODE,
    ExitCode.BAD_SPEC: Cause.BAD_SPEC,
    ExitCode.INPUT_UNAVAILABLE: Cause.INPUT_UNAVAILABLE,
    ExitCode.OUT_OF_MEMORY: Cause.OUT_OF_MEMORY,
    ExitCode.PEER_LOST: Cause.PEER_LOST,
    ExitCode.NOT_A_NUMBER: Cause.NOT_A_NUMBER,
    ExitCode.REPORT_REFUSED: Cause.REPORT_REFUSED,
    ExitCode.PREEMPTED: Cause.PREEMPTED,
    ExitCode.TIMEOUT: Cause.TIMEOUT,
}


def cause_of(exit_code: int) -> Cause | None:
    """The cause that an exit status stands for; None for success, KILLED for a signal, UNKNOWN for any other status."""
    if exit_code == ExitCode.DONE:
        return None
    if exit_code < 0 or exit_code > 128:
        return Cause.KILLED
    try:
        return _CAUSE_OF[ExitCode(exit_code)]
    except (ValueError, KeyError):
        return Cause.UNKNOWN
