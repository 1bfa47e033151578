# SPDX-License-Identifier: Apache-2.0
"""LocalBackend: the five verbs over processes of this machine. Any number of instances may share one home folder."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

from mlhub.backends.gang_rules import StopReason
from mlhub.backends.local import shim as shim_module
from mlhub.backends.local.cluster import LocalCluster
from mlhub.backends.local.folders import GangFolder, PodFolder, is_alive, read_json, start_time, write_json
from mlhub.backends.local.gangs import gang_status
from mlhub.backends.local.gpus import LocalGpus
from mlhub.backends.local.quarantine import DAMAGES, DamagedGangs, end_processes
from mlhub.backends.local.warm_pool import WarmPool, may_start_warm
from mlhub.backends.protocol import (
    AttemptStatus,
    BackendUnavailableError,
    GangPhase,
    LaunchError,
    NodeStatus,
    QuarantinedItem,
    launch_each,
    stop_each,
)
from mlhub.wire import environment as names
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec, PodPlacement, PodRole, PodSpec
from mlhub.wire.trees import remove_tree

PROJECT = Path(__file__).resolve().parents[3]
SHIM_START_S = 20.0
LIFELINE_GRACE_S = 20.0
ORPHAN_STOP_GRACE_S = 10.0


class Enclose(Protocol):
    """Puts a pod into a sandbox: returns the command and the environment to start in place of the pod's own.

    folder: the pod's. has_node_network: its node is a network namespace of the cluster's administrator. devices: files
    of its GPUs, which it may open. Raises OSError.
    """

    def __call__(
        self,
        spec: LaunchSpec,
        argv: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        *,
        has_node_network: bool,
        devices: Sequence[str],
    ) -> tuple[list[str], dict[str, str]]: ...


class PlanGroup(Protocol):
    """Describes the control group of a pod for its shim; None where none can be had."""

    def __call__(self, name: str, *, memory_bytes: int, n_cpus: float) -> dict[str, Any] | None: ...


class LocalBackend:
    """home: where gangs' folders lie. argv: what a pod runs. lifeline: see docs/decisions/lifeline.md; "" = none.

    enclose: None starts pods with all rights of this process. gpus: None = no node has any, and pods see none.
    plan_group: None leaves their memory to the shim's watch. warm: processes that become pods; None starts all cold.
    pod_disk_bytes: what the files of a pod may take of the disk; 0 = as much as it leaves free.
    """

    def __init__(
        self,
        home: Path,
        cluster: LocalCluster,
        *,
        argv: Sequence[str] = (sys.executable, "-m", "mlhub.runtime"),
        lifeline: str = "",
        lifeline_grace_s: float = LIFELINE_GRACE_S,
        enclose: Enclose | None = None,
        gpus: LocalGpus | None = None,
        plan_group: PlanGroup | None = None,
        warm: WarmPool | None = None,
        pod_disk_bytes: int = 0,
    ) -> None:
        self.home = home
        self.cluster = cluster
        self.argv = list(argv)
        self.lifeline = lifeline
        self.lifeline_grace_s = lifeline_grace_s
        self.enclose = enclose
        self.gpus = gpus
        self.plan_group = plan_group
        self.warm = warm
        self.pod_disk_bytes = pod_disk_bytes
        self._damaged = DamagedGangs()
        (home / "pods").mkdir(parents=True, exist_ok=True)
        (home / "nodes").mkdir(exist_ok=True)

    def launch(self, spec: LaunchSpec) -> None:
        gang = self._gang(spec.attempt_id)
        if gang.launched.exists():
            return
        self._check(spec)
        if self.gpus is not None and (problem := self.gpus.reserve(spec, self._gangs())):
            raise BackendUnavailableError(problem)
        self._remove(gang)  # half a launch that was interrupted
        gang.path.mkdir(mode=0o700)
        try:
            # secrets stay in the pods' own files; the launcher's identity marks an interrupted launch, not a slow one
            kept = spec.without_secrets()
            me = {"pid": os.getpid(), "started": start_time(os.getpid()), "spec": kept.to_json()}
            write_json(gang.launch, me)
            ports = _free_ports(1 + len(spec.servers) + len(spec.workers))
            first, *_ = (self.cluster.place(pod.node).address for pod in spec.workers)
            servers = tuple(
                f"{self.cluster.place(pod.node).address}:{port}"
                for pod, port in zip(spec.servers, ports[1:], strict=False)
            )
            workers = tuple(
                f"{self.cluster.place(pod.node).address}:{port}"
                for pod, port in zip(spec.workers, ports[1 + len(spec.servers) :], strict=True)
            )
            for pod in spec.pods:
                pod_spec = PodSpec.of(
                    spec, pod, master_address=f"{first}:{ports[0]}", server_addresses=servers, worker_addresses=workers
                )
                self._start(gang.pod(pod.role, pod.index), spec, pod, pod_spec)
            for pod in spec.pods:
                _wait_for_shim(gang.pod(pod.role, pod.index))
            write_json(gang.launched, {"at": time.time()})
        except OSError as error:
            self._remove(gang)
            raise LaunchError(f"The pods could not be started: {error}", cause=Cause.LAUNCH_FAILED) from error

    def launch_all(self, specs: Sequence[LaunchSpec]) -> Mapping[AttemptId, LaunchError | BackendUnavailableError]:
        return launch_each(self.launch, specs)

    def stop_all(self, stops: Mapping[AttemptId, float]) -> Mapping[AttemptId, BackendUnavailableError]:
        return stop_each(lambda attempt_id, grace_s: self.stop(attempt_id, grace_s=grace_s), stops)

    def stop(self, attempt_id: AttemptId, *, grace_s: float) -> None:
        gang = self._gang(attempt_id)
        if not gang.path.exists():
            return
        status = self._observed(gang)
        if status.phase.is_ended:
            self._remove(gang)
            return
        try:
            asked = read_json(gang.stop)
            gang.ask_to_stop(grace_s=grace_s, why=StopReason.ASKED if asked is None else asked["why"])
        except DAMAGES as error:
            self._damaged.end(gang, error)

    def observe(self) -> Sequence[AttemptStatus]:
        self._damaged.begin_observation()
        if self.warm is not None:
            self.warm.tend()
        return [self._observed(gang) for gang in self._gangs()]

    def inventory(self) -> Sequence[NodeStatus]:
        nodes: Sequence[NodeStatus] = self.cluster.nodes
        if self.gpus is not None:
            gangs = self._gangs()
            nodes = [self.gpus.status(node, gangs) for node in nodes]
        return [
            replace(node, is_ready=False, message="The node is down.") if self._down_file(node.name).exists() else node
            for node in nodes
        ]

    def logs(self, attempt_id: AttemptId, *, role: PodRole, index: int) -> Iterator[str]:
        with (
            contextlib.suppress(FileNotFoundError),
            self._gang(attempt_id).pod(role, index).output.open(errors="replace") as f,
        ):
            for line in f:
                yield line.rstrip("\n")

    def sweep_checkpoints(self, labels: Mapping[str, str], *, ended: Collection[str], older_than_s: float) -> None:
        """Does nothing: checkpoints are on the platform's own disk, where it deletes them itself."""

    def quarantined(self) -> tuple[QuarantinedItem, ...]:
        return (*self._damaged.items(), *(self.gpus.quarantined() if self.gpus is not None else ()))

    def _gangs(self) -> list[GangFolder]:
        return [GangFolder(path) for path in sorted((self.home / "pods").iterdir()) if path.is_dir()]

    def _gang(self, attempt_id: AttemptId) -> GangFolder:
        return GangFolder(self.home / "pods" / attempt_id)

    def _down_file(self, node: str) -> Path:
        """Its presence takes a virtual node down, with all that runs on it."""
        return self.home / "nodes" / f"{node}.down"

    def _check(self, spec: LaunchSpec) -> None:
        if spec.image:  # of a job that was submitted when this platform was on Kubernetes
            raise LaunchError(
                f"The job brings the image {spec.image}, and pods run in no container here.", cause=Cause.JOB_IMAGE
            )
        for pod in spec.pods:
            node = self.cluster.node(pod.node)
            if node is None or self._down_file(pod.node).exists():
                raise LaunchError(f"Node {pod.node} is not there.", cause=Cause.NODE_LOST)
            if any(not 0 <= slot < node.n_slots for slot in pod.slots):
                raise LaunchError(f"Node {pod.node} has no slots {pod.slots}.", cause=Cause.LAUNCH_FAILED)

    def _observed(self, gang: GangFolder) -> AttemptStatus:
        """The gang's status; a gang whose files are damaged costs itself, and no other gang's observation."""
        if (again := self._damaged.again(gang)) is not None:
            return again
        try:
            return self._status(gang)
        except DAMAGES as error:
            return self._damaged.end(gang, error)

    def _status(self, gang: GangFolder) -> AttemptStatus:
        launch = read_json(gang.launch)
        if launch is None or not gang.launched.exists():
            if launch is None or (launch["pid"] != os.getpid() and not is_alive(launch["pid"], launch["started"])):
                _end_shims(gang)
            return AttemptStatus(
                gang.attempt_id, GangPhase.FAILED, (), Cause.LAUNCH_FAILED, "The launch was interrupted half way."
            )
        return gang_status(gang, LaunchSpec.from_json(launch["spec"]))

    def _remove(self, gang: GangFolder) -> None:
        if gang.path.exists():
            _end_shims(gang)
            _remove_groups(gang)
            remove_tree(gang.path)
        self._damaged.removed(gang)

    def _start(self, folder: PodFolder, spec: LaunchSpec, pod: PodPlacement, pod_spec: PodSpec) -> None:
        work = folder.path / "work"
        work.mkdir(parents=True, mode=0o700)
        (folder.path / "spec.json").write_text(pod_spec.to_json())
        private = (("token", spec.token), ("secret", spec.gang_secret), ("secrets.json", json.dumps(spec.secrets)))
        for name, secret in private:
            (folder.path / name).touch(mode=0o600)
            (folder.path / name).write_text(secret)
        place = self.cluster.place(pod.node)
        argv, environment = self.argv, _environment(folder, spec, pod, pod_spec, interface=place.interface)
        environment[names.CUDA_VISIBLE_DEVICES] = "" if self.gpus is None else self.gpus.visible(pod.node, pod.slots)
        if self.enclose is not None:
            argv, environment = self.enclose(
                spec,
                argv,
                environment,
                folder.path,
                has_node_network=bool(place.enter) or place.interface != "lo",
                devices=[] if self.gpus is None else self.gpus.device_files(pod.node, pod.slots),
            )
        write_json(
            folder.path / "pod.json",
            {
                "argv": [*place.enter, *argv],
                "environment": environment,
                "node": pod.node,
                "memory_bytes": pod.resources.memory_bytes or 2**62,
                "nice": 5,
                "grace_s": ORPHAN_STOP_GRACE_S,
                "lifeline": self.lifeline,
                "lifeline_grace_s": self.lifeline_grace_s,
                "node_down_file": str(self._down_file(pod.node)),
                "control_group": self._planned_group(folder, pod),
                "disk": {"shared": _shared_folders(spec, environment), "most_bytes": self.pod_disk_bytes},
            },
            mode=0o600,
        )
        if self.warm is not None and not place.enter and may_start_warm(spec) and self.warm.take(folder.path):
            return
        with (folder.path / "shim.log").open("ab") as log:
            # -S: the shim needs the standard library only, and starts three times as fast without site-packages
            subprocess.Popen(
                [sys.executable, "-S", str(Path(shim_module.__file__)), str(folder.path)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                env=shim_module.environment(os.environ),
            )

    def _planned_group(self, folder: PodFolder, pod: PodPlacement) -> dict[str, Any] | None:
        memory_bytes = pod.resources.memory_bytes
        if self.plan_group is None or not memory_bytes:
            return None
        name = f"mlhub-pod-{folder.path.parent.name}-{folder.path.name}"
        return self.plan_group(name, memory_bytes=memory_bytes, n_cpus=pod.resources.cpus)


def _environment(
    folder: PodFolder, spec: LaunchSpec, pod: PodPlacement, pod_spec: PodSpec, *, interface: str
) -> dict[str, str]:
    """All that a pod sees: nothing of the platform's own environment leaks through."""
    host, _, port = pod_spec.master_address.rpartition(":")
    variables = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(PROJECT),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder.path / "work"),
        "TMPDIR": str(folder.path / "work"),
        "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": str(max(1, int(pod.resources.cpus))),
        "GLOO_SOCKET_IFNAME": interface,
        "TP_SOCKET_IFNAME": interface,
        names.SPEC_PATH: str(folder.path / "spec.json"),
        names.API_URL: spec.api_url,
        names.TOKEN_PATH: str(folder.path / "token"),
        names.SECRET_PATH: str(folder.path / "secret"),
        names.USER_SECRETS_PATH: str(folder.path / "secrets.json"),
        names.WORK_DIR: str(folder.path / "work"),
        names.CACHE_DIR: str(folder.path.parents[2] / "cache"),
        names.MEMORY_BYTES: str(pod.resources.memory_bytes),
        names.ROLE: pod.role,
        names.INDEX: str(pod.index),
        names.ATTEMPT_ID: spec.attempt_id,
        names.JOB_ID: spec.job_id,
        names.SERVER_ADDRESSES: ",".join(pod_spec.server_addresses),
    }
    if pod.role is PodRole.WORKER:
        variables |= {
            names.RANK: str(pod.index),
            names.LOCAL_RANK: "0",  # it sees its own GPUs only, as if it had a node of its own
            names.WORLD_SIZE: str(pod_spec.n_workers),
            names.MASTER_ADDR: host,
            names.MASTER_PORT: port,
        }
    return variables


