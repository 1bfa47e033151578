# SPDX-License-Identifier: Apache-2.0
"""LocalBackend: the five verbs over processes of this machine. Any number of instances may share one home folder."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from mlhub.backends.gang_rules import StopReason
from mlhub.backends.local.cluster import LocalCluster
from mlhub.backends.local.folders import GangFolder, is_alive, read_json, start_time, write_json
from mlhub.backends.local.gangs import gang_status
from mlhub.backends.local.gpus import LocalGpus
from mlhub.backends.local.pods import (
    LIFELINE_GRACE_S,
    Enclose,
    PlanGroup,
    PodStarter,
    end_shims,
    free_ports,
    remove_gang,
    wait_for_shim,
)
from mlhub.backends.local.quarantine import DAMAGES, DamagedGangs
from mlhub.backends.local.warm_pool import WarmPool
from mlhub.backends.protocol import (
    AttemptStatus,
    BackendUnavailableError,
    GangPhase,
    LaunchError,
    NodeStatus,
    QuarantinedItem,
    launch_each,
    refusal_of_image,
    stop_each,
)
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec, PodRole, PodSpec


class LocalBackend:
    """home: where gangs' folders lie. argv: what a pod runs. lifeline: see docs/decisions/lifeline.md; "" = none.

    enclose: None starts pods with all rights of this process. gpus: None = no node has any, and pods see none.
    plan_group: None leaves their memory to the shim's watch. warm: processes that become pods; None starts all cold.
    pod_disk_bytes: what the files of a pod may take of the disk; 0 = as much as it leaves free.
    """

    reads_platform_disk = True

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
        self.starter = PodStarter(
            argv=argv,
            lifeline=lifeline,
            lifeline_grace_s=lifeline_grace_s,
            enclose=enclose,
            gpus=gpus,
            plan_group=plan_group,
            warm=warm,
            pod_disk_bytes=pod_disk_bytes,
        )
        self._damaged = DamagedGangs()
        (home / "pods").mkdir(parents=True, exist_ok=True)
        (home / "nodes").mkdir(exist_ok=True)

    def launch(self, spec: LaunchSpec) -> None:
        gang = self._gang(spec.attempt_id)
        if gang.launched.exists():
            return
        self._check(spec)
        if self.starter.gpus is not None and (problem := self.starter.gpus.reserve(spec, self._gangs())):
            raise BackendUnavailableError(problem)
        self._remove(gang)  # half a launch that was interrupted
        gang.path.mkdir(mode=0o700)
        try:
            # secrets stay in the pods' own files; the launcher's identity marks an interrupted launch, not a slow one
            kept = spec.without_secrets()
            me = {"pid": os.getpid(), "started": start_time(os.getpid()), "spec": kept.to_json()}
            write_json(gang.launch, me)
            ports = free_ports(1 + len(spec.servers) + len(spec.workers))
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
                folder, place = gang.pod(pod.role, pod.index), self.cluster.place(pod.node)
                down = self._down_file(pod.node)
                self.starter.start(folder, spec, pod, pod_spec, place=place, node_down_file=down)
            for pod in spec.pods:
                wait_for_shim(gang.pod(pod.role, pod.index))
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
        if self.starter.warm is not None:
            self.starter.warm.tend()
        return [self._observed(gang) for gang in self._gangs()]

    def inventory(self) -> Sequence[NodeStatus]:
        nodes: Sequence[NodeStatus] = self.cluster.nodes
        if self.starter.gpus is not None:
            gangs = self._gangs()
            nodes = [self.starter.gpus.status(node, gangs) for node in nodes]
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
        return (*self._damaged.items(), *(self.starter.gpus.quarantined() if self.starter.gpus is not None else ()))

    def _gangs(self) -> list[GangFolder]:
        return [GangFolder(path) for path in sorted((self.home / "pods").iterdir()) if path.is_dir()]

    def _gang(self, attempt_id: AttemptId) -> GangFolder:
        return GangFolder(self.home / "pods" / attempt_id)

    def _down_file(self, node: str) -> Path:
        """Its presence takes a virtual node down, with all that runs on it."""
        return self.home / "nodes" / f"{node}.down"

    def _check(self, spec: LaunchSpec) -> None:
        if (refusal := refusal_of_image(spec)) is not None:
            raise refusal
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
                end_shims(gang)
            return AttemptStatus(
                gang.attempt_id, GangPhase.FAILED, (), Cause.LAUNCH_FAILED, "The launch was interrupted half way."
            )
        return gang_status(gang, LaunchSpec.from_json(launch["spec"]))

    def _remove(self, gang: GangFolder) -> None:
        remove_gang(gang)
        self._damaged.removed(gang)
