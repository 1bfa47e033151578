# SPDX-License-Identifier: Apache-2.0
"""Real GPUs of the local backend: found, given to pods, watched, and offered again only when they are clean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mlhub.backends.local import ClusterFileError, LocalBackend, read_cluster, workstation
from mlhub.backends.local.folders import GangFolder, read_json
from mlhub.backends.local.gpu_driver import NvmlDriver
from mlhub.backends.local.gpus import GRACE_S, LocalGpus
from mlhub.backends.protocol import BackendUnavailableError, GpuStatus, ItemKind
from mlhub.wire.launch import LaunchSpec, PodRole
from tests.backends.gpu_driver import GIB, FakeGpu, FakeNvml
from tests.backends.specs import gang, program
from tests.contract.test_backend import ended, wait


@dataclass
class Workstation:
    nvml: FakeNvml
    backend: LocalBackend
    now: float = 1000.0

    def gpus(self) -> list[GpuStatus]:
        (node,) = self.backend.inventory()
        return list(node.gpus)

    def environment(self, spec: LaunchSpec, index: int = 0) -> dict[str, str]:
        pod = GangFolder(self.backend.home / "pods" / spec.attempt_id).pod(PodRole.WORKER, index)
        found = read_json(pod.path / "pod.json")
        assert found is not None
        return found["environment"]

    def run_and_end(self, spec: LaunchSpec) -> None:
        self.backend.launch(spec)
        self.backend.stop(spec.attempt_id, grace_s=0)
        ended(self.backend, spec)


def build(home: Path, nvml: FakeNvml, *, jobs_per_gpu: int = 1) -> Workstation:
    driver = NvmlDriver(nvml)
    cluster = workstation(driver.read(), jobs_per_gpu=jobs_per_gpu)
    backend = LocalBackend(home, cluster, argv=program(home))
    found = Workstation(nvml, backend)
    backend.starter.gpus = LocalGpus(home, driver, cluster.gpus, clock=lambda: found.now)
    return found


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Workstation]:
    nvml = FakeNvml(FakeGpu("GPU-a", 0, used_bytes=GIB), FakeGpu("GPU-b", 3, utilisation=None))
    found = build(tmp_path, nvml, jobs_per_gpu=2)
    yield found
    for status in found.backend.observe():
        found.backend.stop(status.attempt_id, grace_s=0)
    wait(lambda: all(s.phase.is_ended for s in found.backend.observe()))


def on(*slots: int, behave: str = "run") -> LaunchSpec:
    return gang(behave, node="workstation", slots=slots)


def test_the_machines_gpus_are_the_node_when_no_cluster_file_is_given(machine: Workstation) -> None:
    (node,) = machine.backend.inventory()
    assert (node.name, node.gpu_type, node.n_slots) == ("workstation", "nvidia-rtx-6000-ada", 2)
    assert (node.max_jobs_per_gpu, node.sharing) == (2, "Up to 2 jobs may share a GPU.")
    assert node.gpu_memory_bytes == 48 * GIB
    assert node.gpus[0] == GpuStatus(0, "GPU-a", "NVIDIA RTX 6000 Ada", 48 * GIB, GIB, 0.4, 61.0)
    assert node.gpus[1].utilisation is None, "the driver does not report it"


def test_a_machine_without_a_driver_has_no_gpus() -> None:
    with pytest.raises(OSError, match="Driver Not Loaded"):
        NvmlDriver(FakeNvml(has_driver=False))


def test_each_pod_sees_its_own_gpus_by_uuid_and_no_other(machine: Workstation) -> None:
    first, second = on(0), on(1)
    for spec in (first, second):
        machine.backend.launch(spec)
    assert machine.environment(first)["CUDA_VISIBLE_DEVICES"] == "GPU-a"
    assert machine.environment(second)["CUDA_VISIBLE_DEVICES"] == "GPU-b"
    assert machine.environment(second)["LOCAL_RANK"] == "0", "the first of those that it sees"


def test_a_pod_may_open_the_device_files_of_its_own_gpus_only(machine: Workstation) -> None:
    assert machine.backend.starter.gpus is not None
    assert machine.backend.starter.gpus.device_files("workstation", (1,)) == [
        "/dev/nvidia3", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
    ]  # fmt: skip
    assert machine.backend.starter.gpus.device_files("workstation", ()) == []


def test_pods_of_virtual_slots_see_no_gpu(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("gpus: all", "slots: 1"))
    machine = Workstation(
        FakeNvml(), LocalBackend(tmp_path, read_cluster(tmp_path / "cluster.yaml"), argv=program(tmp_path))
    )
    spec = gang("done", node="node-1")
    machine.backend.launch(spec)
    assert machine.environment(spec)["CUDA_VISIBLE_DEVICES"] == ""
    ended(machine.backend, spec)


def test_a_gpu_on_which_a_process_is_left_is_not_offered_until_it_has_gone(machine: Workstation) -> None:
    gpu = machine.nvml.gpus[0]
    spec = on(0)
    machine.backend.launch(spec)
    gpu.processes.append(4242)
    assert machine.gpus()[0].problem == "", "it is its job's"
    machine.backend.stop(spec.attempt_id, grace_s=0)
    ended(machine.backend, spec)
    assert "run on it (4242)" in machine.gpus()[0].problem
    with pytest.raises(BackendUnavailableError, match="4242"):
        machine.backend.launch(on(0))
    gpu.processes.clear()
    assert machine.gpus()[0].problem == ""
    machine.backend.launch(on(0))


def test_memory_that_is_not_given_back_quarantines_a_gpu_after_a_moment(machine: Workstation) -> None:
    machine.run_and_end(on(0))
    machine.nvml.gpus[0].used_bytes = 5 * GIB
    assert machine.gpus()[0].problem == "4096 MiB are in use that were free before its last job."
    assert machine.backend.quarantined() == (), "drivers take a moment"
    machine.now += GRACE_S + 1
    machine.gpus()
    (item,) = machine.backend.quarantined()
    assert (item.kind, item.name) == (ItemKind.GPU, "workstation/0")
    machine.nvml.gpus[0].used_bytes = GIB
    assert machine.gpus()[0].problem == ""
    assert machine.backend.quarantined() == ()


def test_what_others_had_there_before_is_not_held_against_a_gpu(machine: Workstation) -> None:
    machine.nvml.gpus[0].processes.append(77)
    machine.run_and_end(on(0))
    assert machine.gpus()[0].problem == ""


def test_a_shared_gpu_is_checked_when_its_last_job_has_ended(machine: Workstation) -> None:
    first, second = on(0), on(0)
    machine.backend.launch(first)
    machine.nvml.gpus[0].used_bytes = 3 * GIB
    machine.backend.launch(second)
    machine.backend.stop(first.attempt_id, grace_s=0)
    ended(machine.backend, first)
    assert machine.gpus()[0].problem == ""
    machine.backend.stop(second.attempt_id, grace_s=0)
    ended(machine.backend, second)
    assert machine.gpus()[0].problem == "2048 MiB are in use that were free before its last job."


def test_a_restart_of_the_platform_does_not_forget_what_a_gpu_held(machine: Workstation, tmp_path: Path) -> None:
    machine.run_and_end(on(1))
    machine.nvml.gpus[1].processes.append(99)
    again = build(tmp_path, machine.nvml)
    assert "99" in again.gpus()[1].problem


def test_a_gpu_that_the_driver_lost_is_not_offered(machine: Workstation) -> None:
    machine.nvml.gpus[1].is_lost = True
    assert [gpu.problem for gpu in machine.gpus()] == ["", "GPU is lost"]


CLUSTER = """
racks:
  - name: rack-1
    uplink: 10Gbit
    nodes:
      - {name: node-1, gpus: all, memory: 1GiB, nic: 1Gbit, jobs_per_gpu: 4}
