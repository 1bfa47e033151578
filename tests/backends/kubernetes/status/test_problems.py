# SPDX-License-Identifier: Apache-2.0
"""Tests of the messages for a pod's status: what hinders its start, and how it ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.status.problems import NO_ANSWER_AFTER_S, StartProblem, ending, obstacle
from mlhub.wire.exits import Cause
from tests.backends.kubernetes.store import stamp

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(status: dict[str, Any], *, node: str = "n", **metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata, "spec": {"nodeName": node}, "status": status}


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": message}}
    return {"initContainerStatuses": [{"name": "prepare", "image": "i", "state": state}]}


def unschedulable(message: str, *, since: datetime = NOW - timedelta(minutes=1)) -> dict[str, Any]:
    fields = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    return {"conditions": [{**fields, "lastTransitionTime": stamp(since)}]}


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        (waiting("ImagePullBackOff"), StartProblem.IMAGE),
        (waiting("ErrImagePull", "registry: manifest unknown"), StartProblem.IMAGE),
        (waiting("ErrImagePull", "connection reset"), None),
        (waiting("InvalidImageName"), StartProblem.IMAGE),
        (waiting("CreateContainerConfigError", "secret not found"), StartProblem.CONTAINER),
        (
            waiting("CreateContainerConfigError", 'failed to create subPath directory for volumeMount "checkpoints"'),
            StartProblem.VOLUME,
        ),
        (waiting("RunContainerError", 'error mounting "/var/lib/kubelet/pods/x" to rootfs'), StartProblem.VOLUME),
        (waiting("PodInitializing"), None),
        (unschedulable("0/3 nodes are available: 3 Insufficient cpu."), StartProblem.RESOURCES),
        (unschedulable("1 node(s) had untolerated taint {x: y}"), StartProblem.TAINT),
        (unschedulable("pod has unbound immediate PersistentVolumeClaims"), StartProblem.VOLUME),
        (unschedulable("1 node(s) were unschedulable"), StartProblem.TAINT),
        (unschedulable("1 node(s) didn't match Pod's node affinity/selector"), StartProblem.NODE),
        (unschedulable("0/2 nodes are available: 1 cannot allocate all claims."), StartProblem.RESOURCES),
        (unschedulable("waiting for resource claim to be created"), StartProblem.RESOURCES),
        (unschedulable("1 node(s) unavailable due to one or more pvc(s) bound to lost pv(s)"), StartProblem.VOLUME),
        (unschedulable("3 Insufficient cpu", since=NOW - timedelta(seconds=5)), None),
        ({}, None),
    ],
)
def test_what_keeps_a_pod_from_starting_has_a_type(status: dict[str, Any], problem: StartProblem | None) -> None:
    found = obstacle(pod(status), [], now=NOW, unschedulable_after_s=20)
    assert (found.problem if found else None) is problem


def test_a_pod_that_was_gated_for_long_is_not_unschedulable_for_long() -> None:
    """Its condition's time is that of its creation: the scheduler changes the reason alone, and that moves no time."""
    held = pod(unschedulable("3 Insufficient cpu", since=NOW - timedelta(minutes=5)))
    for released_s, problem in ((5, None), (25, StartProblem.RESOURCES)):
        found = obstacle(held, [], now=NOW, unschedulable_after_s=20, released_at=NOW - timedelta(seconds=released_s))
        assert (found.problem if found else None) is problem


def ended(code: int, reason: str = "", *, container: str = "main", message: str = "") -> dict[str, Any]:
    done = {"exitCode": code, "reason": reason, "finishedAt": stamp(NOW), "message": message}
    key = "containerStatuses" if container == "main" else "initContainerStatuses"
    return {"phase": "Failed", key: [{"name": container, "state": {"terminated": done}}]}


