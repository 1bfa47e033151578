# SPDX-License-Identifier: Apache-2.0
"""From the starts and ends of pods to the phase of their gang, the same for every backend. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from mlhub.backends.protocol import GangPhase, PodStatus
from mlhub.wire.exits import Cause
from mlhub.wire.launch import PodRole

FAILURE_GRACE_S = 5.0  # how long the rest of a gang may take to leave after one pod failed
SERVER_GRACE_S = 10.0  # how long servers may take after the last worker is done


class StopReason(StrEnum):
    """Why a gang was asked to leave."""

    ASKED = "asked"
    DONE = "done"  # its workers are
    FAILED = "failed"
    START = "start"  # it could not start


class PodEnding(Protocol):
    """code: as shells write it."""

    @property
    def code(self) -> int: ...
    @property
    def cause(self) -> Cause | None: ...
    @property
    def at(self) -> datetime: ...


class GangPod(Protocol):
    """A pod as its backend sees it. ending: None while it may still run. failure: why it failed, in words."""

    @property
    def role(self) -> PodRole: ...
    @property
    def index(self) -> int: ...
    @property
    def node(self) -> str: ...
    @property
    def has_started(self) -> bool: ...
    @property
    def ending(self) -> PodEnding | None: ...
    @property
    def failure(self) -> str: ...


class StopRequest(Protocol):
    """That the gang was asked to leave. cause, message: of the failure for which it was, if any."""

    @property
    def why(self) -> str: ...
    @property
    def cause(self) -> Cause | None: ...
    @property
    def message(self) -> str: ...


@dataclass(frozen=True)
class Judgement:
    """cause, message: as in AttemptStatus. leave: why the pods that are left must be asked to, within grace_s."""

    phase: GangPhase
    cause: Cause | None = None
    message: str = ""
    leave: StopReason | None = None

    @property
    def grace_s(self) -> float:
        return SERVER_GRACE_S if self.leave is StopReason.DONE else FAILURE_GRACE_S


def judge(pods: Sequence[GangPod], stop: StopRequest | None, *, survives_lost_workers: bool) -> Judgement:
    """The rest must leave when a pod has failed, and when only servers are left; backends know what hinders a start."""
    workers = [p for p in pods if p.role is PodRole.WORKER]
    lost = [p for p in workers if survives_lost_workers and p.index > 0 and has_failed(p)]
    has_ended = all(p.ending is not None for p in pods)
    if all(p.ending is not None and (p.ending.code == 0 or p in lost) for p in workers):
        return Judgement(GangPhase.SUCCEEDED if has_ended else GangPhase.RUNNING, leave=StopReason.DONE)
    if stop is not None and stop.why == StopReason.ASKED:
        saved = [p.ending is None or p.ending.cause is Cause.PREEMPTED or p in lost for p in workers]
        unsaved = first_failure(pods) if has_ended and not all(saved) else (None, "")
        return Judgement(GangPhase.STOPPED if has_ended else GangPhase.STOPPING, *unsaved)
    if stop is not None or any(has_failed(p) for p in pods if p not in lost):
        cause, message = first_failure(pods)
        # once all were asked to leave, a pod that a user deleted looks like the others
        if stop is not None and stop.cause and (stop.why == StopReason.START or cause is Cause.PREEMPTED):
            cause, message = stop.cause, stop.message
        phase = GangPhase.FAILED if has_ended else GangPhase.STOPPING
        return Judgement(phase, cause, message, StopReason.FAILED)
    if all(p.has_started for p in pods):
        return Judgement(GangPhase.RUNNING, message=_words_on(lost))
    return Judgement(GangPhase.STARTING)


def has_failed(pod: GangPod) -> bool:
    return pod.ending is not None and pod.ending.code != 0


def first_failure(pods: Sequence[GangPod]) -> tuple[Cause, str]:
    """The cause of the pod that failed first; what others report because of it counts only for want of better."""
    failed = [(p, p.ending) for p in pods if p.ending is not None and p.ending.code != 0]
    failed.sort(key=lambda f: (f[1].cause.precedence if f[1].cause else 0, f[1].at))
    if not failed:
        return Cause.UNKNOWN, "The gang was stopped."
    pod, end = failed[0]
    return end.cause or Cause.UNKNOWN, pod.failure


def pod_status(pod: GangPod) -> PodStatus:
    return PodStatus(
        role=pod.role,
        index=pod.index,
        node=pod.node,
        is_running=pod.has_started and pod.ending is None,
        exit_code=pod.ending.code if pod.ending else None,
    )


def _words_on(lost: Sequence[GangPod]) -> str:
    """Of a gang that goes on without them; "" while no pod was lost."""
    if not lost:
        return ""
    cause, message = first_failure(lost)
    were = "worker was" if len(lost) == 1 else "workers were"
    return f"{len(lost)} {were} lost, and the others go on: {cause}: {message}"
