# SPDX-License-Identifier: Apache-2.0
"""Tests of the inventory: GPUs and their names, what other pods take, bandwidths, racks, and what ails a node."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.backends.kubernetes.client.quantities import bits, quantity
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs.gpus import gpu_offer
from mlhub.backends.kubernetes.status.nodes import CPU_SLOT, node_status, requests_by_node
from mlhub.backends.protocol import NodeStatus
from tests.backends.kubernetes.kubelet import node

OPTIONS = KubernetesOptions()


def seen(*, labels: dict[str, str] | None = None, annotations: dict[str, str] | None = None, **more: Any) -> NodeStatus:
    found = node("n", **more)
    found["metadata"]["labels"] |= labels or {}
    found["metadata"]["annotations"] = annotations or {}
    return node_status(found, OPTIONS)


def test_gpus_are_named_as_feature_discovery_names_them() -> None:
    status = seen(labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"})
    assert (status.gpu_type, status.n_slots) == ("nvidia-a100-sxm4-80gb", 4)
    assert status.labels["nvidia.com/gpu.memory"] == "81920"


@pytest.mark.parametrize("prefix", ["", "beta."])
def test_amd_s_gpus_are_named_as_its_node_labeller_names_them(prefix: str) -> None:
    found = node("n", gpus=0)
    found["status"]["allocatable"] |= {"amd.com/gpu": "8"}
    found["metadata"]["labels"] |= {
        f"{prefix}amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM",
        f"{prefix}amd.com/gpu.vram": "192G",
    }
    found["spec"]["taints"] = [{"key": "amd.com/gpu", "effect": "NoSchedule"}]
    status = node_status(found, OPTIONS)
    assert (status.gpu_type, status.n_slots) == ("amd_instinct_mi300x_oam", 8)
    assert (status.gpu_memory_bytes, status.is_schedulable) == (192 * 2**30, True)
    assert f"{prefix}amd.com/gpu.vram" in status.labels
    offer = gpu_offer(found, OPTIONS)
    assert offer is not None
    assert offer.resource == "amd.com/gpu"


def test_gpus_of_amd_without_labels_are_there_all_the_same() -> None:
    found = node("n", gpus=0)
    found["status"]["allocatable"] |= {"amd.com/gpu": "2"}
    status = node_status(found, OPTIONS)
    assert (status.gpu_type, status.n_slots, status.gpu_memory_bytes) == ("amd-gpu", 2, 0)


def test_gpus_that_the_device_plugin_keeps_back_are_reported() -> None:
    counted = {"nvidia.com/gpu.product": "H100", "nvidia.com/gpu.count": "4"}
    assert seen(gpus=4, labels=counted).message == ""
    assert "It has 4 GPUs, and its device plugin offers 3" in seen(gpus=3, labels=counted).message
    assert seen(gpus=3, labels={**counted, "nvidia.com/mig.strategy": "mixed"}).message == ""


def test_a_node_without_gpus_offers_its_cpus() -> None:
    status = seen(gpus=0, cpus="7500m")
    assert (status.gpu_type, status.n_slots, status.cpus) == (CPU_SLOT, 7, 7.5)


def test_a_wrong_label_for_gpus_is_reported_and_not_believed() -> None:
    status = seen(gpus=0, labels={"nvidia.com/gpu.product": "H100"})
    assert status.gpu_type == CPU_SLOT
    assert "offers no nvidia.com/gpu" in status.message


def test_what_others_pods_ask_for_is_not_ours_to_give() -> None:
    def pod(cpu: str, *, phase: str = "Running", init: str = "0") -> dict[str, Any]:
        def container(amount: str) -> dict[str, Any]:
            return {"resources": {"requests": {"cpu": amount, "memory": "1Gi"}}}

        return {
            "spec": {"nodeName": "n", "containers": [container(cpu)], "initContainers": [container(init)]},
            "status": {"phase": phase},
        }

    taken = requests_by_node([pod("500m"), pod("1", init="3"), pod("8", phase="Succeeded")])
    assert taken == {"n": (3.5, 2.0 * 2**30)}
    status = node_status(node("n"), OPTIONS, taken=taken["n"])
    assert (status.cpus, status.memory_bytes) == (12.5, 62 * 2**30)


def test_racks_come_from_the_nearest_label() -> None:
    zone = {"topology.kubernetes.io/zone": "z1"}
    assert seen(labels=zone).rack == "z1"
    assert seen(labels={**zone, "mlhub.dev/rack": "r7"}).rack == "r7"
    assert seen().rack == "default"


def test_bandwidths_come_from_annotations_and_mistakes_in_them_are_reported() -> None:
    status = seen(annotations={"mlhub.dev/nic": "25Gbit", "mlhub.dev/rack-uplink": "fast"})
    assert (status.nic_bps, status.rack_uplink_bps) == (25e9, OPTIONS.rack_uplink_bps)
    assert "mlhub.dev/rack-uplink is 'fast'" in status.message


@pytest.mark.parametrize(
    ("change", "is_ready", "is_schedulable", "expected_text"),
    [
        ({"spec": {"unschedulable": True}}, True, False, "cordoned"),
        ({"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}}, True, False, "a=b:NoSchedule"),
        ({"spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]}}, True, True, ""),
        ({"spec": {"taints": [{"key": "a", "effect": "PreferNoSchedule"}]}}, True, True, ""),
        ({"status": {"allocatable": {}, "conditions": []}}, False, True, "NotReady"),
    ],
)
def test_what_keeps_pods_from_a_node_is_reported(
    change: dict[str, Any], is_ready: bool, is_schedulable: bool, expected_text: str
) -> None:
    status = node_status({**node("n"), **change}, OPTIONS)
    assert (status.is_ready, status.is_schedulable) == (is_ready, is_schedulable)
    assert expected_text in status.message


@pytest.mark.parametrize(
    ("text", "amount"),
    [("500m", 0.5), ("2Gi", 2.0 * 2**30), ("1e3", 1000.0), ("3", 3.0), (None, 0.0), ("many", 0.0), ("1.2.3", 0.0)],
)
def test_quantities_are_read_as_kubernetes_writes_them(text: str | None, amount: float) -> None:
    assert quantity(text) == amount


def test_bandwidths_are_read_with_their_unit() -> None:
    assert [bits(text) for text in ("25Gbit", "100 mbit", "1000", "x")] == [25e9, 1e8, 1000.0, 0.0]


def test_slots_keep_their_numbers_whatever_others_pods_take() -> None:
    assert node_status(node("n", gpus=0, cpus="8"), OPTIONS, taken=(5.5, 0.0)).n_slots == 8
