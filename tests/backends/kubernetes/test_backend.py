# SPDX-License-Identifier: Apache-2.0
"""Tests of gangs on a Kubernetes API: starts and ends, what keeps pods from starting, evictions, nothing left over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client.access import RULES
from mlhub.backends.protocol import BackendUnavailableError, GangPhase, LaunchError
from mlhub.wire.exits import Cause
from mlhub.wire.launch import PodRole
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.devices import resource_slice
from tests.backends.kubernetes.gangs import is_launched, of, ours, pods, reach, wait
from tests.backends.kubernetes.kubelet import Kubelet
from tests.backends.kubernetes.store import stamp
from tests.backends.specs import gang

RUNNING, STOPPING, FAILED = GangPhase.RUNNING, GangPhase.STOPPING, GangPhase.FAILED


def test_a_gang_whose_workers_are_done_has_succeeded_and_its_servers_leave(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    spec = gang("done", workers=2, servers=1)
    backend.launch(spec)
    status = reach(backend, spec, GangPhase.SUCCEEDED)
    assert {(p.role, p.exit_code) for p in status.pods} == {(PodRole.WORKER, 0), (PodRole.SERVER, 75)}
    assert status.cause is None
    backend.stop(spec.attempt_id, grace_s=0)
    assert ours(server) == []
    assert list(backend.observe()) == []


def test_when_one_pod_fails_the_rest_leaves_and_the_first_cause_counts(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    spec = gang(["exit 67", "run"], workers=2)
    backend.launch(spec)
    status = reach(backend, spec, FAILED)
    assert status.cause is Cause.OUT_OF_MEMORY
    assert "worker 0 on node-1" in status.message
    assert {p.exit_code for p in status.pods} == {67, 75}


def test_a_lost_peer_is_not_the_cause_when_there_is_a_better_one(backend: KubernetesBackend) -> None:
    spec = gang(["exit 68", "exit 64"], workers=2)
    backend.launch(spec)
    assert reach(backend, spec, FAILED).cause is Cause.USER_CODE


def test_a_pod_that_ignores_the_request_to_leave_is_killed(backend: KubernetesBackend) -> None:
    spec = gang("stubborn")
    backend.launch(spec)
    backend.stop(spec.attempt_id, grace_s=1)
    assert reach(backend, spec, STOPPING).cause is None
    status = reach(backend, spec, GangPhase.STOPPED)
    assert status.cause is Cause.KILLED
    assert status.pods[0].exit_code == 137


def test_a_later_stop_can_only_bring_the_end_nearer(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang("stubborn")
    backend.launch(spec)
    backend.stop(spec.attempt_id, grace_s=100)
    backend.stop(spec.attempt_id, grace_s=200)
    assert pods(server)[0]["metadata"]["deletionGracePeriodSeconds"] == 100
    backend.stop(spec.attempt_id, grace_s=0)
    assert pods(server)[0]["metadata"]["deletionGracePeriodSeconds"] == 1
    reach(backend, spec, GangPhase.STOPPED)


@pytest.mark.parametrize(
    ("behave", "cause", "expected_text"),
    [
        ("image", Cause.IMAGE, "image: worker 1 on node-2: nowhere: Back-off pulling"),
        ("taint", Cause.TAINT, "taint: worker 1 on node-2: 0/2 nodes are available"),
    ],
)
def test_a_gang_that_cannot_start_is_withdrawn_with_the_reason(
    server: ApiServer, backend: KubernetesBackend, behave: str, cause: Cause, expected_text: str
) -> None:
    spec = gang(["run", behave], workers=2)
    backend.launch(spec)
    status = reach(backend, spec, FAILED)
    assert status.cause is cause
    assert status.message.startswith(expected_text)
    backend.stop(spec.attempt_id, grace_s=0)
    assert ours(server) == []


def test_a_volume_that_cannot_be_mounted_is_reported_from_the_pods_events(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    spec = gang("volume")
    backend.launch(spec)
    [pod] = pods(server)
    age = {"metadata": {"creationTimestamp": stamp(datetime.now(UTC) - timedelta(seconds=15))}}
    server.store.patch("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], age)
    status = reach(backend, spec, FAILED)
    assert status.message == "volume: worker 0 on node-1: MountVolume.SetUp failed for volume checkpoints"


@pytest.mark.parametrize(
    ("behave", "cause"), [("image", Cause.IMAGE), ("volume", Cause.VOLUME), ("taint", Cause.TAINT)]
)
def test_whatever_keeps_a_gang_from_starting_is_reported_within_half_a_minute(
    server: ApiServer, kubelet: Kubelet, connect: Callable[..., KubernetesBackend], behave: str, cause: Cause
) -> None:
    """With the options as they come, on a clock that is 25 s ahead."""
    backend = connect()
    spec = gang(["run", behave], workers=2)
    backend.launch(spec)
    # the clock is no argument: no caller but this test has another
    backend._now = lambda: datetime.now(UTC) + timedelta(seconds=25)
    status = reach(backend, spec, FAILED)
    assert status.cause is cause
    backend.stop(spec.attempt_id, grace_s=0)
    assert ours(server) == []


def test_a_gang_that_does_not_start_in_time_is_withdrawn(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = replace(gang("quiet"), start_timeout_s=120.0)
    backend.launch(spec)
    assert reach(backend, spec, GangPhase.STARTING)
    [service] = ours(server, "services")
    long_ago = (datetime.now(UTC) - timedelta(minutes=5)).isoformat()
    change = {"metadata": {"annotations": {names.LAUNCHED: long_ago}}}
    server.store.patch("services", service["metadata"]["namespace"], service["metadata"]["name"], change)
    status = reach(backend, spec, FAILED)
    assert status.cause is Cause.TIMEOUT
    assert "within 120 s; not running: worker 0 on node-1" in status.message


@pytest.mark.parametrize(
    ("why", "cause", "expected_text"),
    [
        ('pods "x" is forbidden: exceeded quota: mlhub-limits, requested: pods=1', Cause.QUOTA, "quota: "),
        ('pods "x" is forbidden: violates PodSecurity "restricted:latest"', Cause.LAUNCH_FAILED, "policy refuses"),
    ],
)
def test_a_gang_that_the_cluster_refuses_is_not_half_made(
    server: ApiServer, backend: KubernetesBackend, why: str, cause: Cause, expected_text: str
) -> None:
    server.refuse = lambda plural, body: why if plural == "pods" and body["metadata"]["name"].endswith("1") else ""
    with pytest.raises(LaunchError, match=expected_text) as refused:
        backend.launch(gang(workers=2))
    assert refused.value.cause is cause
    assert ours(server) == []


def test_pods_are_released_only_when_all_are_there(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    seen: list[tuple[int, bool]] = []
    start = kubelet.start_pod

    def note(pod: dict[str, object]) -> None:
        seen.append((len(pods(server)), names.LAUNCHED in ours(server, "services")[0]["metadata"]["annotations"]))
        start(pod)

    kubelet.start_pod = note  # type: ignore[method-assign]
    backend.launch(gang(workers=3))
    assert seen == [(3, True)] * 3


def test_a_half_made_gang_is_removed_after_a_while(
    server: ApiServer, backend: KubernetesBackend, connect: Callable[..., KubernetesBackend]
) -> None:
    spec = gang(workers=2)
    backend.launch(spec)
    [service] = ours(server, "services")
    change = {"metadata": {"annotations": {names.LAUNCHED: None}}}
    server.store.patch("services", service["metadata"]["namespace"], service["metadata"]["name"], change)
    young, old = connect(half_made_after_s=60.0), connect(half_made_after_s=-1.0)
    assert of(young, spec) is not None
    assert of(old, spec) is None
    assert ours(server) == []


def test_a_half_made_gang_is_completed_by_the_next_launch(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang(workers=3)
    backend.launch(spec)
    [service] = ours(server, "services")
    metadata = service["metadata"]
    server.store.patch(
        "services", metadata["namespace"], metadata["name"], {"metadata": {"annotations": {names.LAUNCHED: None}}}
    )
    gone = pods(server)[2]["metadata"]
    server.store.delete("pods", gone["namespace"], gone["name"], 0)
    server.store.patch("pods", gone["namespace"], gone["name"], {"metadata": {"finalizers": None}})
    backend.launch(spec)
    assert len(pods(server)) == 3
    assert reach(backend, spec, RUNNING)


def test_pods_without_a_record_are_shown_so_that_they_can_be_removed(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    spec = gang()
    backend.launch(spec)
    [service] = ours(server, "services")
    server.store.delete("services", service["metadata"]["namespace"], service["metadata"]["name"], None)
    assert reach(backend, spec, FAILED).cause is Cause.LAUNCH_FAILED
    backend.stop(spec.attempt_id, grace_s=0)
    assert len(pods(server)) == 1  # until the garbage collector has marked it: nothing else proves that it is ours
    server.store.collect_garbage()
    backend.stop(spec.attempt_id, grace_s=0)
    assert ours(server, "pods") == []


def test_a_pod_removed_behind_our_back_ends_the_gang(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang(workers=2)
    backend.launch(spec)
    metadata = pods(server)[1]["metadata"]
    server.store.patch("pods", metadata["namespace"], metadata["name"], {"metadata": {"finalizers": None}})
    server.store.delete("pods", metadata["namespace"], metadata["name"], 0)
    status = reach(backend, spec, FAILED)
    assert status.cause is Cause.KILLED
    assert "worker 1 on node-2 was removed behind MLHub's back" in status.message


def test_a_pod_that_somebody_deletes_and_that_leaves_in_order_ends_the_gang_as_killed(
    server: ApiServer, backend: KubernetesBackend
) -> None:
    spec = gang(workers=2)
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    metadata = pods(server)[1]["metadata"]
    server.store.delete("pods", metadata["namespace"], metadata["name"], 0)
    status = reach(backend, spec, FAILED)
    assert {p.exit_code for p in status.pods} == {75}
    assert (status.cause, status.message) == (
        Cause.KILLED,
        "worker 1 on node-2: It was asked to leave, and not by MLHub.",
    )


def test_a_drained_node_evicts_its_gangs_with_the_reason(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    spec = gang(workers=2)
    backend.launch(spec)
    metadata = pods(server)[0]["metadata"]
    drained = {"type": "DisruptionTarget", "status": "True", "message": "Eviction API: evicting"}
    kubelet.end(metadata["namespace"], metadata["name"], 75, conditions=[drained])
    status = reach(backend, spec, FAILED)
    assert status.cause is Cause.NODE_LOST
    assert "evicted: Eviction API" in status.message


@pytest.mark.parametrize("how", ["deleted", "not ready"])
def test_a_lost_node_ends_its_gangs_and_nothing_of_them_stays(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend, how: str
) -> None:
    spec = gang()
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    kubelet.is_away = True
    if how == "deleted":
        server.store.delete("nodes", "", "node-1", None)
    else:
        silent = {
            "type": "Ready",
            "status": "Unknown",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "no news",
        }
        server.store.patch("nodes", "", "node-1", {"status": {"conditions": [silent]}})
    status = reach(backend, spec, FAILED)
    assert status.cause is Cause.NODE_LOST
    assert "node-1" in status.message
    assert list(backend.logs(spec.attempt_id, role=PodRole.WORKER, index=0)) == []  # no kubelet there to be asked
    assert server.asked.count(("get", "", "pods/log")) == 1
    backend.stop(spec.attempt_id, grace_s=0)
    assert ours(server) == []


def test_a_node_that_is_only_just_not_ready_is_given_time(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang()
    backend.launch(spec)
    reach(backend, spec, RUNNING)
    silent = {"type": "Ready", "status": "Unknown", "lastTransitionTime": stamp()}
    server.store.patch("nodes", "", "node-1", {"status": {"conditions": [silent]}})
    wait(lambda: not backend.inventory()[0].is_ready)
    assert reach(backend, spec, RUNNING)


def test_memory_beyond_the_limit_is_reported(server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend) -> None:
    spec = gang()
    backend.launch(spec)
    metadata = pods(server)[0]["metadata"]
    kubelet.end(metadata["namespace"], metadata["name"], 137, reason="OOMKilled")
    assert reach(backend, spec, FAILED).cause is Cause.OUT_OF_MEMORY


def test_output_can_be_read(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang()
    backend.launch(spec)
    metadata = pods(server)[0]["metadata"]
    server.logs[(metadata["namespace"], metadata["name"])] = "one\ntwo\n"
    assert list(backend.logs(spec.attempt_id, role=PodRole.WORKER, index=0)) == ["one", "two"]


def test_each_right_is_needed(server: ApiServer, kubelet: Kubelet, connect: Callable[..., KubernetesBackend]) -> None:
    """The list grants enough (every test here runs with it), and nothing to spare."""
    backend = connect(unschedulable_after_s=0.0, checkpoint_bytes=2**30)
    server.claim_versions = ("v1",)
    server.store.create("resourceslices", "", resource_slice("node-1"))
    spec = gang("volume")
    backend.launch(spec)
    age = {"metadata": {"creationTimestamp": stamp(datetime.now(UTC) - timedelta(seconds=15))}}
    for pod in pods(server):
        server.store.patch("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], age)
    list(backend.logs(spec.attempt_id, role=PodRole.WORKER, index=0))
    backend.inventory()
    reach(backend, spec, FAILED)
    backend.stop(spec.attempt_id, grace_s=0)
    server.store.create("namespaces", "", {"metadata": {"name": "elsewhere"}})
    other = gang()
    backend.launch(other)
    backend.launch(gang())  # on the same GPU
    connect().launch(other)  # that is there already
    home = pods(server)[0]["metadata"]["namespace"]
    server.store.patch("namespaces", "", home, {"metadata": {"labels": {names.PROJECT: None}}})
    wait(lambda: backend.observe() and ("patch", "", "namespaces") in server.asked)
    used = set(server.asked)
    granted = {(verb, rule.group, rule.resource) for rule in RULES for verb in rule.verbs}
    when_others_interfere = {("get", "", "pods"), ("get", "resource.k8s.io", "resourceclaims")}
    of_uploaded_code = {right for right in granted if right[1:] == ("batch", "jobs")}  # test_sandbox_runs.py
    unused = granted - used - when_others_interfere - of_uploaded_code
    assert unused == set()


def test_objects_that_only_bear_our_label_are_left_alone(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang()
    backend.launch(spec)
    namespace = pods(server)[0]["metadata"]["namespace"]
    strange = {"name": "strange", "namespace": namespace, "labels": {names.ATTEMPT: "x"}}
    body = {"serviceAccountName": "mlhub-pods", "schedulingGates": [{"name": "theirs"}]}
    server.store.create("services", namespace, {"metadata": strange})
    server.store.create("pods", namespace, {"metadata": strange, "spec": body})
    assert reach(backend, spec, RUNNING)
    assert [s.attempt_id for s in backend.observe()] == [spec.attempt_id]


def test_gangs_of_another_mlhub_on_the_cluster_are_left_alone(
    server: ApiServer, backend: KubernetesBackend, connect: Callable[..., KubernetesBackend]
) -> None:
    """What reconcile does with unknown gangs would end theirs."""
    theirs, spec = connect(namespace_prefix="check-mlhub"), gang()  # type: ignore[arg-type]
    theirs.launch(spec)
    reach(theirs, spec, RUNNING)
    assert list(backend.observe()) == []
    backend.stop(spec.attempt_id, grace_s=0)
    assert reach(theirs, spec, RUNNING)


def test_the_projects_quota_is_mirrored_and_follows_changes(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    limits: list[int | None] = [8]
    mirrors = KubernetesBackend.connect(backend.options, gpu_limit_of=lambda labels: limits[-1])

    def hard() -> dict[str, str]:
        mirrors.launch(gang())
        [quota] = [o for (kind, _, _), o in server.store.objects.items() if kind == "resourcequotas"]
        found: dict[str, str] = quota["spec"]["hard"]
        return found

    gpus = "requests.nvidia.com/gpu"
    assert hard()[gpus] == "8"
    limits.append(16)
    assert hard()[gpus] == "16"
    limits.append(None)
    assert gpus not in hard()
    assert hard()["services.loadbalancers"] == "0"
    mirrors.close()


def test_a_namespace_that_was_removed_is_made_anew(server: ApiServer, backend: KubernetesBackend) -> None:
    spec = gang()
    backend.launch(spec)
    namespace = pods(server)[0]["metadata"]["namespace"]
    server.store.delete("namespaces", "", namespace, None)
    assert reach(backend, spec, FAILED).cause is Cause.LAUNCH_FAILED
    with pytest.raises(BackendUnavailableError, match="being terminated"):
        backend.launch(spec)
    backend.stop(spec.attempt_id, grace_s=0)  # pods have no record any more, and keep the namespace alive
    assert ("namespaces", "", namespace) not in server.store.objects
    wait(lambda: is_launched(backend, spec))  # once it has heard that the namespace is gone
    assert ("networkpolicies", namespace, "mlhub-default-deny") in server.store.objects
    assert reach(backend, spec, RUNNING)
