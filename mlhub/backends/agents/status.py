# SPDX-License-Identifier: Apache-2.0
"""From what agents reported to a gang's status. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mlhub.backends.agents.messages import PodReport
from mlhub.backends.agents.store import KnownGang, KnownShare, KnownStop
from mlhub.backends.gang_rules import FAILURE_GRACE_S, SERVER_GRACE_S, Judgement, StopReason, judge, pod_status
from mlhub.backends.pod_states import PodExit, PodState
from mlhub.backends.protocol import AttemptStatus, GangPhase
from mlhub.wire.exits import Cause, cause_of
from mlhub.wire.launch import PodPlacement

NEVER_STARTED = 1  # the exit status of a pod that could not start


@dataclass(frozen=True)
class LostNode:
    """why: for people. at: since when its pods count as ended."""

    why: str
    at: datetime


def gang_status(
    gang: KnownGang, *, lost: Mapping[str, LostNode], now: datetime
) -> tuple[AttemptStatus, KnownStop | None]:
    """The gang's status, and the stop that its pods are to be asked for, if any.

    lost: the nodes that count as lost, by name. The gang is released.
    """
    assert gang.released_at is not None
    shares = {share.node: share for share in gang.shares}
    pods = [_pod(pod, shares.get(pod.node), lost.get(pod.node), gang.released_at) for pod in gang.spec.pods]
    stop = gang.stop or _left_by_themselves(gang, now=now)
    found = judge(pods, stop, survives_lost_workers=gang.spec.survives_lost_workers)
    ends = [pod.ending.at for pod in pods if pod.ending is not None]
    status = AttemptStatus(
        attempt_id=gang.spec.attempt_id,
        phase=found.phase,
        pods=tuple(map(pod_status, pods)),
        cause=found.cause,
        message=found.message,
        started_at=gang.released_at,
        ended_at=max(ends) if len(ends) == len(pods) else None,
    )
    return status, (_wanted_stop(gang, found, now=now) if stop is gang.stop else stop)


def _left_by_themselves(gang: KnownGang, *, now: datetime) -> KnownStop | None:
    """A stop, where a machine had a pod save and leave because the platform was away: no fault of the job, as any other
    preemption. The rest of the gang is to save, too."""
    ends = [pod.end for share in gang.shares for pod in share.pods if pod.end is not None]
    if any(end.was_asked and cause_of(end.code) is Cause.PREEMPTED for end in ends):
        return KnownStop(StopReason.ASKED, None, "", now + timedelta(seconds=SERVER_GRACE_S))
    return None


def _pod(placement: PodPlacement, share: KnownShare | None, lost: LostNode | None, released_at: datetime) -> PodState:
    """A pod as its agent reported it; made up where there is nothing to wait for any more."""
    report = _report(placement, share)
    if report is not None and report.end is not None:
        end = report.end
        cause = Cause(end.cause) if end.cause else cause_of(end.code)
        return PodState(placement, True, PodExit(end.code, cause, end.message, datetime.fromtimestamp(end.at, UTC)))
    has_started = report is not None and report.has_started
    if lost is not None:
        return PodState(placement, has_started, PodExit(-9, Cause.NODE_LOST, lost.why, lost.at))
    if share is None:
        why = f"There is no agent {placement.node}."
        return PodState(placement, has_started, PodExit(-9, Cause.NODE_LOST, why, released_at))
    if share.problem:
        cause = share.cause or Cause.LAUNCH_FAILED
        return PodState(
            placement, False, PodExit(NEVER_STARTED, cause, f"{placement.node}: {share.problem}", released_at)
        )
    return PodState(placement, has_started, None)


def _report(placement: PodPlacement, share: KnownShare | None) -> PodReport | None:
    pods: Collection[PodReport] = share.pods if share is not None else ()
    return next((pod for pod in pods if (pod.role, pod.index) == (placement.role, placement.index)), None)


def _wanted_stop(gang: KnownGang, found: Judgement, *, now: datetime) -> KnownStop | None:
    if found.leave is not None and found.phase is not GangPhase.SUCCEEDED:
        if gang.stop is None:
            # what made it fail is kept: pods that leave later report causes of their own
            return KnownStop(found.leave, found.cause, found.message, now + timedelta(seconds=found.grace_s))
        return None
    assert gang.released_at is not None
    waited_s = (now - gang.released_at).total_seconds()
    if found.phase is GangPhase.STARTING and waited_s > gang.spec.start_timeout_s:
        message = f"The gang did not start within {gang.spec.start_timeout_s:.0f} s."
        return KnownStop(StopReason.START, Cause.TIMEOUT, message, now + timedelta(seconds=FAILURE_GRACE_S))
    return None
