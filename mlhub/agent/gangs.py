# SPDX-License-Identifier: Apache-2.0
"""This machine's share of each gang: ports and GPUs reserved, pods started, observed and ended as the orders say.

All that must outlive the agent is on disk, as the local backend has it; a reservation that is lost is made again.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from mlhub.backends.agents.backend import ports_needed
from mlhub.backends.agents.messages import MAX_OUTPUT, GangOrder, GangReport, Orders, PodEnd, PodReport
from mlhub.backends.gang_rules import StopReason
from mlhub.backends.local.cluster import LocalPlace
from mlhub.backends.local.folders import GangFolder, PodFolder, read_json, start_time, write_json
from mlhub.backends.local.gangs import pod_state
from mlhub.backends.local.pods import PodStarter, remove_gang, wait_for_shim
from mlhub.backends.local.quarantine import DAMAGES, end_processes
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec, PodPlacement, PodSpec

logger = logging.getLogger(__name__)


@dataclass
class _Reservation:
    ports: tuple[int, ...]
    sockets: list[socket.socket] = field(default_factory=list)  # bound, so that no other program gets the ports

    def let_go(self) -> None:
        for held in self.sockets:
            held.close()
        self.sockets = []


@dataclass(frozen=True)
class _Failure:
    problem: str
    cause: str = ""
    is_final: bool = False


class MachineGangs:
    """home: of the agent. name: of its node. place: of pods whose gang is on several machines. server: the platform's
    address as this machine reaches it."""

    def __init__(self, home: Path, *, name: str, starter: PodStarter, place: LocalPlace, server: str) -> None:
        self.home, self.name, self.starter, self.place, self.server = home, name, starter, place, server
        self._reserved: dict[str, _Reservation] = {}
        self._failed: dict[str, _Failure] = {}
        self._stops: dict[str, float] = {}  # by gang, until when it was last asked to be gone, by time.monotonic()
        self._ended: dict[tuple[str, str], PodReport] = {}  # by gang and pod: how one ended is never another story
        (home / "pods").mkdir(parents=True, exist_ok=True)

    def folders(self) -> list[GangFolder]:
        return [GangFolder(path) for path in sorted((self.home / "pods").iterdir()) if path.is_dir()]

    def follow(self, orders: Orders) -> None:
        """Brings the machine to what the orders say. What one gang fails with costs that gang alone."""
        wanted = {order.attempt_id for order in orders.gangs}
        for gang in self.folders():
            if gang.attempt_id not in wanted:
                logger.info("gang.removed attempt=%s", gang.attempt_id)
                remove_gang(gang)
        known = {*self._reserved, *self._failed, *self._stops, *(attempt_id for attempt_id, _ in self._ended)}
        for attempt_id in known - wanted:
            self._forget(attempt_id)
        for order in orders.gangs:
            try:
                self._follow(order, orders)
            except DAMAGES as error:
                self._fail(order.attempt_id, error)

    def reports(self) -> tuple[GangReport, ...]:
        """What became of each gang here."""
        found = [self._report(gang) for gang in self.folders() if gang.launched.exists()]
        there = {report.attempt_id for report in found}
        for attempt_id in sorted({*self._reserved, *self._failed} - there):
            failure = self._failed.get(attempt_id, _Failure(""))
            reserved = self._reserved.get(attempt_id, _Reservation(()))
            found.append(
                GangReport(
                    attempt_id,
                    ports=reserved.ports,
                    problem=failure.problem,
                    cause=failure.cause,
                    is_final=failure.is_final,
                )
            )
        return tuple(found)

    def projects(self) -> set[str]:
        """Of all gangs that are here, whether they run or not."""
        found = set()
        for gang in self.folders():
            try:
                labels = LaunchSpec.from_json((read_json(gang.launch) or {})["spec"]).labels
                found.add(labels.get("project_id", ""))
            except DAMAGES:
                continue  # its processes were ended
        return found

    def n_running(self) -> int:
        return sum(any(pod.end is None for pod in report.pods) for report in self.reports())

    def _follow(self, order: GangOrder, orders: Orders) -> None:
        attempt_id, gang = order.attempt_id, self._folder(order.attempt_id)
        if attempt_id in self._failed:
            return
        has_launched = gang.launched.exists()
        if not has_launched and not order.spec:
            message = f"The attempt's files are gone from {self.name}."
            self._failed[attempt_id] = _Failure(message, Cause.NODE_LOST, is_final=True)
            return
        if not has_launched and order.stop is None:
            spec = LaunchSpec.from_json(order.spec)
            if order.addresses is None:
                self._reserve(spec)
            else:
                self._launch(_as_reached(_complete(spec, order), orders.public_url, self.server), order)
        elif not has_launched:  # stopped before it began
            self._failed[attempt_id] = _Failure("It was stopped before it started.", Cause.PREEMPTED, is_final=True)
        if order.stop is not None and gang.path.exists():
            until = time.monotonic() + order.stop.remaining_s
            # repeated orders differ by what the request took: only an earlier deadline is a new one
            if until < self._stops.get(attempt_id, float("inf")) - 1:
                self._stops[attempt_id] = until
                gang.ask_to_stop(grace_s=order.stop.remaining_s, why=order.stop.why)

    def _reserve(self, spec: LaunchSpec) -> None:
        if spec.attempt_id in self._reserved:
            return
        gpus = self.starter.gpus
        if gpus is not None and (problem := gpus.reserve(spec, self.folders())):
            self._failed[spec.attempt_id] = _Failure(problem)
            return
        is_alone = len({pod.node for pod in spec.pods}) == 1
        held = [socket.socket() for _ in range(ports_needed(spec, self.name))]
        for one in held:
            one.bind(("127.0.0.1" if is_alone else "", 0))
        self._reserved[spec.attempt_id] = _Reservation(tuple(int(one.getsockname()[1]) for one in held), held)

    def _launch(self, spec: LaunchSpec, order: GangOrder) -> None:
        assert order.addresses is not None
        gang = self._folder(spec.attempt_id)
        remove_gang(gang)  # half a launch that was interrupted
        if (reserved := self._reserved.get(spec.attempt_id)) is not None:
            reserved.let_go()
        gang.path.mkdir(mode=0o700)
        me = {"pid": os.getpid(), "started": start_time(os.getpid()), "spec": spec.without_secrets().to_json()}
        write_json(gang.launch, me)
        is_alone = len({pod.node for pod in spec.pods}) == 1
        place = LocalPlace() if is_alone else self.place
        for pod in self._mine(spec):
            pod_spec = PodSpec.of(
                spec,
                pod,
                master_address=order.addresses["master"],
                server_addresses=tuple(order.addresses["servers"]),
                worker_addresses=tuple(order.addresses["workers"]),
            )
            folder, down = gang.pod(pod.role, pod.index), self.home / "nodes" / f"{pod.node}.down"
            self.starter.start(folder, spec, pod, pod_spec, place=place, node_down_file=down)
        for pod in self._mine(spec):
            wait_for_shim(gang.pod(pod.role, pod.index))
        write_json(gang.launched, {"at": time.time()})
        logger.info(
            "gang.launched attempt=%s job=%s pods=%d",
            spec.attempt_id,
            spec.labels.get("job", ""),
            len(self._mine(spec)),
        )

    def _report(self, gang: GangFolder) -> GangReport:
        reserved = self._reserved.get(gang.attempt_id)
        ports = reserved.ports if reserved is not None else ()
        failure = self._failed.get(gang.attempt_id)
        if failure is None:
            try:
                launch = read_json(gang.launch)
                spec = LaunchSpec.from_json((launch or {})["spec"])
                pods = tuple(self._pod_report(gang, pod) for pod in self._mine(spec))
                return GangReport(gang.attempt_id, ports, has_launched=True, pods=pods)
            except DAMAGES as error:
                failure = self._fail(gang.attempt_id, error)
        return GangReport(gang.attempt_id, ports, True, failure.problem, failure.cause, failure.is_final)

    def _pod_report(self, gang: GangFolder, pod: PodPlacement) -> PodReport:
        folder = gang.pod(pod.role, pod.index)
        key = (gang.attempt_id, folder.path.name)
        if (known := self._ended.get(key)) is None:
            known = _pod_report(gang, folder, pod)
            if known.end is not None:
                self._ended[key] = known
        return known

    def _fail(self, attempt_id: str, error: Exception) -> _Failure:
        """Ends what is left of the gang here; its folder stays until the orders no longer name it."""
        gang = self._folder(attempt_id)
        end_processes(gang.path)
        problem = f"The pods could not be started, or their files are damaged: {type(error).__name__}: {error}"[:500]
        logger.error("gang.failed attempt=%s %s", attempt_id, problem)
        self._failed[attempt_id] = failure = _Failure(problem, Cause.LAUNCH_FAILED, is_final=True)
        return failure

    def _forget(self, attempt_id: str) -> None:
        if (reserved := self._reserved.pop(attempt_id, None)) is not None:
            reserved.let_go()
        self._failed.pop(attempt_id, None)
        self._stops.pop(attempt_id, None)
        self._ended = {key: pod for key, pod in self._ended.items() if key[0] != attempt_id}

    def _mine(self, spec: LaunchSpec) -> Sequence[PodPlacement]:
        return [pod for pod in spec.pods if pod.node == self.name]

    def _folder(self, attempt_id: str) -> GangFolder:
        if not attempt_id or "/" in attempt_id or attempt_id.startswith("."):
            raise ValueError(f"{attempt_id!r} is no id of an attempt")
        return GangFolder(self.home / "pods" / attempt_id)


def _complete(spec: LaunchSpec, order: GangOrder) -> LaunchSpec:
    secrets = order.secrets
    return replace(spec, token=secrets["token"], gang_secret=secrets["gang_secret"], secrets=secrets["secrets"])


def _as_reached(spec: LaunchSpec, public_url: str, server: str) -> LaunchSpec:
    """Its pods speak to the platform at the address at which this machine reaches it."""

    def moved(address: str) -> str:
        is_platform = address == public_url or address.startswith(f"{public_url}/")
        return server + address[len(public_url) :] if is_platform else address

    return replace(
        spec,
        api_url=moved(spec.api_url),
        inputs=tuple(replace(item, uri=moved(item.uri)) for item in spec.inputs),
        variables={name: moved(value) for name, value in spec.variables.items()},
    )


def _pod_report(gang: GangFolder, folder: PodFolder, pod: PodPlacement) -> PodReport:
    state = pod_state(folder, pod)
    end = None
    if (ending := state.ending) is not None:
        at, output = ending.at.timestamp(), _last_output(folder)
        asked = (read_json(gang.stop) or {}).get("why") == StopReason.ASKED  # also by the platform as it ends
        was_asked = asked or bool((read_json(folder.exit) or {}).get("was_asked"))
        end = PodEnd(ending.code, ending.cause or "", ending.message, at, output, was_asked)
    return PodReport(pod.role, pod.index, state.has_started, end)


def _last_output(folder: PodFolder) -> str:
    with contextlib.suppress(OSError), folder.output.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - MAX_OUTPUT))
        return file.read().decode(errors="replace")[-MAX_OUTPUT:]
    return ""
