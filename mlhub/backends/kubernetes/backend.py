# SPDX-License-Identifier: Apache-2.0
"""KubernetesBackend: the five verbs over an API server. It remembers nothing that the cluster does not."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

from mlhub.backends.kubernetes import names, paths
from mlhub.backends.kubernetes.api import KubernetesApi
from mlhub.backends.kubernetes.claiming import ClaimRequests
from mlhub.backends.kubernetes.connection import connection
from mlhub.backends.kubernetes.containers import MAIN
from mlhub.backends.kubernetes.errors import ApiError, KubeNotFoundError
from mlhub.backends.kubernetes.gangs import (
    GangState,
    KubePodState,
    Record,
    Stop,
    by_member,
    gang_state,
    is_member,
    is_record,
    vanished,
)
from mlhub.backends.kubernetes.gpus import GpuOffer, gpu_offer
from mlhub.backends.kubernetes.launching import GangLauncher
from mlhub.backends.kubernetes.mirror import Mirror
from mlhub.backends.kubernetes.nodes import lost, node_status, requests_by_node
from mlhub.backends.kubernetes.objects import Object
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.problems import ending, is_running, needs_events, obstacle
from mlhub.backends.kubernetes.removal import Remover
from mlhub.backends.kubernetes.sweeping import Sweeper
from mlhub.backends.protocol import (
    AttemptStatus,
    BackendUnavailableError,
    GangPhase,
    LaunchError,
    NodeStatus,
)
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec, PodRole

logger = logging.getLogger(__name__)
T = TypeVar("T")

OTHERS_EVERY_S = 15.0  # how often other people's pods are counted
LOG_TIMEOUT_S = 3.0  # a node that does not answer must not hold up the round for long
EVENTS_AFTER_S = 8.0  # a pod that has not begun by then is asked why


def _now() -> datetime:
    return datetime.now(UTC)


def _no_limit(labels: Mapping[str, str]) -> int | None:  # noqa: ARG001
    return None


class KubernetesBackend:
    """Any number of instances may work on one cluster; the objects' names keep them from doing a thing twice.

    gpu_limit_of: by a launch's labels, the GPUs that its project may hold; None = no limit. Only a backstop.
    """

    def __init__(
        self,
        api: KubernetesApi,
        options: KubernetesOptions,
        *,
        gpu_limit_of: Callable[[Mapping[str, str]], int | None] = _no_limit,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self.options = options
        self._api, self._now = api, now
        self._records = Mirror(api, paths.SERVICES, selector=paths.OURS)
        self._pods = Mirror(api, paths.PODS, selector=paths.OURS)
        self._nodes = Mirror(api, paths.NODES)
        self._claims = ClaimRequests(api, options)
        mirrors = {"records": self._records, "pods": self._pods}
        self._launcher = GangLauncher(api, options, **mirrors, claims=self._claims, gpu_limit_of=gpu_limit_of)
        self._remover = Remover(api, **mirrors, claims=self._claims)
        self._taken: dict[str, tuple[float, float]] = {}
        self._taken_at: float | None = None

    @classmethod
    def connect(
        cls, options: KubernetesOptions, *, gpu_limit_of: Callable[[Mapping[str, str]], int | None] = _no_limit
    ) -> KubernetesBackend:
        """Sends no request yet: a cluster that cannot be reached is reported by the first verb, and may come later."""
        api = KubernetesApi(lambda: connection(options), timeout_s=options.request_timeout_s)
        return cls(api, options, gpu_limit_of=gpu_limit_of)

    def close(self) -> None:
        for mirror in (self._records, self._pods, self._nodes):
            mirror.close()

    def launch(self, spec: LaunchSpec) -> None:
        gang = names.gang_of(spec, prefix=self.options.namespace_prefix)
        record = self._asked(lambda: self._launcher.find(gang))
        if record is not None and names.LAUNCHED in (record["metadata"].get("annotations") or {}):
            self._records.put(record)
            return
        self._check(spec)
        try:
            self._launcher.make(spec, gang, offers=self._offers(), now=self._now())
        except (LaunchError, BackendUnavailableError):
            # what cannot be removed now is half made, and goes the way of all half-made gangs (observe)
            with contextlib.suppress(BackendUnavailableError, ApiError):
                self._remove(spec.attempt_id)
            raise
        except ApiError as error:
            raise BackendUnavailableError(str(error)) from error

    def stop(self, attempt_id: AttemptId, *, grace_s: float) -> None:
        record, pods = self._find(attempt_id)
        if record is None or names.LAUNCHED not in (record["metadata"].get("annotations") or {}):
            if record is not None or pods:
                self._asked(lambda: self._remove(attempt_id))
            return
        state = self._state(Record.of(record), pods, self._nodes_by_name())
        if state.status.phase.is_ended:
            self._asked(lambda: self._remove(attempt_id))
        else:
            stop = Stop("asked", self._now(), grace_s)
            self._asked(lambda: self._remover.ask_to_stop(record, pods, stop))

    def observe(self) -> Sequence[AttemptStatus]:
        records = [r for r in self._records.objects() if is_record(r) and self._is_ours(r)]
        all_pods = [p for p in self._pods.objects() if is_member(p) and self._is_ours(p)]
        nodes = self._nodes_by_name()
        pods_of: dict[str, list[Object]] = {}
        for pod in all_pods:
            pods_of.setdefault(pod["metadata"]["labels"][names.ATTEMPT], []).append(pod)
        found: list[AttemptStatus] = []
        for raw in records:
            record = Record.of(raw)
            pods = pods_of.pop(record.attempt_id, [])
            if raw["metadata"].get("deletionTimestamp"):
                continue
            status = self._asked(partial(self._look_at, raw, record, pods, nodes))
            if status is not None:
                found.append(status)
        message = "The gang's record is lost; its pods belong to no gang."
        for attempt_id in pods_of:
            found.append(AttemptStatus(AttemptId(attempt_id), GangPhase.FAILED, (), Cause.LAUNCH_FAILED, message))
        return sorted(found, key=lambda status: status.attempt_id)

    def inventory(self) -> Sequence[NodeStatus]:
        taken = self._taken_by_others()
        devices = self._asked(self._claims.devices)
        return [
            node_status(node, self.options, taken=taken.get(name, (0.0, 0.0)), devices=devices.get(name, ()))
            for name, node in sorted(self._nodes_by_name().items())
        ]

    def logs(self, attempt_id: AttemptId, *, role: PodRole, index: int, since: datetime | None = None) -> Iterator[str]:
        _, pods = self._find(attempt_id)
        pod = by_member(pods).get((role, index))
        if pod is None:
            return
        query = {"container": MAIN}
        if since is not None:
            query["sinceTime"] = since.astimezone(UTC).isoformat().replace("+00:00", "Z")
        try:
            text = self._api.text(f"{paths.of(pod, 'Pod')}/log", timeout_s=LOG_TIMEOUT_S, **query)
        except (ApiError, BackendUnavailableError) as error:  # of one node that is away, not of the whole cluster
            logger.info(
                "kubernetes.no_log", extra={"attempt": attempt_id, "role": role, "index": index, "error": error}
            )
            return
        yield from text.splitlines()

    def sweep_checkpoints(self, labels: Mapping[str, str], *, keep: Collection[str], older_than_s: float) -> None:
        sweeper = Sweeper(self._api, self.options)
        self._asked(lambda: sweeper.sweep(labels, keep=keep, older_than_s=older_than_s, now=self._now()))

    def _look_at(
        self, raw: Object, record: Record, pods: list[Object], nodes: Mapping[str, Object]
    ) -> AttemptStatus | None:
        """One gang: shown as it is, and pushed on where something broke off. None: it was half made, and is removed."""
        if record.launched_at is None:
            if self._now() - record.created_at > timedelta(seconds=self.options.half_made_after_s):
                logger.warning("kubernetes.half_made_gang_removed", extra={"attempt": record.attempt_id})
                self._remover.remove(record.namespace, record.name, raw, pods)
                return None
            return self._state(record, pods, nodes, is_complete=False).status
        if record.stop is None:
            for pod in pods:
                self._launcher.release(pod)
        state = self._state(record, pods, nodes)
        live = [p.pod for p in state.pods if p.pod is not None and p.ending is None]
        if state.wanted is not None:
            self._remover.ask_to_stop(raw, live, state.wanted)
        elif record.stop is not None:
            # asked, but the caller did not reach all pods
            rest = [pod for pod in live if not pod["metadata"].get("deletionTimestamp")]
            self._remover.terminate(rest, grace_s=record.stop.grace_s)
        return state.status

    def _state(
        self, record: Record, pods: Sequence[Object], nodes: Mapping[str, Object], *, is_complete: bool = True
    ) -> GangState:
        now = self._now()
        found = by_member(pods)
        states: list[KubePodState] = []
        for member in record.members:
            pod = found.get((member.role, member.index))
            node_lost = lost(nodes.get(member.node), member.node, now=now, after_s=self.options.node_lost_after_s)
            if pod is None:
                end = vanished(member, lost_node=node_lost, now=now) if is_complete else None
                states.append(KubePodState(member, None, end))
                continue
            end = ending(pod, lost_node=node_lost, now=now)
            if end is not None and end.cause is Cause.PREEMPTED and record.stop is None:
                end = replace(end, cause=Cause.KILLED, message="It was asked to leave, and not by MLHub.")
            hindered = None
            if end is None and record.stop is None and not is_running(pod):
                hindered = obstacle(
                    pod,
                    self._events(pod, now),
                    now=now,
                    unschedulable_after_s=self.options.unschedulable_after_s,
                    released_at=record.launched_at,
                )
            states.append(KubePodState(member, pod, end, hindered))
        return gang_state(record, states, now=now)

    def _events(self, pod: Object, now: datetime) -> list[Object]:
        """The pod's events, asked for only when it takes long and its status does not show why."""
        created_at = datetime.fromisoformat(pod["metadata"]["creationTimestamp"].replace("Z", "+00:00"))
        if not needs_events(pod) or (now - created_at).total_seconds() < EVENTS_AFTER_S:
            return []
        selector = f"involvedObject.uid={pod['metadata']['uid']}"
        path = paths.collection("Event", pod["metadata"]["namespace"])
        with contextlib.suppress(ApiError):  # events only explain
            return self._api.list(path, fieldSelector=selector)[0]
        return []

    def _offers(self) -> dict[str, GpuOffer]:
        """By node, of those that have GPUs."""
        devices = self._asked(self._claims.devices)
        found = {n: gpu_offer(node, self.options, devices.get(n, ())) for n, node in self._nodes_by_name().items()}
        return {name: offer for name, offer in found.items() if offer is not None}

    def _check(self, spec: LaunchSpec) -> None:
        """Raises LaunchError when a node of the gang is gone, or has no such slots."""
        nodes = {node.name: node for node in self.inventory()}
        for pod in spec.pods:
            node = nodes.get(pod.node)
            if node is None or not node.is_ready:
                raise LaunchError(f"Node {pod.node} is not there.", cause=Cause.NODE_LOST)
            if any(not 0 <= slot < node.n_slots for slot in pod.slots):
                raise LaunchError(f"Node {pod.node} has no slots {pod.slots}.", cause=Cause.LAUNCH_FAILED)

    def _find(self, attempt_id: AttemptId) -> tuple[Object | None, list[Object]]:
        """Straight from the API: record and pods of one attempt, wherever they are."""
        selector = f"{names.ATTEMPT}={attempt_id}"
        found, pods = self._asked(
            lambda: tuple(self._api.list(path, labelSelector=selector)[0] for path in (paths.SERVICES, paths.PODS))
        )
        records = [record for record in found if is_record(record) and self._is_ours(record)]
        return (records[0] if records else None), [pod for pod in pods if is_member(pod) and self._is_ours(pod)]

    def _is_ours(self, found: Object) -> bool:
        return names.is_of(found, prefix=self.options.namespace_prefix)

    def _remove(self, attempt_id: AttemptId) -> None:
        record, pods = self._find(attempt_id)
        some = record or (pods[0] if pods else None)
        if some is not None:
            self._remover.remove(some["metadata"]["namespace"], names.gang_name(attempt_id), record, pods)

    def _nodes_by_name(self) -> dict[str, Object]:
        return {node["metadata"]["name"]: node for node in self._nodes.objects()}

    def _taken_by_others(self) -> dict[str, tuple[float, float]]:
        """CPUs and bytes by node that pods which are not ours ask for."""
        if self._taken_at is None or time.monotonic() - self._taken_at > OTHERS_EVERY_S:
            others = self._asked(lambda: self._api.list(paths.PODS, labelSelector=paths.NOT_OURS)[0])
            self._taken, self._taken_at = requests_by_node(others), time.monotonic()
        return self._taken

    def _asked(self, question: Callable[[], T]) -> T:
        """The protocol knows two errors; a "no" to what we may ask is the cluster's to mend, and then asked again."""
        try:
            return question()
        except KubeNotFoundError as error:
            raise BackendUnavailableError(f"It went away just now: {error}") from error
        except ApiError as error:
            raise BackendUnavailableError(str(error)) from error
