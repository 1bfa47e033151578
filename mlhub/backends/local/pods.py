# SPDX-License-Identifier: Apache-2.0
"""The pods of one machine: starts each with a shim of its own, and removes what is left of them.

What gang a pod belongs to, and where its other pods are, is for its callers: the local backend, whose gangs are all
here, and the agent of a machine, which has some pods of each gang.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlparse

from mlhub.backends.local import shim as shim_module
from mlhub.backends.local.cluster import LocalPlace
from mlhub.backends.local.folders import GangFolder, PodFolder, is_alive, read_json, write_json
from mlhub.backends.local.gpus import LocalGpus
from mlhub.backends.local.quarantine import DAMAGES, end_processes
from mlhub.backends.local.warm_pool import WarmPool, may_start_warm
from mlhub.wire import environment as names
from mlhub.wire.launch import LaunchSpec, PodPlacement, PodRole, PodSpec
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


@dataclass
class PodStarter:
    """How pods of this machine start. argv: what a pod runs. lifeline: see docs/decisions/lifeline.md; "" = none.

    lease: the file of an agent's lease, after whose end pods leave; "" = none. enclose: None starts pods with all
    rights of this process. gpus: None = no node has any, and pods see none. plan_group: None leaves their memory to the
    shim's watch. warm: processes that become pods; None starts all cold. pod_disk_bytes: what the files of a pod may
    take of the disk; 0 = as much as it leaves free. orphan_grace_s: how long a pod may take to save that lifeline or
    lease ends.
    """

    argv: Sequence[str] = (sys.executable, "-m", "mlhub.runtime")
    lifeline: str = ""
    lifeline_grace_s: float = LIFELINE_GRACE_S
    lease: str = ""
    enclose: Enclose | None = None
    gpus: LocalGpus | None = None
    plan_group: PlanGroup | None = None
    warm: WarmPool | None = None
    pod_disk_bytes: int = 0
    orphan_grace_s: float = ORPHAN_STOP_GRACE_S

    def start(
        self,
        folder: PodFolder,
        spec: LaunchSpec,
        pod: PodPlacement,
        pod_spec: PodSpec,
        *,
        place: LocalPlace,
        node_down_file: Path,
    ) -> None:
        """Starts a pod; wait_for_shim() says whether it did. node_down_file: ends the pod once it is there.

        Raises OSError.
        """
        work = folder.path / "work"
        work.mkdir(parents=True, mode=0o700)
        (folder.path / "spec.json").write_text(pod_spec.to_json())
        private = (("token", spec.token), ("secret", spec.gang_secret), ("secrets.json", json.dumps(spec.secrets)))
        for name, secret in private:
            (folder.path / name).touch(mode=0o600)
            (folder.path / name).write_text(secret)
        argv, environment = list(self.argv), _environment(folder, spec, pod, pod_spec, interface=place.interface)
        environment[names.CUDA_VISIBLE_DEVICES] = "" if self.gpus is None else self.gpus.visible(pod.node, pod.slots)
        if self.enclose is not None:
            argv, environment = self.enclose(
                spec,
                argv,
                environment,
                folder.path,
                has_node_network=bool(place.enter) or place.interface != "lo" or place.is_shared_network,
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
                "grace_s": self.orphan_grace_s,
                "lifeline": self.lifeline,
                "lifeline_grace_s": self.lifeline_grace_s,
                "lease": self.lease,
                "node_down_file": str(node_down_file),
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


def wait_for_shim(folder: PodFolder) -> None:
    """Raises OSError when the pod's process could not be started."""
    until = time.monotonic() + SHIM_START_S
    while not folder.shim.exists():
        if time.monotonic() > until:
            last_line = (folder.path / "shim.log").read_text(errors="replace").strip().rpartition("\n")[2]
            raise OSError(f"{folder.path.name} did not start: {last_line or 'no answer from its shim'}")
        time.sleep(0.02)


def end_shims(gang: GangFolder) -> None:
    for path in gang.path.glob("*/shim.json"):
        try:
            _end_shim(read_json(path) or {})
        except DAMAGES:
            end_processes(path.parent)


def remove_groups(gang: GangFolder) -> None:
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


def running_gangs(home: Path) -> list[GangFolder]:
    """The gangs of a home folder of which a pod runs here."""
    gangs = [GangFolder(path) for path in sorted((home / "pods").glob("*")) if path.is_dir()]
    return [gang for gang in gangs if any(map(_runs, gang.path.glob("*/shim.json")))]


def _runs(shim: Path) -> bool:
    if (shim.parent / "exit.json").exists():
        return False
    try:
        found = read_json(shim) or {}
        return is_alive(found["pid"], found["started"])
    except DAMAGES:
        return False


def remove_gang(gang: GangFolder) -> None:
    """Kills what is left of its pods here, and removes its folder."""
    if gang.path.exists():
        end_shims(gang)
        remove_groups(gang)
        remove_tree(gang.path)


def free_ports(n: int) -> list[int]:
    """Ports that are free now, all different."""
    sockets = [socket.socket() for _ in range(n)]
    try:
        for probe in sockets:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in sockets]
    finally:
        for probe in sockets:
            probe.close()
