# SPDX-License-Identifier: Apache-2.0
"""From the files on disk to a gang's status: the rules by which pods' ends make a gang's end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mlhub.backends.local.folders import GangFolder, PodFolder, is_alive, read_json
from mlhub.backends.protocol import AttemptStatus, GangPhase, PodStatus, words_on_lost_workers
from mlhub.wire.exits import Cause, cause_of
from mlhub.wire.launch import LaunchSpec, PodPlacement, PodRole

FAILURE_GRACE_S = 5.0  # how long the rest of a gang may take to leave after one pod failed
SERVER_GRACE_S = 10.0  # how long servers may take after the last worker is done


@dataclass(frozen=True)
class PodState:
    """One pod as its folder shows it. exit: exit.json, or a made-up one when the shim itself was killed."""

    placement: PodPlacement
    has_started: bool
    exit: dict[str, Any] | None

    @property
    def has_failed(self) -> bool:
        return self.exit is not None and self.exit["code"] != 0

    @property
    def cause(self) -> Cause | None:
        if self.exit is None:
            return None
        return Cause(self.exit["cause"]) if self.exit["cause"] else cause_of(self.exit["code"])


def pod_state(folder: PodFolder, placement: PodPlacement) -> PodState:
    ended = read_json(folder.exit)
    shim = read_json(folder.shim)
    if ended is None and shim is not None and not is_alive(shim["pid"], shim["started"]):
        ended = read_json(folder.exit)  # it may have ended between the two looks
        if ended is None:
            _end_orphan(shim)
            ended = {"code": -9, "cause": "", "message": "The pod's shim was killed.", "at": time.time()}
    return PodState(placement, has_started=shim is not None, exit=ended)


def gang_status(folder: GangFolder, launch: LaunchSpec) -> AttemptStatus:
    """The gang's status; asks the rest to leave when a pod has failed, or when only servers are left."""
    pods = [pod_state(folder.pod(p.role, p.index), p) for p in launch.pods]
    stop = read_json(folder.stop)
    workers = [p for p in pods if p.placement.role is PodRole.WORKER]
    all_ended = all(p.exit is not None for p in pods)
    lost = [p for p in workers if launch.survives_lost_workers and p.placement.index > 0 and p.has_failed]
    done = all(p.exit is not None and (p.exit["code"] == 0 or p in lost) for p in workers)
    launched = read_json(folder.launched) or {"at": time.time()}
    cause, message = None, ""
    if done:
        phase = GangPhase.SUCCEEDED if all_ended else GangPhase.RUNNING
        if not all_ended:
            folder.ask_to_stop(grace_s=SERVER_GRACE_S, why="done")
    elif stop is not None and stop["why"] == "asked":
        phase = GangPhase.STOPPED if all_ended else GangPhase.STOPPING
        unsaved = [p for p in workers if p.exit is not None and p.cause is not Cause.PREEMPTED and p not in lost]
        if all_ended and unsaved:
            cause, message = _first_failure(pods)
    elif any(p.has_failed for p in pods if p not in lost) or stop is not None:
        phase = GangPhase.FAILED if all_ended else GangPhase.STOPPING
        folder.ask_to_stop(grace_s=FAILURE_GRACE_S, why="failed")
        cause, message = _first_failure(pods)
        if stop is not None and stop["why"] == "start_timeout":
            cause, message = Cause.TIMEOUT, f"The gang did not start within {launch.start_timeout_s:.0f} s."
    elif all(p.has_started for p in pods):
        phase, message = GangPhase.RUNNING, words_on_lost_workers(len(lost), *_first_failure(lost))
    else:
        phase = GangPhase.STARTING
        if time.time() - launched["at"] > launch.start_timeout_s:
            folder.ask_to_stop(grace_s=FAILURE_GRACE_S, why="start_timeout")
    ended_at = max((p.exit["at"] for p in pods if p.exit is not None), default=None) if all_ended else None
    return AttemptStatus(
        attempt_id=folder.attempt_id,
        phase=phase,
        pods=tuple(_pod_status(p) for p in pods),
        cause=cause,
        message=message,
        started_at=datetime.fromtimestamp(launched["at"], UTC),
        ended_at=datetime.fromtimestamp(ended_at, UTC) if ended_at is not None else None,
    )


def _first_failure(pods: list[PodState]) -> tuple[Cause, str]:
    """The cause of the pod that failed first; what others report because of it counts only for want of better."""
    failed = [p for p in pods if p.exit is not None and p.has_failed]
    failed.sort(key=lambda p: (p.cause.precedence if p.cause else 0, p.exit["at"] if p.exit else 0.0))
    if not failed:
        return Cause.UNKNOWN, "The gang was stopped."
    first = failed[0]
    assert first.exit is not None
    where = f"{first.placement.role} {first.placement.index} on {first.placement.node}"
    return first.cause or Cause.UNKNOWN, first.exit["message"] or f"{where} ended with status {first.exit['code']}."


def _pod_status(pod: PodState) -> PodStatus:
    return PodStatus(
        role=pod.placement.role,
        index=pod.placement.index,
        node=pod.placement.node,
        is_running=pod.has_started and pod.exit is None,
        exit_code=pod.exit["code"] if pod.exit else None,
    )


def _end_orphan(shim: dict[str, Any]) -> None:
    """The shim was killed: its pod must not go on unwatched."""
    if is_alive(shim["child"], shim["child_started"]):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shim["child"], signal.SIGKILL)
