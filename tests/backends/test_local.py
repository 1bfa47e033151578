# SPDX-License-Identifier: Apache-2.0
"""What is the local backend's own: real processes, their limits and ends, and what lies on disk."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlhub.backends.local import ClusterFileError, LocalBackend, read_cluster
from mlhub.backends.local.folders import GangFolder, is_alive, read_json, start_time
from mlhub.backends.protocol import GangPhase
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec, PodRole, PodSpec
from tests.backends.specs import gang, program
from tests.contract.test_backend import CLUSTER, ended, of, wait, wait_for_handlers


@pytest.fixture
def local(tmp_path: Path) -> Iterator[LocalBackend]:
    backend = LocalBackend(tmp_path, read_cluster(CLUSTER), argv=program(tmp_path))
    yield backend
    for status in backend.observe():
        backend.stop(status.attempt_id, grace_s=0)
    wait(lambda: all(s.phase.is_ended for s in backend.observe()))


def folder(backend: LocalBackend, spec: LaunchSpec) -> GangFolder:
    return GangFolder(backend.home / "pods" / spec.attempt_id)


def shim_of(backend: LocalBackend, spec: LaunchSpec, index: int = 0) -> dict[str, int]:
    found = read_json(folder(backend, spec).pod(PodRole.WORKER, index).shim)
    assert found is not None
    return found


def test_a_gang_whose_workers_are_done_has_succeeded_and_its_servers_leave(local: LocalBackend) -> None:
    spec = gang("done", workers=2, servers=1)
    local.launch(spec)
    assert ended(local, spec).phase is GangPhase.SUCCEEDED


ELSEWHERE = """
racks:
  - name: rack-1
    uplink: 10Gbit
    nodes:
      - {name: node-1, slots: 1, memory: 1GiB, nic: 1Gbit, address: 127.0.0.2, enter: [env, PLACE=here]}
      - {name: node-2, slots: 1, memory: 1GiB, nic: 1Gbit, address: 127.0.0.3, interface: eth7}