@pytest.mark.parametrize(
    ("status", "code", "cause", "expected_text"),
    [
        (ended(64), 64, Cause.USER_CODE, ""),
        (ended(137, "OOMKilled"), 137, Cause.OUT_OF_MEMORY, "more memory"),
        (ended(137, "Error"), 137, Cause.KILLED, ""),
        (ended(66, container="prepare", message="a\nprepare: no blob\n"), 66, Cause.INPUT_UNAVAILABLE, "no blob"),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on disk"}, 137, Cause.KILLED, "Evicted: low on disk"),
        (
            {
                **ended(137),
                "reason": "Evicted",
                "message": "Pod ephemeral local storage usage exceeds the total limit.",
            },
            137,
            Cause.DISK_FULL,
            "exceeds the total limit",
        ),
        (
            {
                **ended(137),
                "reason": "Evicted",
                "message": 'Usage of EmptyDir volume "scratch" exceeds the limit "20Gi".',
            },
            137,
            Cause.DISK_FULL,
            "scratch",
        ),
        ({"phase": "Failed", "reason": "OutOfcpu", "message": "m"}, 137, Cause.LAUNCH_FAILED, "OutOfcpu"),
        ({"phase": "Failed", "reason": "UnexpectedAdmissionError"}, 137, Cause.LAUNCH_FAILED, "Unexpected"),
        ({"phase": "Failed", "reason": "Terminated"}, 137, Cause.NODE_LOST, "Terminated"),
    ],
)
def test_how_a_pod_ended_has_a_cause(status: dict[str, Any], code: int, cause: Cause, expected_text: str) -> None:
    found = ending(pod(status), lost_node=None, now=NOW)
    assert found is not None
    assert (found.code, found.cause) == (code, cause)
    assert expected_text in found.message


def test_a_pod_that_prepared_well_has_not_ended() -> None:
    assert ending(pod({**ended(0, container="prepare"), "phase": "Running"}), lost_node=None, now=NOW) is None


def test_an_end_that_no_kubelet_confirms_is_marked_as_such() -> None:
    leaving = pod({"phase": "Running"}, deletionTimestamp=stamp(NOW))
    late = NOW + timedelta(seconds=NO_ANSWER_AFTER_S + 1)
    assert ending(leaving, lost_node=None, now=NOW) is None
    gone = ending(leaving, lost_node=None, now=late)
    assert gone is not None
    assert not gone.is_confirmed
    on_lost_node = ending(pod({"phase": "Running"}), lost_node="It burnt.", now=NOW)
    assert on_lost_node is not None
    assert (on_lost_node.cause, on_lost_node.is_confirmed) == (Cause.NODE_LOST, False)


def test_what_a_pod_reported_before_its_node_was_lost_counts() -> None:
    found = ending(pod(ended(0)), lost_node="It burnt.", now=NOW)
    assert found is not None
    assert found.code == 0


def mounting(*, since_s: float, **event: Any) -> StartProblem | None:
    """What a pod shows that has had a node for so long, and whose volume failed to mount."""
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": stamp(NOW - timedelta(seconds=since_s)),
    }
    fields = {"reason": "FailedMount", "message": "no such export", **event}
    found = obstacle(pod({"conditions": [scheduled]}), [fields], now=NOW, unschedulable_after_s=20)
    return found.problem if found else None


def test_a_mount_that_failed_once_may_be_a_kubelet_that_has_not_seen_the_secret_yet() -> None:
    assert mounting(since_s=9, count=1) is None
    assert mounting(since_s=9, count=3) is StartProblem.VOLUME
    assert mounting(since_s=9, count=None, series={"count": 4}) is StartProblem.VOLUME
    assert mounting(since_s=21, count=1) is StartProblem.VOLUME