"""
READINGS = NvmlDriver(FakeNvml(FakeGpu("GPU-a", 0), FakeGpu("GPU-b", 1))).read()


def test_a_cluster_file_names_the_gpus_of_its_nodes(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    cluster = read_cluster(tmp_path / "cluster.yaml", READINGS)
    assert (cluster.nodes[0].n_slots, cluster.nodes[0].max_jobs_per_gpu) == (2, 4)
    assert cluster.gpus == {"node-1": ("GPU-a", "GPU-b")}
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("all", "[1]"))
    assert read_cluster(tmp_path / "cluster.yaml", READINGS).gpus == {"node-1": ("GPU-b",)}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("gpus: [GPU-x]", "names GPU-x, and the driver of this machine shows GPU-a, GPU-b"),
        ("gpus: [0, GPU-a]", "the GPU GPU-a is listed twice"),
        ("gpus: some", "write all, or a list"),
        ("gpus: [0], slots: 3", "slots is 3, and it has 1 GPU"),
    ],
)
def test_gpus_of_a_cluster_file_that_are_not_there_are_refused(written: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER.replace("gpus: all", written))
    with pytest.raises(ClusterFileError, match=problem):
        read_cluster(tmp_path / "cluster.yaml", READINGS)


def test_all_gpus_of_a_machine_without_any_are_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    with pytest.raises(ClusterFileError, match="shows no GPU"):
        read_cluster(tmp_path / "cluster.yaml")
