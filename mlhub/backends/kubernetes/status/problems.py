# SPDX-License-Identifier: Apache-2.0
"""Why a pod cannot start, or how it ended: from a pod's status, in the API's words, to a typed cause. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from mlhub._version import __version__
from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.specs.containers import MAIN
from mlhub.wire.exits import Cause, cause_of

KILLED_CODE, TERMINATED_CODE = 137, 143
NO_ANSWER_AFTER_S = 60.0  # a kubelet that lives kills in time; past this no kubelet will confirm the end
NO_SUCH_IMAGE = ("not found", "manifest unknown", "denied", "unauthorized", "no such host")
# of a registry that does not answer now: no fault of the image
REGISTRY_AWAY = re.compile(
    r"timeout|timed out|deadline exceeded|connection re(?:fused|set)|\bEOF\b|toomanyrequests|too many requests"
    r"|network is unreachable|no route to host|temporary failure|status(?: code)?:? 5\d\d"
    r"|service unavailable|bad gateway|internal server error|QPS exceeded",
    re.IGNORECASE,
)
# how container runtimes say that the image has no such program, or is of another architecture
NO_PROGRAM = ("executable file not found", "no such file or directory", "exec format error")
START_REASONS = {"StartError", "ContainerCannotRun"}  # of a container that has ended without having begun
IMAGE_REASONS = {"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"}
CONTAINER_REASONS = {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
MOUNT_WORDS = ("subPath", "volumeMount", "error mounting", "failed to mount", "stale NFS file handle")
MOUNT_S = 20.0  # a single failure to mount may pass by itself: a kubelet that has not seen the Secret yet
VOLUME_EVENTS = {"FailedMount", "FailedAttachVolume", "FailedMapVolume"}
START_EVENTS = VOLUME_EVENTS | {"FailedCreatePodSandBox"}
# as kubelets put it: of what the pod itself took, and not of a node that is short of room
OVER_DISK = re.compile(r"exceed.*(?:ephemeral|emptydir)|(?:ephemeral|emptydir).*exceed", re.IGNORECASE)
ADMISSION_REASONS = ("UnexpectedAdmissionError", "OutOf", "NodeAffinity", "NodeShutdown", "Admission")


class StartProblem(StrEnum):
    """What keeps a pod from starting; the word that its message begins with."""

    IMAGE = "image"
    JOB_IMAGE = "image of the job"
    VOLUME = "volume"
    QUOTA = "quota"
    TAINT = "taint"
    RESOURCES = "resources"
    NODE = "node"
    CONTAINER = "container"
    NETWORK = "network"

    @property
    def cause(self) -> Cause:
        return _CAUSES.get(self, Cause.LAUNCH_FAILED)


_CAUSES = {
    StartProblem.IMAGE: Cause.IMAGE,
    StartProblem.JOB_IMAGE: Cause.JOB_IMAGE,
    StartProblem.VOLUME: Cause.VOLUME,
    StartProblem.QUOTA: Cause.QUOTA,
    StartProblem.TAINT: Cause.TAINT,
    StartProblem.RESOURCES: Cause.UNSCHEDULABLE,
    StartProblem.NODE: Cause.NODE_LOST,
}


@dataclass(frozen=True)
class Obstacle:
    problem: StartProblem
    message: str

    def __str__(self) -> str:
        return f"{self.problem}: {self.message}"


@dataclass(frozen=True)
class Ending:
    """code: as shells write it. is_confirmed: whether a kubelet reported it; else the processes may still run."""

    code: int
    cause: Cause | None
    message: str
    at: datetime
    is_confirmed: bool = True


def when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def obstacle(
    pod: Object,
    events: Sequence[Object],
    *,
    now: datetime,
    unschedulable_after_s: float,
    released_at: datetime | None = None,
) -> Obstacle | None:
    """What keeps the pod from starting and will not go away by itself. events: the pod's own.

    released_at: when the cluster's scheduler was first let see it. The condition's own time may be older: a gated pod
    is "not scheduled" from its creation on, and only the reason changes later.
    """
    status = pod.get("status", {})
    for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
        waiting = container.get("state", {}).get("waiting") or {}
        reason, message = str(waiting.get("reason", "")), str(waiting.get("message", ""))
        is_final = reason == "ErrImagePull" and any(words in message for words in NO_SUCH_IMAGE)
        if reason in IMAGE_REASONS or is_final:
            own = _own_image(pod, container)
            if own and not REGISTRY_AWAY.search(message):
                return Obstacle(StartProblem.JOB_IMAGE, f"{own} cannot be pulled: {message or reason}")
            return Obstacle(StartProblem.IMAGE, f"{own or container.get('image')}: {message or reason}")
        if reason in CONTAINER_REASONS:
            if (own := _own_image(pod, container)) and _has_no_program(message):
                return Obstacle(StartProblem.JOB_IMAGE, no_runtime(own, message))
            is_volume = any(words in message for words in MOUNT_WORDS)
            return Obstacle(StartProblem.VOLUME if is_volume else StartProblem.CONTAINER, message or reason)
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable":
        since = when(scheduled.get("lastTransitionTime"))
        since = max(since, released_at) if since and released_at else since or released_at
        if since is None or (now - since).total_seconds() >= unschedulable_after_s:
            return _unschedulable(scheduled.get("message", "No node takes it."))
    for event in events:
        if event.get("reason") in VOLUME_EVENTS and (_n_times(event) > 1 or _waits_s(pod, now) >= MOUNT_S):
            return Obstacle(StartProblem.VOLUME, str(event.get("message", "")))
        if event.get("reason") == "FailedCreatePodSandBox" and _n_times(event) > 1:
            return Obstacle(StartProblem.NETWORK, str(event.get("message", "")))
    return None


def _n_times(event: Object) -> int:
    """How often it happened; newer kubelets report it as a series."""
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)


def _waits_s(pod: Object, now: datetime) -> float:
    """Since it has a node."""
    since = when(condition(pod, "PodScheduled").get("lastTransitionTime") or pod["metadata"].get("creationTimestamp"))
    return (now - since).total_seconds() if since is not None else 0.0


def needs_events(pod: Object) -> bool:
    """On its node, and nothing of it has started: only events show why."""
    status = pod.get("status", {})
    states = [c.get("state", {}) for c in status.get("initContainerStatuses", [])]
    is_begun = any("running" in s or "terminated" in s for s in states)
    return bool(pod["spec"].get("nodeName")) and status.get("phase") == "Pending" and not is_begun


def ending(pod: Object, *, lost_node: str | None, now: datetime) -> Ending | None:
    """How the pod ended; None while it has not. lost_node: what is wrong with its node, None = nothing."""
    metadata, status = pod["metadata"], pod.get("status", {})
    disruption = condition(pod, "DisruptionTarget")
    if status.get("reason") == "Evicted" and OVER_DISK.search(status.get("message", "")):
        return Ending(KILLED_CODE, Cause.DISK_FULL, f"It was evicted: {status['message']}", now)
    for container in _statuses(status):
        done = container.get("state", {}).get("terminated")
        if done is None:
            continue
        code = int(done.get("exitCode", KILLED_CODE))
        if container["name"] != MAIN and code == 0:
            continue
        at = when(done.get("finishedAt")) or now
        last_line = (done.get("message") or "").strip().rpartition("\n")[2]
        if disruption.get("status") == "True" and code != 0:
            return Ending(code, Cause.NODE_LOST, f"It was evicted: {disruption.get('message', '')}", at)
        own = _own_image(pod, container)
        if own and done.get("reason") in START_REASONS and _has_no_program(last_line):
            return Ending(code, Cause.JOB_IMAGE, no_runtime(own, last_line), at)
        if done.get("reason") == "OOMKilled":
            return Ending(code, Cause.OUT_OF_MEMORY, "It needed more memory than its limit.", at)
        return Ending(code, cause_of(code), last_line, at)
    if status.get("phase") == "Failed":
        reason, message = status.get("reason", ""), status.get("message", "")
        cause = Cause.KILLED
        if disruption.get("status") == "True" or reason in ("NodeLost", "Shutdown", "Terminated"):
            cause = Cause.NODE_LOST
        elif reason.startswith(ADMISSION_REASONS):
            cause = Cause.LAUNCH_FAILED
        return Ending(KILLED_CODE, cause, f"{reason}: {message}".strip(": ") or "The kubelet ended it.", now)
    deleted_at = when(metadata.get("deletionTimestamp"))  # with the time of grace already added
    if deleted_at is not None and not pod["spec"].get("nodeName"):
        return Ending(TERMINATED_CODE, Cause.KILLED, "It was withdrawn before it had a node.", deleted_at)
    if lost_node is not None:
        return Ending(KILLED_CODE, Cause.NODE_LOST, lost_node, now, is_confirmed=False)
    if deleted_at is not None and (now - deleted_at).total_seconds() > NO_ANSWER_AFTER_S:
        return Ending(KILLED_CODE, Cause.KILLED, "Its node did not confirm that it has ended.", now, is_confirmed=False)
    return None


def is_running(pod: Object) -> bool:
    return any(c["name"] == MAIN and "running" in c.get("state", {}) for c in _statuses(pod.get("status", {})))


def running_since(pod: Object) -> datetime | None:
    for container in _statuses(pod.get("status", {})):
        state = container.get("state", {})
        began = (state.get("running") or state.get("terminated") or {}).get("startedAt")
        if container["name"] == MAIN and began:
            return when(began)
    return None


def no_runtime(image: str, message: str) -> str:
    return f"{image} lacks MLHub's runtime: {message} Build it FROM mlhub-runtime:{__version__}."


def _own_image(pod: Object, container: Object) -> str:
    """The reference of the image that the job brought, of the container that runs it; "" = it is the platform's."""
    annotations = pod["metadata"].get("annotations") or {}
    return str(annotations.get(names.IMAGE, "")) if container.get("name") == MAIN else ""


