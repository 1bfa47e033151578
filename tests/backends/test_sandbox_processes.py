# SPDX-License-Identifier: Apache-2.0
"""The processes around a pod in the sandbox are killed: the pod ends, for a cause that is the platform's, at once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlhub.agent.enclosures import enclose
from mlhub.backends.local import LocalBackend, read_cluster
from mlhub.backends.local.folders import GangFolder, is_alive, read_json, start_time
from mlhub.backends.local.shim import descendants
from mlhub.backends.protocol import GangPhase
from mlhub.wire.exits import Cause, Fault
from mlhub.wire.launch import LaunchSpec, PodRole
from tests.backends.specs import PROGRAM, gang
from tests.contract.test_backend import CLUSTER, ended, of, wait

API_URL = "http://127.0.0.1:9"  # no server is there; the programs of these pods never ask


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalBackend]:
    argv = [sys.executable, "-S", "-c", PROGRAM]
    backend = LocalBackend(tmp_path, read_cluster(CLUSTER), argv=argv, enclose=enclose)
    yield backend
    for status in backend.observe():
        backend.stop(status.attempt_id, grace_s=0)
    wait(lambda: all(s.phase.is_ended for s in backend.observe()))


def training(backend: LocalBackend, *, workers: int = 1, behave: str = "run") -> LaunchSpec:
    """A gang whose programs run."""
    spec = replace(gang(behave, workers=workers), api_url=API_URL)
    backend.launch(spec)
    for index in range(workers):
        wait(lambda index=index: any("runs" in line for line in output(backend, spec, index)))
    return spec


def output(backend: LocalBackend, spec: LaunchSpec, index: int = 0) -> list[str]:
    return list(backend.logs(spec.attempt_id, role=PodRole.WORKER, index=index))


def around(backend: LocalBackend, spec: LaunchSpec) -> dict[str, int]:
    """Process ids of the first worker's shim, holder (which made the namespaces), relay and first process inside."""
    found = read_json(GangFolder(backend.home / "pods" / spec.attempt_id).pod(PodRole.WORKER, 0).shim)
    assert found is not None
    holder = found["child"]
    # forked in this order, before the program
    relay, first = sorted(children(holder), key=lambda pid: (start_time(pid), pid))[:2]
    return {"shim": found["pid"], "holder": holder, "relay": relay, "first": first}


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def everything(backend: LocalBackend, spec: LaunchSpec) -> list[tuple[int, int]]:
    shim = around(backend, spec)["shim"]
    return [(pid, start_time(pid)) for pid in descendants(shim)]


SENTENCES = {
    "relay": (
        Cause.SANDBOX_FAILED,
        "The relay that connects the pod with the platform ended by SIGKILL.",
    ),
    "holder": (Cause.KILLED, "worker 0 on node-1 ended with status -9."),
    "first": (Cause.KILLED, "worker 0 on node-1 ended with status -9."),
    "shim": (Cause.KILLED, "The pod's shim was killed."),
}


@pytest.mark.parametrize("victim", list(SENTENCES))
def test_a_killed_process_around_a_pod_ends_the_attempt_by_the_platform_s_fault(
    victim: str, local: LocalBackend
) -> None:
    spec = training(local)
    before = everything(local, spec)
    os.kill(around(local, spec)[victim], signal.SIGKILL)
    status = ended(local, spec)
    assert (status.phase, status.cause, status.message) == (GangPhase.FAILED, *SENTENCES[victim])
    assert status.cause is not None
    assert status.cause.fault is Fault.PLATFORM
    wait(lambda: not any(is_alive(pid, started) for pid, started in before))


@pytest.mark.slow
def test_a_gang_that_lost_the_relay_of_one_pod_names_the_relay_and_not_what_followed(local: LocalBackend) -> None:
    spec = training(local, workers=2)
    os.kill(around(local, spec)["relay"], signal.SIGKILL)
    status = ended(local, spec)
    assert (status.cause, status.message) == SENTENCES["relay"]


def test_a_relay_that_is_killed_while_its_pod_is_asked_to_leave_does_not_pass_for_a_saved_checkpoint(
    local: LocalBackend,
) -> None:
    spec = training(local, behave="stubborn")
    relay = around(local, spec)["relay"]
    local.stop(spec.attempt_id, grace_s=60)
    wait(lambda: of(local, spec).phase is GangPhase.STOPPING)
    os.kill(relay, signal.SIGKILL)
    status = ended(local, spec)
    assert (status.phase, status.cause, status.message) == (GangPhase.STOPPED, *SENTENCES["relay"])


def test_a_sandbox_that_cannot_be_set_up_is_reported_with_its_reason(
    local: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here its gang's folder is gone before the pod looks for its network."""

    def broken(*arguments: object, **more: object) -> tuple[list[str], dict[str, str]]:
        command, environment = enclose(*arguments, **more)  # type: ignore[arg-type]
        described = Path(command[-1])
        text = described.read_text()
        described.write_text(
            text.replace(f'"gang_folder": "{described.parents[1]}"', f'"gang_folder": "{described.parent}/missing"')
        )
        return command, environment

    monkeypatch.setattr(local.starter, "enclose", broken)
    spec = replace(gang("run"), api_url=API_URL)
    local.launch(spec)
    status = ended(local, spec)
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.SANDBOX_FAILED)
    assert status.message.startswith("The sandbox could not be set up: FileNotFoundError")
