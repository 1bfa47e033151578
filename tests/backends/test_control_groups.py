# SPDX-License-Identifier: Apache-2.0
"""Pods of the local backend in control groups: their limits, the kernel's proof of an end, and nothing left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlhub.backends.local import LocalBackend, read_cluster
from mlhub.backends.local.folders import GangFolder, read_json
from mlhub.runtime.sandbox import cgroups
from mlhub.runtime.sandbox.group_plans import N_PROCESSES, planned_group
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec, PodRole
from tests.backends.specs import gang, program
from tests.contract.test_backend import CLUSTER, ended, wait

MIB = 2**20


class FakeGroups:
    """Folders in place of control groups, where the kernel's counter is what the test writes."""

    def __init__(self, root: Path, *, oom_kills: int = 0) -> None:
        self.root, self.oom_kills = root, oom_kills

    def __call__(self, name: str, *, memory_bytes: int, n_cpus: float) -> dict[str, Any]:
        folder = self.root / name
        folder.mkdir()
        (folder / "memory.events").write_text(f"max 9\noom {self.oom_kills}\noom_kill {self.oom_kills}\n")
        files = {"memory.max": str(memory_bytes), "cpu.max": str(n_cpus)}
        events = str(folder / "memory.events")
        return {"name": name, "folders": [{"path": str(folder), "files": files}], "memory_events": events}

    def written(self) -> dict[str, str]:
        (folder,) = self.root.iterdir()
        return {path.name: path.read_text() for path in folder.iterdir() if path.name != "memory.events"}


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalBackend]:
    (tmp_path / "groups").mkdir()
    backend = LocalBackend(tmp_path / "home", read_cluster(CLUSTER), argv=program(tmp_path))
    yield backend
    for status in backend.observe():
        backend.stop(status.attempt_id, grace_s=0)
    wait(lambda: all(s.phase.is_ended for s in backend.observe()))


def pod_json(backend: LocalBackend, spec: LaunchSpec) -> dict[str, Any]:
    found = read_json(GangFolder(backend.home / "pods" / spec.attempt_id).pod(PodRole.WORKER, 0).path / "pod.json")
    assert found is not None
    return found


def test_a_pod_joins_its_group_before_it_begins_with_the_limits_of_its_resources(
    local: LocalBackend, tmp_path: Path
) -> None:
    local.starter.plan_group = groups = FakeGroups(tmp_path / "groups")
    spec = gang("done", memory_bytes=300 * MIB)
    local.launch(spec)
    ended(local, spec)
    shim = read_json(GangFolder(local.home / "pods" / spec.attempt_id).pod(PodRole.WORKER, 0).shim)
    assert shim is not None
    assert groups.written() == {"memory.max": str(300 * MIB), "cpu.max": "1", "cgroup.procs": str(shim["child"])}


@pytest.mark.parametrize(
    ("behave", "oom_kills", "cause"),
    [
        ("exit 64", 2, Cause.OUT_OF_MEMORY),
        ("exit 68", 1, Cause.OUT_OF_MEMORY),
        ("exit 137", 1, Cause.OUT_OF_MEMORY),
        ("exit 137", 0, Cause.KILLED),
        ("exit 64", 0, Cause.USER_CODE),
        ("exit 69", 1, Cause.NOT_A_NUMBER),
        ("exit 70", 1, Cause.REPORT_REFUSED),
    ],
)
def test_what_the_kernel_counted_explains_an_end_that_may_follow_from_it(
    behave: str, oom_kills: int, cause: Cause, local: LocalBackend, tmp_path: Path
) -> None:
    local.starter.plan_group = FakeGroups(tmp_path / "groups", oom_kills=oom_kills)
    spec = gang(behave, memory_bytes=300 * MIB)
    local.launch(spec)
    status = ended(local, spec)
    assert status.cause is cause
    if cause is Cause.OUT_OF_MEMORY:
        assert status.message == f"The kernel ended {oom_kills} of the pod's processes at its limit of 300 MiB."


def test_a_group_that_cannot_be_made_costs_no_pod(local: LocalBackend, tmp_path: Path) -> None:
    def nowhere(name: str, *, memory_bytes: int, n_cpus: float) -> dict[str, Any]:
        return {"name": name, "folders": [{"path": str(tmp_path / "gone" / name), "files": {}}], "memory_events": ""}

    local.starter.plan_group = nowhere
    spec = gang("done")
    local.launch(spec)
    assert ended(local, spec).cause is None


def test_a_pod_of_this_machine_that_eats_memory_is_ended_by_its_group_and_the_group_is_gone(
    local: LocalBackend,
) -> None:
    local.starter.plan_group = planned_group
    spec = gang("eat", memory_bytes=150 * MIB)
    local.launch(spec)
    planned = pod_json(local, spec)["control_group"]
    status = ended(local, spec)
    assert status.cause is Cause.OUT_OF_MEMORY
    if planned is None:  # this machine gives no group away, and the shim's own watch ended the pod
        assert status.message.startswith("The pod used ")
        return
    assert status.message == "The kernel ended 1 of the pod's processes at its limit of 150 MiB."
    assert not any(os.path.exists(folder["path"]) for folder in planned["folders"])


def test_the_group_of_a_pod_whose_shim_was_killed_goes_with_the_gang(local: LocalBackend) -> None:
    local.starter.plan_group = planned_group
    spec = gang("run")
    local.launch(spec)
    planned = pod_json(local, spec)["control_group"]
    shim = read_json(GangFolder(local.home / "pods" / spec.attempt_id).pod(PodRole.WORKER, 0).shim)
    assert shim is not None
    os.kill(shim["pid"], signal.SIGKILL)
    ended(local, spec)
    local.stop(spec.attempt_id, grace_s=0)
    assert not any(os.path.exists(folder["path"]) for folder in (planned or {"folders": []})["folders"])


def test_a_delegated_group_of_version_2_is_used_before_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cgroup.controllers", "cgroup.subtree_control"):
        (tmp_path / name).write_text("cpu io memory pids")
    monkeypatch.setenv("MLHUB_CGROUP", str(tmp_path))
    for cached in (cgroups._works, cgroups._parents):
        cached.cache_clear()
    try:
        planned = planned_group("mlhub-pod-1", memory_bytes=2**30, n_cpus=1.5)
    finally:
        for cached in (cgroups._works, cgroups._parents):
            cached.cache_clear()
    files = {
        "memory.max": str(2**30),
        "memory.swap.max": "0",
        "pids.max": str(N_PROCESSES),
        "cpu.max": "150000 100000",
    }
    folder = tmp_path / "mlhub-pod-1"
    assert planned == {
        "name": "mlhub-pod-1",
        "folders": [{"path": str(folder), "files": files}],
        "memory_events": str(folder / "memory.events"),
        "pids_events": str(folder / "pids.events"),
    }
    assert not folder.exists()