"""


def test_a_node_may_lie_elsewhere_on_this_machine(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(ELSEWHERE)
    backend = LocalBackend(tmp_path, read_cluster(tmp_path / "cluster.yaml"), argv=program(tmp_path))
    spec = gang(workers=2, servers=1)
    backend.launch(spec)
    pod_spec = PodSpec.from_json((folder(backend, spec).pod(PodRole.WORKER, 1).path / "spec.json").read_text())
    assert pod_spec.master_address.startswith("127.0.0.2:")
    assert [address.rpartition(":")[0] for address in pod_spec.server_addresses] == ["127.0.0.2"]

    def environment(index: int) -> list[str]:
        return Path(f"/proc/{shim_of(backend, spec, index)['child']}/environ").read_text().split("\0")

    wait(lambda: "PLACE=here" in environment(0))  # once env has become the pod's program
    assert "GLOO_SOCKET_IFNAME=eth7" in environment(1)
    backend.stop(spec.attempt_id, grace_s=0)
    wait(lambda: all(s.phase.is_ended for s in backend.observe()))


def test_words_before_a_pods_program_must_be_a_list(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(ELSEWHERE.replace("[env, PLACE=here]", "nsenter"))
    with pytest.raises(ClusterFileError, match=r"nodes\[0\].enter must be a list of words"):
        read_cluster(tmp_path / "cluster.yaml")


def test_when_one_pod_fails_the_rest_leaves_and_the_first_cause_counts(local: LocalBackend) -> None:
    spec = gang(["run", "exit 64"], workers=2, servers=1)
    local.launch(spec)
    status = ended(local, spec)
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.USER_CODE)
    assert "worker 1 on node-2" in status.message


def test_a_lost_peer_is_not_the_cause_when_there_is_a_better_one(local: LocalBackend) -> None:
    spec = gang(["exit 68", "exit 67"], workers=2)
    local.launch(spec)
    # neither is asked to leave for the other's sake before it has ended: a peer is lost after it went, not before
    wait(lambda: all(read_json(folder(local, spec).pod(PodRole.WORKER, index).exit) for index in (0, 1)))
    assert ended(local, spec).cause is Cause.OUT_OF_MEMORY


def test_a_pod_that_ignores_the_request_to_leave_is_killed(local: LocalBackend) -> None:
    spec = gang("stubborn")
    local.launch(spec)
    wait_for_handlers(local, spec)
    local.stop(spec.attempt_id, grace_s=0.5)
    status = ended(local, spec)
    assert (status.phase, status.cause) == (GangPhase.STOPPED, Cause.KILLED)
    assert not is_alive(shim_of(local, spec)["child"], shim_of(local, spec)["child_started"])


def test_a_pod_that_eats_memory_is_ended_with_that_cause(local: LocalBackend) -> None:
    spec = gang("eat", memory_bytes=100 * 2**20)
    local.launch(spec)
    status = ended(local, spec)
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.OUT_OF_MEMORY)
    assert "of its 100 MiB" in status.message


@pytest.mark.parametrize("behave", ["fill", "fill removed"])
def test_a_pod_that_fills_the_disk_is_ended_with_that_cause_and_its_room_is_free_again(
    tmp_path: Path, behave: str
) -> None:
    backend = LocalBackend(tmp_path, read_cluster(CLUSTER), argv=program(tmp_path), pod_disk_bytes=50 * 2**20)
    sick, well = gang(behave), gang(node="node-2")
    for spec in (sick, well):
        backend.launch(spec)
    status = ended(backend, sick)
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.DISK_FULL)
    assert "Its limit is 50 MiB" in status.message
    assert not (folder(backend, sick).pod(PodRole.WORKER, 0).path / "work").exists()
    assert of(backend, well).phase is GangPhase.RUNNING
    backend.stop(well.attempt_id, grace_s=0)
    wait(lambda: of(backend, well).phase.is_ended)


def test_a_pod_that_nests_folders_beyond_counting_is_ended_and_can_be_removed(local: LocalBackend) -> None:
    spec = gang("nest")
    local.launch(spec)
    status = ended(local, spec)
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.DISK_FULL)
    assert "so deep" in status.message
    local.stop(spec.attempt_id, grace_s=0)
    wait(lambda: not folder(local, spec).path.exists() or local.observe() is None)


def test_a_pod_sees_nothing_of_the_platforms_environment(local: LocalBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLHUB_SECRET_KEY", "the platform's own")
    spec = gang()
    local.launch(spec)
    pid = shim_of(local, spec)["child"]
    environment = wait(lambda: Path(f"/proc/{pid}/environ").read_bytes())
    assert b"the platform" not in environment
    assert b"attempt-token" not in environment
    assert b"MLHUB_TOKEN_FILE=" in environment
    secret = folder(local, spec).pod(PodRole.WORKER, 0).path / "token"
    assert secret.stat().st_mode & 0o077 == 0


def test_another_instance_sees_the_same_gangs_and_can_stop_them(local: LocalBackend) -> None:
    spec = gang()
    local.launch(spec)
    wait_for_handlers(local, spec)
    other = LocalBackend(local.home, local.cluster)
    assert of(other, spec) == of(local, spec)
    other.stop(spec.attempt_id, grace_s=60)
    assert ended(local, spec).phase is GangPhase.STOPPED


def test_pods_outlive_a_launcher_that_is_killed(local: LocalBackend, tmp_path: Path) -> None:
    spec = gang(workers=2)
    (tmp_path / "spec.json").write_text(spec.to_json())
    code = (
        "import os; from pathlib import Path\n"
        "from mlhub.backends.local import LocalBackend, read_cluster; from mlhub.wire.launch import LaunchSpec\n"
        f"b = LocalBackend(Path({str(local.home)!r}), read_cluster(Path({str(CLUSTER)!r})), "
        f"argv={list(local.starter.argv)!r})\n"
        f"b.launch(LaunchSpec.from_json(Path({str(tmp_path / 'spec.json')!r}).read_text()))\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == -signal.SIGKILL
    status = of(local, spec)
    assert status is not None
    assert status.phase is GangPhase.RUNNING
    assert is_alive(shim_of(local, spec)["pid"], shim_of(local, spec)["started"])


def test_a_launch_that_was_interrupted_half_way_leaves_no_half_gang(local: LocalBackend) -> None:
    spec = gang(workers=2)
    local.launch(spec)
    shims = [shim_of(local, spec, i) for i in (0, 1)]
    home = folder(local, spec)
    home.launched.unlink()  # as a launcher that died before its last line leaves it
    launch = read_json(home.launch)
    assert launch is not None
    home.launch.write_text('{"pid": 1, "started": -1, "spec": "{}"}')
    status = of(local, spec)
    assert status is not None
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.LAUNCH_FAILED)
    wait(lambda: not any(is_alive(s["child"], s["child_started"]) for s in shims))
    local.launch(spec)  # the same attempt again: now it is whole
    again = of(local, spec)
    assert again is not None
    assert again.phase is GangPhase.RUNNING


def test_a_killed_shim_takes_its_pod_along(local: LocalBackend) -> None:
    spec = gang()
    local.launch(spec)
    shim = shim_of(local, spec)
    os.kill(shim["pid"], signal.SIGKILL)
    status = ended(local, spec)
    assert (status.phase, status.cause) == (GangPhase.FAILED, Cause.KILLED)
    wait(lambda: not is_alive(shim["child"], shim["child_started"]))


def test_a_process_id_that_was_given_to_somebody_else_is_not_taken_for_the_pod() -> None:
    assert is_alive(os.getpid(), start_time(os.getpid()) or 0)
    assert not is_alive(os.getpid(), 1)


def test_pods_whose_platform_is_gone_leave_by_themselves(tmp_path: Path) -> None:
    lifeline = tmp_path / "lifeline"
    lifeline.touch()
    backend = LocalBackend(
        tmp_path / "home", read_cluster(CLUSTER), argv=program(tmp_path), lifeline=str(lifeline), lifeline_grace_s=1
    )
    spec = gang()
    with lifeline.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        backend.launch(spec)
        wait_for_handlers(backend, spec)
        time.sleep(2)  # twice the grace: it is not what keeps the pod
        status = of(backend, spec)
        assert status is not None
        assert status.phase is GangPhase.RUNNING
    assert {p.exit_code for p in ended(backend, spec).pods} == {75}


def test_a_node_that_goes_down_takes_its_gangs_and_leaves_the_inventory(local: LocalBackend) -> None:
    spec, elsewhere = gang(workers=2), gang()
    local.launch(spec)
    local.launch(elsewhere)
    (local.home / "nodes" / "node-2.down").touch()
    assert ended(local, spec).cause is Cause.NODE_LOST
    running = of(local, elsewhere)
    assert running is not None
    assert running.phase is GangPhase.RUNNING
    assert [n.name for n in local.inventory() if n.is_ready] == ["node-1"]


def test_output_can_be_read(local: LocalBackend) -> None:
    spec = gang()
    local.launch(spec)
    # the pod writes its line in pieces
    assert wait(lambda: list(local.logs(spec.attempt_id, role=PodRole.WORKER, index=0)) == ["pod worker 0 runs"])


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("racks: []", "at least one rack"),
        ("racks: [{uplink: 1Gbit}]", r"racks\[0\].name"),
        ("racks: [{name: r, uplink: fast, nodes: []}]", r"racks\[0\].uplink is 'fast'; write it like 10Gbit"),
        ("racks: [{name: r, uplink: 1Gbit, nodes: []}]", "at least one node"),
        ("racks: [{name: r, uplink: 1Gbit, nodes: [{name: n, slots: 0}]}]", r"nodes\[0\].slots is 0"),
        ("racks: [{name: r, uplink: 1Gbit, nodes: [{name: n, gpu: 2}]}]", r"unknown fields \['gpu'\]"),
        ("racks: [{name: r, uplink: 1Gbit, nodes: [{name: n, gpus: 2}]}]", "gpus is 2; write all, or a list"),
        ("racks: [{name: r, uplink: 1Gbit, nodes: [{name: n, slots: 2, memory: 8, nic: 1Gbit}]}]", "memory is 8"),
        (
            "racks: [{name: r, uplink: 1Gbit, nodes: ["
            "{name: n, slots: 2, memory: 8GiB, nic: 1Gbit}, {name: n, slots: 2, memory: 8GiB, nic: 1Gbit}]}]",
            "two nodes are called 'n'",
        ),
        ("racks: [", "not YAML"),
    ],
)
def test_a_wrong_cluster_file_is_refused_with_the_place_and_the_remedy(
    tmp_path: Path, text: str, expected_text: str
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(ClusterFileError, match=expected_text):
        read_cluster(path)


def test_a_missing_cluster_file_names_the_variable() -> None:
    with pytest.raises(ClusterFileError, match="MLHUB_CLUSTER_FILE"):
        read_cluster(Path("/nowhere/cluster.yaml"))


def test_a_gang_that_survives_lost_workers_goes_on_without_them_and_reports_it(local: LocalBackend) -> None:
    spec = gang(["run", "exit 64"], workers=2, servers=1, survives=True)
    local.launch(spec)
    status = wait(lambda: (s := of(local, spec)) and s.message and s)
    assert status.phase is GangPhase.RUNNING
    assert "worker 1 on node-2" in status.message
    local.stop(spec.attempt_id, grace_s=10)
    stopped = ended(local, spec)
    assert (stopped.phase, stopped.cause) == (GangPhase.STOPPED, None)


def test_a_gang_that_lost_a_worker_succeeds_with_the_others(local: LocalBackend) -> None:
    spec = gang(["done", "exit 64"], workers=2, servers=1, survives=True)
    local.launch(spec)
    assert ended(local, spec).phase is GangPhase.SUCCEEDED


def test_no_gang_survives_its_first_worker(local: LocalBackend) -> None:
    spec = gang(["exit 64", "run"], workers=2, servers=1, survives=True)
    local.launch(spec)
    assert ended(local, spec).phase is GangPhase.FAILED