def _shared_folders(spec: LaunchSpec, environment: Mapping[str, str]) -> list[str]:
    """What a pod may write to besides its own folder: its job's checkpoints, its project's cache."""
    checkpoints = urlparse(spec.checkpoint_uri)
    of_job = [unquote(checkpoints.path)] if checkpoints.scheme == "file" else []
    return [*of_job, environment[names.CACHE_DIR]]


def _wait_for_shim(folder: PodFolder) -> None:
    """Raises OSError when the pod's process could not be started."""
    until = time.monotonic() + SHIM_START_S
    while not folder.shim.exists():
        if time.monotonic() > until:
            last_line = (folder.path / "shim.log").read_text(errors="replace").strip().rpartition("\n")[2]
            raise OSError(f"{folder.path.name} did not start: {last_line or 'no answer from its shim'}")
        time.sleep(0.02)


def _end_shims(gang: GangFolder) -> None:
    for path in gang.path.glob("*/shim.json"):
        try:
            _end_shim(read_json(path) or {})
        except DAMAGES:
            end_processes(path.parent)


def _remove_groups(gang: GangFolder) -> None:
    """Those of pods whose shim was killed; others are gone already."""
    for path in gang.path.glob("*/pod.json"):
        with contextlib.suppress(*DAMAGES):
            shim_module.remove_group((read_json(path) or {}).get("control_group"))


def _end_shim(shim: Mapping[str, Any]) -> None:
    """shim: what shim.json holds; empty when it is not there. Raises what reading a damaged one may raise."""
    for pid, started in ((shim["pid"], shim["started"]), (shim["child"], shim["child_started"])) if shim else ():
        if is_alive(pid, started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)


def _free_ports(n: int) -> list[int]:
    """Ports that are free now, all different."""
    sockets = [socket.socket() for _ in range(n)]
    try:
        for probe in sockets:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in sockets]
    finally:
        for probe in sockets:
            probe.close()