def _has_no_program(message: str) -> bool:
    """A file that is not there may also be a volume's."""
    return any(words in message for words in NO_PROGRAM) and not any(words in message for words in MOUNT_WORDS)


def condition(found: Object, kind: str) -> Object:
    conditions: list[Object] = found.get("status", {}).get("conditions") or []
    return next((c for c in conditions if c.get("type") == kind), {})


def _statuses(status: Object) -> list[Object]:
    return [*(status.get("containerStatuses") or []), *(status.get("initContainerStatuses") or [])]


def _unschedulable(message: str) -> Obstacle:
    """The scheduler's own words; it also lists every node that the gang did not ask for."""
    for word, problem in (
        ("PersistentVolumeClaim", StartProblem.VOLUME),
        ("persistentvolumeclaim", StartProblem.VOLUME),
        ("pvc", StartProblem.VOLUME),
        ("volume", StartProblem.VOLUME),
        ("Insufficient", StartProblem.RESOURCES),
        ("Too many pods", StartProblem.RESOURCES),
        ("cannot allocate", StartProblem.RESOURCES),
        ("resource claim", StartProblem.RESOURCES),
        ("resourceclaim", StartProblem.RESOURCES),
        ("taint", StartProblem.TAINT),
        ("were unschedulable", StartProblem.TAINT),
    ):
        if word in message:
            return Obstacle(problem, message)
    return Obstacle(StartProblem.NODE, message)
