# SPDX-License-Identifier: Apache-2.0
"""From pods to their gang, by the rules of every backend, and what hinders a start here. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mlhub.backends.gang_rules import FAILURE_GRACE_S, StopReason, judge, pod_status
from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.status.problems import (
    KILLED_CODE,
    Ending,
    Obstacle,
    is_running,
    running_since,
    when,
)
from mlhub.backends.protocol import AttemptStatus, GangPhase
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, PodRole


@dataclass(frozen=True)
class Stop:
    """Why a gang was asked to leave. why: a StopReason. cause: for a gang that could not start."""

    why: str
    at: datetime
    grace_s: float
    cause: Cause | None = None
    message: str = ""

    def to_json(self) -> str:
        fields = {"why": self.why, "at": self.at.isoformat(), "grace_s": self.grace_s}
        return json.dumps({**fields, "cause": self.cause, "message": self.message})

    @classmethod
    def from_json(cls, text: str) -> Stop:
        raw = json.loads(text)
        cause = Cause(raw["cause"]) if raw["cause"] else None
        return cls(raw["why"], datetime.fromisoformat(raw["at"]), raw["grace_s"], cause, raw["message"])


@dataclass(frozen=True)
class PodMember:
    role: PodRole
    index: int
    node: str

    def __str__(self) -> str:
        return f"{self.role} {self.index} on {self.node}"


@dataclass(frozen=True)
class Record:
    """A gang as its Service remembers it. launched_at: None while it is half made."""

    attempt_id: AttemptId
    namespace: str
    name: str
    uid: str
    created_at: datetime
    launched_at: datetime | None
    start_timeout_s: float
    members: tuple[PodMember, ...]
    stop: Stop | None
    survives_lost_workers: bool = False

    @classmethod
    def of(cls, service: Object) -> Record:
        metadata = service["metadata"]
        annotations = metadata.get("annotations") or {}
        gang = json.loads(annotations[names.GANG])
        created_at = when(metadata["creationTimestamp"])
        assert created_at is not None
        return cls(
            attempt_id=AttemptId(metadata["labels"][names.ATTEMPT]),
            namespace=metadata["namespace"],
            name=metadata["name"],
            uid=metadata["uid"],
            created_at=created_at,
            launched_at=when(annotations.get(names.LAUNCHED)),
            start_timeout_s=gang["start_timeout_s"],
            members=tuple(PodMember(PodRole(role), index, node) for role, index, node in gang["pods"]),
            stop=Stop.from_json(annotations[names.STOP]) if names.STOP in annotations else None,
            survives_lost_workers=gang.get("survives_lost_workers", False),
        )


@dataclass(frozen=True)
class KubePodState:
    """One member as it is. pod: None when it was removed behind our back."""

    member: PodMember
    pod: Object | None
    ending: Ending | None
    obstacle: Obstacle | None = None

    @property
    def role(self) -> PodRole:
        return self.member.role

    @property
    def index(self) -> int:
        return self.member.index

    @property
    def node(self) -> str:
        return self.member.node

    @property
    def failure(self) -> str:
        assert self.ending is not None
        return f"{self.member}: {self.ending.message or f'it ended with status {self.ending.code}.'}"

    @property
    def has_started(self) -> bool:
        return self.ending is not None or (self.pod is not None and is_running(self.pod))


@dataclass(frozen=True)
class GangState:
    """wanted: that the gang be asked to leave, because of what its pods show. started_at: when the last pod began."""

    status: AttemptStatus
    wanted: Stop | None = None
    pods: tuple[KubePodState, ...] = field(default=())


def vanished(member: PodMember, *, lost_node: str | None, now: datetime) -> Ending:
    if lost_node is not None:
        return Ending(KILLED_CODE, Cause.NODE_LOST, lost_node, now, is_confirmed=False)
    return Ending(KILLED_CODE, Cause.KILLED, f"The pod of {member} was removed behind MLHub's back.", now)


def gang_state(record: Record, pods: Sequence[KubePodState], *, now: datetime) -> GangState:
    """The gang's status, and whether the rest must be asked to leave: a pod failed, only servers are left, no start."""
    found = judge(pods, record.stop, survives_lost_workers=record.survives_lost_workers)
    ends = [p.ending.at for p in pods if p.ending is not None]
    has_ended = len(ends) == len(pods)
    wanted = None
    if found.leave is not None:
        wanted = Stop(found.leave, now, found.grace_s, found.cause, found.message)
    elif found.phase is GangPhase.STARTING:
        wanted = _start_is_hopeless(record, pods, now=now)
    return GangState(
        AttemptStatus(
            attempt_id=record.attempt_id,
            phase=found.phase,
            pods=tuple(map(pod_status, pods)),
            cause=found.cause,
            message=found.message,
            started_at=_started_at(pods) or record.launched_at,
            ended_at=max(ends, default=now) if has_ended else None,
        ),
        wanted=wanted if record.stop is None and not has_ended else None,
        pods=tuple(pods),
    )


def _start_is_hopeless(record: Record, pods: Sequence[KubePodState], *, now: datetime) -> Stop | None:
    for pod in pods:
        if pod.obstacle is not None:
            message = f"{pod.obstacle.problem}: {pod.member}: {pod.obstacle.message}"
            return Stop(StopReason.START, now, FAILURE_GRACE_S, pod.obstacle.problem.cause, message)
    began_at = record.launched_at or record.created_at
    if now - began_at > timedelta(seconds=record.start_timeout_s):
        late = ", ".join(str(p.member) for p in pods if not p.has_started)
        message = f"The gang did not start within {record.start_timeout_s:.0f} s; not running: {late}."
        return Stop(StopReason.START, now, FAILURE_GRACE_S, Cause.TIMEOUT, message)
    return None


def _started_at(pods: Sequence[KubePodState]) -> datetime | None:
    began = [running_since(p.pod) if p.pod is not None else None for p in pods]
    known = [at for at in began if at is not None]
    return max(known) if known and len(known) == len(began) else None


def by_member(pods: Sequence[Object]) -> Mapping[tuple[str, int], Object]:
    return {(p["metadata"]["labels"][names.ROLE], int(p["metadata"]["labels"][names.INDEX])): p for p in pods}