@pytest.mark.parametrize(
    ("problem", "cause"),
    [
        (StartProblem.IMAGE, Cause.IMAGE),
        (StartProblem.VOLUME, Cause.VOLUME),
        (StartProblem.QUOTA, Cause.QUOTA),
        (StartProblem.TAINT, Cause.TAINT),
        (StartProblem.RESOURCES, Cause.UNSCHEDULABLE),
        (StartProblem.NODE, Cause.NODE_LOST),
        (StartProblem.NETWORK, Cause.LAUNCH_FAILED),
    ],
)
def test_what_keeps_a_gang_from_starting_is_its_cause_with_a_remedy(problem: StartProblem, cause: Cause) -> None:
    assert problem.cause is cause
    assert cause.remedy


IMAGE = "registry.example.org/team/train:1.4"


def of_job(state: dict[str, Any], *, container: str = "main") -> dict[str, Any]:
    """A pod whose job brought an image."""
    key = "containerStatuses" if container == "main" else "initContainerStatuses"
    status = {"phase": "Pending", key: [{"name": container, "image": "sha256:12", "state": state}]}
    return pod(status, annotations={names.IMAGE: IMAGE})


@pytest.mark.parametrize(
    ("reason", "message", "problem"),
    [
        ("ImagePullBackOff", "", StartProblem.JOB_IMAGE),
        ("ErrImagePull", "manifest unknown", StartProblem.JOB_IMAGE),
        ("ErrImagePull", "pull access denied, repository does not exist", StartProblem.JOB_IMAGE),
        ("InvalidImageName", "couldn't parse image name", StartProblem.JOB_IMAGE),
        ("ErrImagePull", "dial tcp 10.0.0.1:443: i/o timeout", None),
        ("ImagePullBackOff", "ErrImagePull: dial tcp 10.0.0.1:443: connect: connection refused", StartProblem.IMAGE),
        ("ImagePullBackOff", "ErrImagePull: unexpected status code 503 Service Unavailable", StartProblem.IMAGE),
        ("RunContainerError", 'exec: "python": executable file not found in $PATH', StartProblem.JOB_IMAGE),
        ("RunContainerError", "nvidia-container-cli: initialization error", StartProblem.CONTAINER),
        ("RunContainerError", "error mounting x: no such file or directory", StartProblem.VOLUME),
        ("ContainerCreating", "", None),
    ],
)
def test_what_is_wrong_with_the_image_of_a_job_is_not_the_platforms_fault(
    reason: str, message: str, problem: StartProblem | None
) -> None:
    found = obstacle(of_job({"waiting": {"reason": reason, "message": message}}), [], now=NOW, unschedulable_after_s=20)
    assert (found.problem if found else None) is problem
    if found is not None and problem is StartProblem.JOB_IMAGE:
        assert IMAGE in found.message
        assert found.problem.cause is Cause.JOB_IMAGE


def test_the_image_of_the_init_step_is_the_platforms_also_where_the_job_brings_one() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": ""}}
    found = obstacle(of_job(waiting, container="prepare"), [], now=NOW, unschedulable_after_s=20)
    assert found is not None
    assert found.problem is StartProblem.IMAGE


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ('runc create failed: exec: "python": executable file not found in $PATH: unknown', Cause.JOB_IMAGE),
        ("exec /usr/bin/python: exec format error", Cause.JOB_IMAGE),
        ("nvidia-container-cli: initialization error: load library failed", Cause.UNKNOWN),
    ],
)
def test_an_image_without_python_ends_the_job_with_the_remedy(message: str, cause: Cause) -> None:
    done = {"exitCode": 128, "reason": "StartError", "finishedAt": stamp(NOW), "message": message}
    found = ending(of_job({"terminated": done}), lost_node=None, now=NOW)
    assert found is not None
    assert found.cause is cause
    assert message in found.message
    assert ("Build it FROM mlhub-runtime:" in found.message) is (cause is Cause.JOB_IMAGE)
    usual = ending(
        pod({"containerStatuses": [{"name": "main", "state": {"terminated": done}}]}), lost_node=None, now=NOW
    )
    assert usual is not None
    assert usual.cause is Cause.UNKNOWN
