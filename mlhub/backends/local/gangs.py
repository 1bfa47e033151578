# SPDX-License-Identifier: Apache-2.0
"""From the files on disk to a gang's status."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mlhub.backends.gang_rules import FAILURE_GRACE_S, StopReason, judge, pod_status
from mlhub.backends.local.folders import GangFolder, PodFolder, is_alive, read_json
from mlhub.backends.pod_states import PodExit, PodState
from mlhub.backends.protocol import AttemptStatus, GangPhase
from mlhub.wire.exits import Cause, cause_of
from mlhub.wire.launch import LaunchSpec, PodPlacement

START_TIMEOUT = "start_timeout"


@dataclass(frozen=True)
class GangStop:
    why: str
    cause: Cause | None = None
    message: str = ""


def pod_state(folder: PodFolder, placement: PodPlacement) -> PodState:
    ended = read_json(folder.exit)
    shim = read_json(folder.shim)
    if ended is None and shim is not None and not is_alive(shim["pid"], shim["started"]):
        ended = read_json(folder.exit)  # it may have ended between the two looks
        if ended is None:
            _end_orphan(shim)
            ended = {"code": -9, "cause": "", "message": "The pod's shim was killed.", "at": time.time()}
    return PodState(placement, has_started=shim is not None, ending=None if ended is None else _ending(ended))


def _ending(ended: dict[str, Any]) -> PodExit:
    cause = Cause(ended["cause"]) if ended["cause"] else cause_of(ended["code"])
    return PodExit(ended["code"], cause, ended["message"], datetime.fromtimestamp(ended["at"], UTC))


def gang_status(folder: GangFolder, launch: LaunchSpec) -> AttemptStatus:
    """The gang's status; asks the rest to leave when a pod has failed, or when only servers are left."""
    pods = [pod_state(folder.pod(p.role, p.index), p) for p in launch.pods]
    found = judge(pods, _stop_request(folder, launch), survives_lost_workers=launch.survives_lost_workers)
    launched = read_json(folder.launched) or {"at": time.time()}
    ends = [p.ending.at for p in pods if p.ending is not None]
    has_ended = len(ends) == len(pods)
    if found.leave is not None and found.phase is not GangPhase.SUCCEEDED:
        # a failed gang's also when none is left: a stop that is asked for later does not change how it ended
        folder.ask_to_stop(grace_s=found.grace_s, why=found.leave)
    elif found.phase is GangPhase.STARTING and time.time() - launched["at"] > launch.start_timeout_s:
        folder.ask_to_stop(grace_s=FAILURE_GRACE_S, why=START_TIMEOUT)
    return AttemptStatus(
        attempt_id=folder.attempt_id,
        phase=found.phase,
        pods=tuple(map(pod_status, pods)),
        cause=found.cause,
        message=found.message,
        started_at=datetime.fromtimestamp(launched["at"], UTC),
        ended_at=max(ends) if has_ended else None,
    )


def _stop_request(folder: GangFolder, launch: LaunchSpec) -> GangStop | None:
    stop = read_json(folder.stop)
    if stop is None:
        return None
    if stop["why"] == START_TIMEOUT:
        message = f"The gang did not start within {launch.start_timeout_s:.0f} s."
        return GangStop(StopReason.START, Cause.TIMEOUT, message)
    return GangStop(stop["why"])


def _end_orphan(shim: dict[str, Any]) -> None:
    """The shim was killed: its pod must not go on unwatched."""
    if is_alive(shim["child"], shim["child_started"]):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shim["child"], signal.SIGKILL)
