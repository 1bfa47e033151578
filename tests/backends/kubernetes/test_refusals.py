# SPDX-License-Identifier: Apache-2.0
"""What the cluster refuses costs one gang, with a typed cause and the server's words, and no round."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest

from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client.errors import ApiError, error_of
from mlhub.backends.kubernetes.operations.launching import refusal
from mlhub.backends.protocol import BackendUnavailableError, GangPhase, ItemKind, LaunchError
from mlhub.wire.exits import Cause
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.gangs import of, ours, pods, reach, wait
from tests.backends.kubernetes.kubelet import Kubelet
from tests.backends.kubernetes.store import Object
from tests.backends.specs import gang

RUNNING = GangPhase.RUNNING
POLICY = "ValidatingAdmissionPolicy 'house-rules' with binding 'all' denied request: not in the evening"


def test_of_gangs_launched_together_only_the_refused_one_fails(server: ApiServer, backend: KubernetesBackend) -> None:
    specs = [gang(slots=(i,)) for i in range(4)]
    refused = specs[1]
    server.refuse = lambda plural, body: (
        f"pods is forbidden: {POLICY}" if plural == "pods" and refused.attempt_id in body["metadata"]["name"] else ""
    )
    failed = backend.launch_all(specs)
    assert list(failed) == [refused.attempt_id]
    error = failed[refused.attempt_id]
    assert isinstance(error, LaunchError)
    assert error.cause is Cause.LAUNCH_FAILED
    assert "not in the evening" in str(error)
    assert {s.attempt_id for s in backend.observe()} == {s.attempt_id for s in specs} - failed.keys()


@pytest.mark.slow
def test_no_more_writes_are_under_way_than_may_be(
    server: ApiServer, kubelet: Kubelet, connect: Callable[..., KubernetesBackend]
) -> None:
    backend = connect(launch_parallelism=3)
    running, most = 0, 0
    lock, together = threading.Lock(), threading.Event()

    def count(plural: str, body: Object) -> str:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if running == 3:
                together.set()
        together.wait(5)  # the first writes come alone: they make the namespace
        with lock:
            running -= 1
        return ""

    server.refuse = count
    assert backend.launch_all([gang(slots=(i,), workers=2) for i in range(4)]) == {}
    assert most == 3


def test_a_gang_whose_pods_must_not_be_released_is_not_left_half_started(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    server.refuse_change = lambda plural, name, change: (
        POLICY if plural == "pods" and change is not None and "spec" in change else ""
    )
    with pytest.raises(LaunchError, match="not in the evening"):
        backend.launch(gang(workers=2))
    assert ours(server) == []


def test_a_gang_whose_release_is_refused_later_is_withdrawn_with_the_server_s_words(
    server: ApiServer, backend: KubernetesBackend, kubelet: Kubelet
) -> None:
    sick, well = gang(), gang(slots=(1,))
    backend.launch(well)
    reach(backend, well, RUNNING)
    server.store.on_pod = lambda pod: None  # its kubelet has not seen it yet
    backend.launch(sick)
    gated = next(p["metadata"] for p in pods(server) if sick.attempt_id in p["metadata"]["name"])
    gate = {"spec": {"schedulingGates": [{"name": "mlhub.dev/gang"}]}}
    server.store.patch("pods", gated["namespace"], gated["name"], gate)  # as if the launch had not come so far
    server.refuse_change = lambda plural, name, change: POLICY if plural == "pods" and change is not None else ""
    status = wait(lambda: (found := of(backend, sick)) and found.phase.is_ended and found)
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.LAUNCH_FAILED)
    assert "does not let its pods start" in status.message
    assert "not in the evening" in status.message
    assert reach(backend, well, RUNNING)


def test_a_removal_that_is_refused_is_reported_and_tried_again(server: ApiServer, backend: KubernetesBackend) -> None:
    sick, well = gang("done"), gang(slots=(1,))
    for spec in (sick, well):
        backend.launch(spec)
    reach(backend, sick, GangPhase.SUCCEEDED)

    def no_deletion(plural: str, name: str, change: Object | None) -> str:
        return POLICY if plural == "pods" and change is None and sick.attempt_id in name else ""

    server.refuse_change = no_deletion
    backend.stop(sick.attempt_id, grace_s=0)
    [item] = backend.quarantined()
    assert (item.kind, item.name) == (ItemKind.GANG, sick.attempt_id)
    assert "not in the evening" in item.reason
    assert reach(backend, well, RUNNING)
    assert backend.quarantined() == (item,)
    server.refuse_change = lambda plural, name, change: ""
    backend.stop(sick.attempt_id, grace_s=0)
    wait(lambda: of(backend, sick) is None)
    assert backend.quarantined() == ()
    assert len(pods(server)) == 1


def test_a_webhook_that_does_not_answer_costs_only_what_it_is_asked_about(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    sick, well = gang(), gang(slots=(1,))
    for spec in (sick, well):
        backend.launch(spec)
        reach(backend, spec, RUNNING)
    asked = ("pods", "networkpolicies")
    message = 'Internal error occurred: failed calling webhook "a.b": context deadline exceeded'
    server.refuse_change = lambda plural, name, change: message if plural in asked else ""
    server.refuse = lambda plural, body: message if plural in asked else ""
    server.refusal_status = 500
    home = pods(server)[0]["metadata"]["namespace"]
    server.store.delete("networkpolicies", home, "mlhub-default-deny", None)
    backend.stop(sick.attempt_id, grace_s=1)
    wait(lambda: [backend.observe()] and len(backend.quarantined()) == 2)
    assert {item.name for item in backend.quarantined()} == {
        sick.attempt_id,
        f"NetworkPolicy {home}/mlhub-default-deny",
    }
    assert reach(backend, well, RUNNING)
    with pytest.raises(BackendUnavailableError, match="failed calling webhook"):
        backend.launch(gang(slots=(2,)))  # which is tried again in the next round


def test_without_the_right_to_read_events_gangs_are_observed_all_the_same(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    server.rules = [rule for rule in server.rules or () if rule.resource != "events"]
    spec = gang()
    backend.launch(spec)
    assert reach(backend, spec, RUNNING)
    [item] = backend.quarantined()
    assert item.kind is ItemKind.STEP
    assert 'cannot list resource "events"' in item.reason


@pytest.mark.parametrize(
    ("status", "message", "reason", "cause"),
    [
        (403, "exceeded quota: mlhub-limits", "Forbidden", Cause.QUOTA),
        (403, 'violates PodSecurity "restricted:latest"', "Forbidden", Cause.LAUNCH_FAILED),
        (400, 'admission webhook "a.b" denied the request: no', "BadRequest", Cause.LAUNCH_FAILED),
        (503, 'admission webhook "a.b" denied the request: no', "ServiceUnavailable", Cause.LAUNCH_FAILED),
        (403, 'admission webhook "a.b" denied the request: you cannot have it', "Forbidden", Cause.LAUNCH_FAILED),
        (422, POLICY, "Invalid", Cause.LAUNCH_FAILED),
        (500, 'failed calling webhook "a.b": context deadline exceeded', "InternalError", None),
        (409, "it exists", "AlreadyExists", Cause.LAUNCH_FAILED),
        (403, 'pods is forbidden: User "x" cannot create resource "pods"', "Forbidden", None),
        (403, "unable to create new content in namespace x because it is being terminated", "Forbidden", None),
        (409, "the object has been modified", "Conflict", None),
        (503, "etcd is away", "ServiceUnavailable", None),
        (429, "too many requests", "TooManyRequests", None),
    ],
)
def test_only_what_may_succeed_later_is_tried_again(
    status: int, message: str, reason: str, cause: Cause | None
) -> None:
    error = error_of(status, json.dumps({"message": message, "reason": reason}).encode())
    found = refusal(error) if isinstance(error, ApiError) else error
    if cause is None:
        assert isinstance(found, BackendUnavailableError)
    else:
        assert isinstance(found, LaunchError)
        assert found.cause is cause
        assert message in str(found)
