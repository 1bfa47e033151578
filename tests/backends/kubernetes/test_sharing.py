# SPDX-License-Identifier: Apache-2.0
"""Tests of GPUs that jobs share: by claims of dynamic resource allocation, by time-sliced shares, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import claims
from mlhub.backends.kubernetes.specs.gpus import Way, gpu_offer
from mlhub.backends.protocol import BackendUnavailableError, GangPhase, LaunchError
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec
from tests.backends.kubernetes.api_server import ApiServer
from tests.backends.kubernetes.devices import PROTECTION, resource_slice
from tests.backends.kubernetes.gangs import of, ours, pods, reach
from tests.backends.kubernetes.kubelet import Kubelet, node
from tests.backends.kubernetes.store import Object
from tests.backends.specs import gang

RUNNING = GangPhase.RUNNING
T4 = {"nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.memory": "15360"}
OPTIONS = KubernetesOptions()


@pytest.fixture(params=["v1", "v1beta2", "v1beta1"])
def claimed(request: pytest.FixtureRequest, server: ApiServer) -> ApiServer:
    """GPUs that a driver lists, on an API server that speaks this version best."""
    version: str = request.param
    server.claim_versions = {"v1": ("v1", "v1beta2", "v1beta1"), "v1beta2": ("v1beta2", "v1beta1")}.get(
        version, ("v1beta1",)
    )
    offer_by_driver(server, version=version)
    return server


def offer_by_driver(server: ApiServer, *, version: str = "v1") -> None:
    server.claim_versions = server.claim_versions or (version,)
    for name in ("node-1", "node-2"):
        for room in ("allocatable", "capacity"):
            server.store.patch("nodes", "", name, {"status": {room: {"nvidia.com/gpu": None}}})
        server.store.create("resourceslices", "", resource_slice(name, version=version))


def claims_of(server: ApiServer) -> list[Object]:
    return [o for (plural, _, _), o in sorted(server.store.objects.items()) if plural == "resourceclaims"]


def of_project(project: str, spec: LaunchSpec) -> LaunchSpec:
    return replace(spec, labels={"organisation": "a", "project": project, "project_id": project})


def sliced_node(name: str, *, gpus: int = 2, resource: str = "nvidia.com/gpu", **labels: str) -> Object:
    found = node(name, gpus=0)
    found["metadata"]["labels"] |= {**T4, **labels}
    for room in ("allocatable", "capacity"):
        found["status"][room] = {**found["status"][room], resource: str(4 * gpus)}
    return found


# claims


def test_two_jobs_of_a_project_hold_one_gpu_by_one_claim(
    claimed: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    first, second = gang(slots=(1,)), gang(slots=(1,))
    backend.launch(first)
    backend.launch(second)
    assert reach(backend, first, RUNNING)
    assert reach(backend, second, RUNNING)
    [claim] = claims_of(claimed)
    assert len(claim["metadata"]["ownerReferences"]) == 2
    assert kubelet.devices.holders() == {"node-1/gpu-0": {pod["metadata"]["name"] for pod in pods(claimed)}}


def test_the_claim_outlives_the_first_job_and_goes_with_the_last(
    claimed: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    specs = [gang(slots=(0,)), gang(slots=(0,))]
    for spec in specs:
        backend.launch(spec)
        reach(backend, spec, RUNNING)
    for n_left, spec in ((1, specs[0]), (0, specs[1])):
        backend.stop(spec.attempt_id, grace_s=5)
        reach(backend, spec, GangPhase.STOPPED)
        backend.stop(spec.attempt_id, grace_s=0)
        assert [len(c["metadata"]["ownerReferences"]) for c in claims_of(claimed)] == [1] * n_left
    assert ours(claimed) == []
    assert claimed.store.collect_garbage() == 0


def test_jobs_on_different_slots_have_gpus_of_their_own(
    claimed: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    for slot in range(4):
        spec = gang(slots=(slot,))
        backend.launch(spec)
        reach(backend, spec, RUNNING)
    assert sorted(kubelet.devices.holders()) == [f"node-1/gpu-{i}" for i in range(4)]
    assert all(len(held) == 1 for held in kubelet.devices.holders().values())


def test_a_launch_that_is_repeated_keeps_its_claims(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    offer_by_driver(server)
    spec = gang(workers=2)
    server.fail(503, times=99, only="POST", path="/pods", retry_after="0.01")
    server.fail(503, times=99, only="DELETE", retry_after="0.01")
    with pytest.raises(BackendUnavailableError):
        backend.launch(spec)
    server.clear_faults()
    before = [c["metadata"]["uid"] for c in claims_of(server)]
    assert len(before) == 2
    backend.launch(spec)
    assert reach(backend, spec, RUNNING)
    assert [c["metadata"]["uid"] for c in claims_of(server)] == before


def test_a_launch_that_fails_gives_its_claims_back(server: ApiServer, backend: KubernetesBackend) -> None:
    offer_by_driver(server)
    server.refuse = lambda plural, body: "exceeded quota: mlhub-limits" if plural == "pods" else ""
    with pytest.raises(LaunchError) as refused:
        backend.launch(gang(workers=2))
    assert refused.value.cause is Cause.QUOTA
    assert claims_of(server) == []


def test_a_gpu_that_another_project_holds_cannot_be_joined(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    offer_by_driver(server)
    backend.launch(of_project("mine", gang(slots=(2,))))
    with pytest.raises(LaunchError, match="GPU 2 of node node-1 is held by a job of another project") as refused:
        backend.launch(of_project("theirs", gang(slots=(2,))))
    assert refused.value.cause is Cause.UNSCHEDULABLE
    backend.launch(of_project("theirs", gang(slots=(3,))))
    assert len(claims_of(server)) == 2


def test_no_more_jobs_join_a_gpu_than_may(
    server: ApiServer, kubelet: Kubelet, connect: Callable[..., KubernetesBackend]
) -> None:
    offer_by_driver(server)
    strict = connect(max_jobs_per_gpu=1)
    strict.launch(gang(slots=(0,)))
    assert strict.inventory()[0].max_jobs_per_gpu == 1
    with pytest.raises(LaunchError, match="held by 1 job already"):
        strict.launch(gang(slots=(0,)))


def test_a_claim_that_somebody_else_changes_meanwhile_is_read_again(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_by_driver(server)
    backend.launch(gang(slots=(0,)))
    found = backend._claims._with_slots  # between this read and the write that follows, another must change the claim

    def stale(keys: list[str]) -> dict[str, list[Object]]:
        before = found(keys)
        [claim] = claims_of(server)
        where = claim["metadata"]
        server.store.patch("resourceclaims", where["namespace"], where["name"], {"metadata": {"labels": {"x": "y"}}})
        return before

    monkeypatch.setattr(backend._claims, "_with_slots", stale)
    backend.launch(gang(slots=(0,)))
    [claim] = claims_of(server)
    assert len(claim["metadata"]["ownerReferences"]) == 2


def test_a_claim_on_its_way_out_is_not_joined(server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend) -> None:
    offer_by_driver(server)
    first, second = gang(slots=(0,)), gang(slots=(0,))
    backend.launch(first)
    reach(backend, first, RUNNING)
    [claim] = claims_of(server)
    where = claim["metadata"]
    assert where["finalizers"] == [PROTECTION]
    server.store.delete("resourceclaims", where["namespace"], where["name"], None)
    backend.launch(second)
    assert len(claims_of(server)) == 2
    assert not claims.is_joinable(next(c for c in claims_of(server) if c["metadata"]["name"] == where["name"]))


def test_the_garbage_collector_removes_the_claim_of_a_gang_that_somebody_deleted(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    offer_by_driver(server)
    backend.launch(gang(slots=(0,)))
    [service] = ours(server, "services")
    server.store.delete("services", service["metadata"]["namespace"], service["metadata"]["name"], None)
    assert server.store.collect_garbage() > 0
    assert all(c["metadata"].get("deletionTimestamp") for c in claims_of(server))


def test_devices_are_the_inventory_where_a_driver_lists_them(claimed: ApiServer, backend: KubernetesBackend) -> None:
    found = backend.inventory()[0]
    assert (found.gpu_type, found.n_slots, found.max_jobs_per_gpu) == ("nvidia-h100-80gb-hbm3", 4, 2)
    assert found.gpu_memory_bytes == 81559 * 2**20
    assert found.shares_within_project
    assert found.message == ""


def test_parts_of_gpus_and_what_was_published_before_do_not_count() -> None:
    slices = [
        resource_slice("n", gpus=8, generation=1),
        resource_slice("n", gpus=2, generation=2),
        resource_slice("m", gpus=3, type={"string": "mig"}),
    ]
    found = claims.devices_by_node(slices, "gpu.nvidia.com")
    assert {name: len(devices) for name, devices in found.items()} == {"n": 2, "m": 0}
    assert claims.devices_by_node(slices, "gpu.amd.com") == {}


def test_gpus_that_are_offered_twice_are_reported() -> None:
    devices = claims.devices_by_node([resource_slice("n")], "gpu.nvidia.com")["n"]
    offer = gpu_offer(node("n"), OPTIONS, devices)
    assert offer is not None
    assert offer.way is Way.CLAIMED
    assert "offered twice" in offer.remark


def test_slices_that_may_not_be_listed_leave_the_rest_in_use(server: ApiServer, backend: KubernetesBackend) -> None:
    server.claim_versions = ("v1",)
    server.rules = [rule for rule in server.rules or () if rule.resource != "resourceslices"]
    assert [n.n_slots for n in backend.inventory()] == [4, 4]


# time-slicing


@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "nvidia.com/gpu.shared"])
def test_two_jobs_hold_shares_of_one_time_sliced_gpu(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend, resource: str
) -> None:
    server.store.create("nodes", "", sliced_node("node-3", resource=resource))
    found = {n.name: n for n in backend.inventory()}["node-3"]
    assert (found.gpu_type, found.n_slots, found.max_jobs_per_gpu) == ("tesla-t4", 2, 2)
    assert found.gpu_memory_bytes == 15360 * 2**20
    assert not found.shares_within_project
    for project in ("a", "b"):
        spec = of_project(project, gang(node="node-3", slots=(1,)))
        backend.launch(spec)
        reach(backend, spec, RUNNING)
    for pod in pods(server):
        limits = pod["spec"]["containers"][0]["resources"]["limits"]
        assert {k: v for k, v in limits.items() if "/" in k} == {resource: "1"}
    assert claims_of(server) == []


def test_a_partition_by_mps_is_a_slot_of_its_own_kind() -> None:
    offer = gpu_offer(sliced_node("n", **{"nvidia.com/gpu.sharing-strategy": "mps"}), OPTIONS)
    assert offer is not None
    assert (offer.gpu_type, offer.n_gpus, offer.max_jobs) == ("tesla-t4-shared-4", 8, 1)


def test_renamed_shares_without_their_number_are_slots_and_the_label_is_missed() -> None:
    found = sliced_node("n", resource="nvidia.com/gpu.shared")
    del found["metadata"]["labels"]["nvidia.com/gpu.replicas"]
    offer = gpu_offer(found, OPTIONS)
    assert offer is not None
    assert (offer.n_gpus, offer.max_jobs) == (8, 1)
    assert "nvidia.com/gpu.replicas is missing" in offer.remark


def test_shares_that_are_no_whole_number_of_gpus_are_reported() -> None:
    offer = gpu_offer(sliced_node("n", **{"nvidia.com/gpu.replicas": "3"}), OPTIONS)
    assert offer is not None
    assert offer.n_gpus == 2
    assert "8 shares, of which 2" in offer.remark


# neither


def test_gpus_are_held_whole_where_there_is_no_way_to_share(server: ApiServer, backend: KubernetesBackend) -> None:
    found = backend.inventory()[0]
    assert found.max_jobs_per_gpu == 1
    assert found.sharing.startswith("Each job has its GPUs alone")
    backend.launch(gang())
    [pod] = pods(server)
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert "resourceClaims" not in pod["spec"]


def test_a_gpu_that_somebody_else_took_is_reported(
    server: ApiServer, kubelet: Kubelet, backend: KubernetesBackend
) -> None:
    for slot in range(4):
        backend.launch(gang(slots=(slot,)))
    late = gang(slots=(0,))
    backend.launch(late)
    status = reach(backend, late, GangPhase.FAILED)
    assert status.cause is Cause.UNSCHEDULABLE
    assert "Insufficient nvidia.com/gpu" in status.message
    assert of(backend, late) is not None


def test_names_of_claims_fit_whatever_the_node_is_called() -> None:
    where = names.GangNames("ns", "mlhub-018f0000-0000-7000-8000-000000000001", "mlhub")
    long = f"{'very-' * 40}long.example.org"
    assert len(claims.slot_key(long, 15)) <= 63
    assert claims.claim_name(where, long, 0) != claims.claim_name(where, long, 1)
