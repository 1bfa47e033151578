# SPDX-License-Identifier: Apache-2.0
"""What an agent makes of its machine and of its orders, without a platform."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from mlhub.agent.__main__ import main
from mlhub.agent.authorities import trusted_file
from mlhub.agent.gangs import MachineGangs
from mlhub.agent.lease import Lease, uptime_s
from mlhub.agent.machine import MachineError, address_and_interface, node_of_machine, own_address
from mlhub.agent.platform_api import PlatformApi, PlatformAwayError
from mlhub.agent.program import AgentProgram, instance_of
from mlhub.agent.project_caches import ProjectCaches
from mlhub.agent.shared_folder import SharedFolder, problem_of
from mlhub.backends.agents.backend import AgentsBackend
from mlhub.backends.agents.messages import AgentReport, CheckpointFolder, GangOrder, Orders, StopOrder
from mlhub.backends.local import shim
from mlhub.backends.local.cluster import LocalPlace
from mlhub.backends.local.gpu_driver import NvmlDriver
from mlhub.backends.local.gpus import LocalGpus
from mlhub.backends.local.pods import PodStarter
from mlhub.backends.protocol import LaunchError
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec
from tests.authorities import site_authority
from tests.backends.gpu_driver import GIB, FakeGpu, FakeNvml
from tests.backends.specs import gang

GIVEN: dict[str, Any] = {
    "interface": "lo", "rack": "rack-1", "slots": None, "cpus": None, "memory_bytes": None, "jobs_per_gpu": 1
}  # fmt: skip


def orders(folder: Path, *gangs: GangOrder) -> Orders:
    return Orders("node-1", "state", 60.0, "http://hub", CheckpointFolder(str(folder), ".marker", "ours"), gangs)


def to_reserve(spec: LaunchSpec) -> GangOrder:
    return GangOrder(spec.attempt_id, spec.without_secrets().to_json())


def machine(folder: Path, starter: PodStarter | None = None) -> MachineGangs:
    place = LocalPlace("127.0.0.2", "lo", is_shared_network=True)
    return MachineGangs(folder, name="node-1", starter=starter or PodStarter(), place=place, server="http://hub")


def test_ports_of_a_reservation_are_held_until_the_gang_is_forgotten(tmp_path: Path) -> None:
    here, spec = machine(tmp_path), gang(workers=2, servers=1)  # a worker and the server are here
    here.follow(orders(tmp_path, to_reserve(spec)))
    (report,) = here.reports()
    assert len(set(report.ports)) == 3  # and one for the rendezvous of rank 0
    here.follow(orders(tmp_path, to_reserve(spec)))
    assert here.reports() == (report,)
    with socket.socket() as other, pytest.raises(OSError):
        other.bind(("127.0.0.1", report.ports[0]))
    here.follow(orders(tmp_path))
    assert here.reports() == ()
    with socket.socket() as other:
        other.bind(("127.0.0.1", report.ports[0]))


def test_a_gpu_that_is_not_clean_is_refused_for_now(tmp_path: Path) -> None:
    nvml = FakeNvml(FakeGpu("GPU-a", 0))
    driver = NvmlDriver(nvml)
    gpus = LocalGpus(tmp_path, driver, {"node-1": ["GPU-a"]})
    here = machine(tmp_path, PodStarter(gpus=gpus))
    first, second = gang(), gang()
    here.follow(orders(tmp_path, to_reserve(first)))
    assert here.reports()[0].problem == ""
    nvml.gpus[0].used_bytes = 10 * GIB  # what it left there
    here.follow(orders(tmp_path, to_reserve(second)))
    (report,) = here.reports()
    assert (report.attempt_id, report.ports, report.is_final) == (second.attempt_id, (), False)
    assert "MiB are in use" in report.problem
    node = gpus.status(node_of_machine("node-1", driver.read(), **GIVEN), here.folders())
    assert (node.gpu_type, node.n_slots) == ("nvidia-rtx-6000-ada", 1)
    assert node.gpus[0].problem


def test_a_gang_that_has_launched_and_whose_files_are_gone_is_lost(tmp_path: Path) -> None:
    here = machine(tmp_path)
    here.follow(orders(tmp_path, GangOrder("an-attempt")))
    (report,) = here.reports()
    assert (report.cause, report.is_final) == (Cause.NODE_LOST, True)


def test_a_gang_that_is_stopped_before_it_starts_never_starts(tmp_path: Path) -> None:
    here, spec = machine(tmp_path), gang()
    addresses = {"master": "127.0.0.1:1", "servers": [], "workers": ["127.0.0.1:2"]}
    stop = StopOrder(5.0, "asked")
    here.follow(orders(tmp_path, replace(to_reserve(spec), addresses=addresses, stop=stop)))
    (report,) = here.reports()
    assert (report.cause, report.is_final, report.has_launched) == (Cause.PREEMPTED, True, False)


@pytest.mark.parametrize("attempt_id", ["../elsewhere", "", ".hidden", "a/b"])
def test_an_order_for_no_attempt_touches_no_file_and_no_other_gang(tmp_path: Path, attempt_id: str) -> None:
    here, spec = machine(tmp_path / "home"), gang()
    with pytest.raises(ValueError, match="no id of an attempt"):
        here.follow(orders(tmp_path, GangOrder(attempt_id, spec.to_json()), to_reserve(spec)))
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_the_shared_folder_is_known_by_the_platforms_file_in_it(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path / "shared"), ".mlhub-1", "ours")
    assert "is not there" in problem_of(folder, "lab-1")
    assert "at the same path on lab-1" in problem_of(folder, "lab-1")
    (tmp_path / "shared").mkdir()
    assert ".mlhub-1" in problem_of(folder, "lab-1")
    (tmp_path / "shared/.mlhub-1").write_text("another's")
    assert "another installation" in problem_of(folder, "lab-1")
    (tmp_path / "shared/.mlhub-1").write_text("ours")
    proofs = tmp_path / "shared/.mlhub-1.d"
    proofs.mkdir()
    assert problem_of(folder, "lab-1") == ""
    assert list(proofs.iterdir()) == []
    (proofs / "lab-1").mkdir()  # as a folder of a job that takes no writes
    assert "cannot be written" in problem_of(folder, "lab-1")
    assert "as the platform's user" in problem_of(folder, "lab-1")


def test_no_pod_starts_before_the_folder_is_known_and_it_is_known_after_a_restart(tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    assert SharedFolder(known, "lab-1").problem
    (tmp_path / "marker").write_text("ours")
    (tmp_path / "marker.d").mkdir()
    first = SharedFolder(known, "lab-1")
    first.follow(CheckpointFolder(str(tmp_path), "marker", "ours"))
    assert first.problem == ""
    assert SharedFolder(known, "lab-1").problem == ""
    (tmp_path / "marker").unlink()
    assert "Mount the platform's folder" in SharedFolder(known, "lab-1").problem


def test_shims_read_the_lease_that_the_agent_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lease = Lease(tmp_path / "lease")
    assert lease.remaining_s() == 0
    read = shim.PodLease(str(lease.path))
    assert not read.is_over()  # there was none: nothing was agreed
    lease.extend(uptime_s() + 1000)
    assert 900 < lease.remaining_s() <= 1000
    assert not read.is_over()
    with monkeypatch.context() as full:
        full.setattr(Path, "write_text", MagicMock(side_effect=OSError(errno.ENOSPC, "No space left on device")))
        lease.extend(uptime_s() + 5000)
    assert 4900 < lease.remaining_s() <= 5000
    lease.path.unlink()
    assert not read.is_over()  # a file that cannot be read counts as before
    lease.extend(uptime_s() - 1)
    assert read.is_over()
    lease.path.write_text("")
    assert read.is_over()
    assert not shim.PodLease("").is_over()


def test_a_machine_says_what_it_has_and_what_was_asked_for_it() -> None:
    node = node_of_machine("lab-1", (), **GIVEN)
    assert (node.gpu_type, node.n_slots) == ("cpu-slot", max(1, (os.cpu_count() or 1) // 2))
    smaller = node_of_machine("lab-1", (), **GIVEN | {"slots": 3, "cpus": 6.0, "memory_bytes": 2**33, "rack": "b"})
    assert (smaller.n_slots, smaller.cpus, smaller.memory_bytes, smaller.rack) == (3, 6.0, 2**33, "b")
    with pytest.raises(MachineError, match="--no-gpus"):
        node_of_machine("lab-1", NvmlDriver(FakeNvml(FakeGpu("GPU-a", 0))).read(), **GIVEN | {"slots": 2})
    assert address_and_interface("127.0.0.9") == ("127.0.0.9", "lo")
    with pytest.raises(MachineError, match="no interface of this machine"):
        address_and_interface("192.0.2.250")


def test_a_machine_that_others_do_not_reach_by_ipv4_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_address("http://127.0.0.1:8000")
    monkeypatch.setattr("mlhub.agent.machine._source", lambda host, _: "127.0.0.1" if host == "127.0.0.1" else "")
    assert own_address("http://127.0.0.1:8000") == own_address("http://[::1]:8000") == "127.0.0.1"
    with pytest.raises(MachineError, match="no IPv4 address from which it reaches hub6"):
        own_address("https://hub6.example.org")
    with pytest.raises(MachineError, match="Give an IPv4 address"):
        address_and_interface("2001:db8::1")


def test_reports_and_orders_are_read_as_they_were_written(tmp_path: Path) -> None:
    report = AgentReport("1", "3.11", 1.0, "", node_of_machine("lab-1", (), **GIVEN), instance="an instance")
    assert AgentReport.from_json(report.to_json()) == report
    given = orders(tmp_path, replace(to_reserve(gang()), stop=StopOrder(1.0, "asked")))
    assert Orders.from_json(given.to_json()) == given
    with pytest.raises(ValueError, match="protocol"):
        Orders.from_json(given.to_json() | {"protocol": 99})


def test_an_agent_is_known_again_when_it_starts_and_distinguished_from_a_copy_of_its_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = instance_of(tmp_path)
    assert instance_of(tmp_path) == first
    (tmp_path / "another").mkdir()
    assert instance_of(tmp_path / "another") != first
    monkeypatch.setattr("platform.node", lambda: "a-clone")
    assert instance_of(tmp_path) != first


class Api:
    """Keeps what is reported to it."""

    server = "http://hub"

    def __init__(self, answer: Orders) -> None:
        self.answer, self.reports = answer, list[AgentReport]()

    def sync(self, report: AgentReport) -> Orders:
        self.reports.append(report)
        return self.answer

    def newest_state(self, known: str) -> str:
        time.sleep(0.05)
        return f"not {known}"


def test_an_agent_whose_disk_is_full_stays_says_so_and_is_well_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".marker").write_text("ours")
    (tmp_path / ".marker.d").mkdir()
    api = Api(orders(tmp_path))
    program = AgentProgram(
        cast(PlatformApi, api), machine(tmp_path / "home"), node=lambda: node_of_machine("lab-1", (), **GIVEN),
        address="127.0.0.2", lease=Lease(tmp_path / "home" / "lease"),
        folder=SharedFolder(tmp_path / "known.json", "lab-1"), instance="one",
        caches=ProjectCaches(tmp_path / "home" / "cache", cast(PlatformApi, api), instance="one", used=set),
    )  # fmt: skip
    thread = threading.Thread(target=program.run)
    thread.start()

    def until(condition: Callable[[AgentReport], bool]) -> None:
        deadline = time.monotonic() + 60
        while not condition(api.reports[-1] if api.reports else AgentReport("", "", 0, "", program.node(), "none")):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    try:
        until(lambda report: report.problem == "")

        def full(*_: object) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patched:
            patched.setattr(Lease, "extend", full)
            until(lambda report: "No space left on device" in report.problem and str(tmp_path) in report.problem)
        until(lambda report: report.problem == "")
    finally:
        program.is_asked_to_end.set()
        thread.join(60)


class Platform(BaseHTTPRequestHandler):
    """Answers as one does that has new orders."""

    def do_GET(self) -> None:
        body = b'{"state": "new"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_an_agent_and_its_pods_trust_the_authorities_of_the_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = site_authority(tmp_path)
    with HTTPServer(("127.0.0.1", 0), Platform) as platform:
        platform.socket = site.for_server().wrap_socket(platform.socket, server_side=True)
        threading.Thread(target=platform.serve_forever, daemon=True).start()
        server = f"https://127.0.0.1:{platform.server_port}"
        with pytest.raises(PlatformAwayError, match="MLHUB_CA_FILE"):
            PlatformApi(server, "mlg_lab-1_secret").newest_state("")
        authorities = trusted_file(tmp_path, str(site.certificate))
        assert PlatformApi(server, "mlg_lab-1_secret", authorities=authorities).newest_state("") == "new"
        with pytest.raises(URLError):
            urlopen(server, timeout=60)
        monkeypatch.setenv("SSL_CERT_FILE", str(authorities))  # as pods have it
        assert urlopen(server, timeout=60).status == 200
        platform.shutdown()
    with pytest.raises(MachineError, match="MLHUB_CA_FILE"):
        trusted_file(tmp_path, str(tmp_path / "none.pem"))
    assert trusted_file(tmp_path, "") is None


@pytest.mark.parametrize(("setting", "value"), [("JOBS_PER_GPU", "abc"), ("JOBS_PER_GPU", "0"), ("WARM_WORKERS", "-1")])
def test_a_setting_that_is_no_number_is_named(
    setting: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(f"MLHUB_{setting}", value)
    with pytest.raises(SystemExit):
        main(["--server", "http://127.0.0.1:1"])
    assert f"{value!r}; give a whole number" in (said := capsys.readouterr().err)
    assert f"MLHUB_{setting}" in said


def test_a_gang_of_a_job_that_brings_an_image_is_refused() -> None:
    """Submitted when the platform was on Kubernetes: its code needs what the image has."""
    store = MagicMock(agents=list, gangs=lambda _: [])
    backend = AgentsBackend(store, lost_after_s=60.0)
    with pytest.raises(LaunchError, match="train:1") as refused:
        backend.launch(replace(gang(), image="train:1"))
    assert refused.value.cause is Cause.JOB_IMAGE
    store.add.assert_called_once_with([])
