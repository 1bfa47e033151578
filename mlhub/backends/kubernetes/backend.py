# SPDX-License-Identifier: Apache-2.0
"""KubernetesBackend: the protocol's verbs over an API server. It remembers nothing that the cluster does not."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from mlhub.backends.gang_rules import StopReason
from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.client.mirror import Mirror
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.operations.batches import LaunchBatches
from mlhub.backends.kubernetes.operations.claiming import ClaimRequests
from mlhub.backends.kubernetes.operations.launching import GangLauncher
from mlhub.backends.kubernetes.operations.observation import GangObserver
from mlhub.backends.kubernetes.operations.projects import Projects
from mlhub.backends.kubernetes.operations.removal import Remover
from mlhub.backends.kubernetes.operations.sandbox_runs import SandboxRuns
from mlhub.backends.kubernetes.operations.sweeping import Sweeper
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.ownership import attempt_of
from mlhub.backends.kubernetes.quarantine import DAMAGES, Quarantine
from mlhub.backends.kubernetes.specs.containers import MAIN
from mlhub.backends.kubernetes.specs.gpus import Device
from mlhub.backends.kubernetes.status.catalogue import Catalogue, FoundGang, catalogue
from mlhub.backends.kubernetes.status.gangs import Record, Stop, by_member
from mlhub.backends.kubernetes.status.nodes import node_status, requests_by_node
from mlhub.backends.kubernetes.status.pod_events import PodEvents
from mlhub.backends.protocol import (
    AttemptStatus,
    BackendUnavailableError,
    GangPhase,
    ItemKind,
    LaunchError,
    NodeStatus,
    QuarantinedItem,
    SandboxRunStatus,
    SandboxSpec,
    stop_each,
)
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec, PodRole

logger = logging.getLogger(__name__)
T = TypeVar("T")

OTHERS_EVERY_S = 15.0  # how often other people's pods are counted
OTHERS_TOO_OLD_S = 120.0  # how long an earlier count is used where counting fails
LOG_TIMEOUT_S = 3.0  # a node that does not answer must not hold up the round for long


def _now() -> datetime:
    return datetime.now(UTC)


def _no_limit(labels: Mapping[str, str]) -> int | None:  # noqa: ARG001
    return None


class KubernetesBackend:
    """Any number of instances may work on one cluster; the objects' names keep them from doing a thing twice.

    gpu_limit_of: by a launch's labels, the GPUs that its project may hold; None = no limit. Only a backstop.
    """

    reads_platform_disk = True

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
        self._quarantine = Quarantine(lambda: self._now())
        self._records = Mirror(api, paths.SERVICES, selector=paths.OURS)
        self._pods = Mirror(api, paths.PODS, selector=paths.OURS)
        self._nodes = Mirror(api, paths.NODES)
        self._events = PodEvents(api, options, self._quarantine)
        self._claims = ClaimRequests(api, options, namespaces=lambda: self._projects.own())
        self._projects = Projects(
            api,
            options,
            gpu_limit_of=gpu_limit_of,
            has_claims=lambda: bool(self._claims.version()),
            quarantine=self._quarantine,
        )
        mirrors = {"records": self._records, "pods": self._pods}
        self._launcher = GangLauncher(api, options, **mirrors, claims=self._claims)
        self._remover = Remover(api, **mirrors, claims=self._claims)
        self._observer = GangObserver(
            options,
            launcher=self._launcher,
            remover=self._remover,
            now=lambda: self._now(),
            on_refusal=lambda attempt, words: self._quarantine.add("gangs", ItemKind.GANG, attempt, _refused(words)),
        )
        self._batches = LaunchBatches(
            options,
            launcher=self._launcher,
            projects=self._projects,
            remove=self._remove_attempt,
            now=lambda: self._now(),
        )
        self._sandbox_runs = SandboxRuns(
            api,
            options,
            projects=self._projects,
            quarantine=self._quarantine,
            now=lambda: self._now(),
            each=self._batches.each,
        )
        self._taken: dict[str, tuple[float, float]] = {}
        self._taken_at: float | None = None

    @classmethod
    def connect(
        cls, options: KubernetesOptions, *, gpu_limit_of: Callable[[Mapping[str, str]], int | None] = _no_limit
    ) -> KubernetesBackend:
        """Sends no request yet: a cluster that cannot be reached is reported by the first verb, and may come later."""
        api = KubernetesApi(
            lambda: connection(options),
            timeout_s=options.request_timeout_s,
            parallelism=options.launch_parallelism,
        )
        return cls(api, options, gpu_limit_of=gpu_limit_of)

    def close(self) -> None:
        for mirror in self._mirrors():
            mirror.close()
        self._sandbox_runs.close()
        self._batches.close()

    def launch(self, spec: LaunchSpec) -> None:
        for error in self.launch_all([spec]).values():
            raise error

    def launch_all(self, specs: Sequence[LaunchSpec]) -> Mapping[AttemptId, LaunchError | BackendUnavailableError]:
        if not specs:
            return {}
        return self._batches.launch(specs, nodes=self._nodes_by_name(), devices=self._devices())

    def stop(self, attempt_id: AttemptId, *, grace_s: float) -> None:
        with self._refusals_of(attempt_id):
            gang = self._find(attempt_id)
            if gang is None:
                return
            if gang.record is None or not _is_marked(gang.record):
                self._remove(gang)
                return
            try:
                state = self._observer.state(Record.of(gang.record), gang.pods, self._nodes_by_name(), {})
            except DAMAGES:  # observe() shows it as failed
                self._remove(gang)
                return
            if state.status.phase.is_ended:
                self._remove(gang)
            else:
                self._remover.ask_to_stop(gang.record, gang.pods, Stop(StopReason.ASKED, self._now(), grace_s))

    def stop_all(self, stops: Mapping[AttemptId, float]) -> Mapping[AttemptId, BackendUnavailableError]:
        if len(stops) == 1:  # in this thread: what ends it ends the caller
            return stop_each(self._stop, stops)
        failures = self._batches.each(lambda one: stop_each(self._stop, dict([one])), stops.items())
        return {attempt_id: error for failed in failures for attempt_id, error in failed.items()}

    def _stop(self, attempt_id: AttemptId, grace_s: float) -> None:
        self.stop(attempt_id, grace_s=grace_s)

    def observe(self) -> Sequence[AttemptStatus]:
        for mirror in self._mirrors():
            mirror.start()
        found: list[AttemptStatus] = []
        with self._quarantine.renewed("look-alikes"), self._quarantine.renewed("gangs"):
            gangs = self._catalogue(self._records.objects(), self._pods.objects()).gangs
            nodes, events = self._nodes_by_name(), self._events.by_pod()
            self._quarantine.forget("calls", but=gangs)
            for gang in gangs.values():
                status = self._observed(gang, nodes, events)
                if status is not None:
                    found.append(status)
        self._projects.converge()
        return sorted(found, key=lambda status: status.attempt_id)

    def inventory(self) -> Sequence[NodeStatus]:
        taken = self._taken_by_others()
        devices = self._devices()
        found: list[NodeStatus] = []
        with self._quarantine.renewed("nodes"):
            for name, node in sorted(self._nodes_by_name().items()):
                with self._quarantine.guarded("nodes", ItemKind.NODE, name):
                    share, held = taken.get(name, (0.0, 0.0)), devices.get(name, ())
                    found.append(node_status(node, self.options, taken=share, devices=held))
        return found

    def logs(self, attempt_id: AttemptId, *, role: PodRole, index: int) -> Iterator[str]:
        gang = self._find(attempt_id)
        pod = by_member(gang.pods).get((role, index)) if gang is not None else None
        if pod is None:
            return
        try:
            text = self._api.text(f"{paths.of(pod, 'Pod')}/log", timeout_s=LOG_TIMEOUT_S, container=MAIN)
        except (ApiError, BackendUnavailableError) as error:  # of one node that is away, not of the whole cluster
            logger.info(
                "kubernetes.no_log", extra={"attempt": attempt_id, "role": role, "index": index, "error": error}
            )
            return
        yield from text.splitlines()

    def sweep_checkpoints(self, labels: Mapping[str, str], *, ended: Collection[str], older_than_s: float) -> None:
        namespace = names.namespace_of(labels, prefix=self.options.namespace_prefix)
        with self._quarantine.guarded("sweeps", ItemKind.PROJECT, namespace):
            if namespace in self._projects.own():
                Sweeper(self._api, self.options).sweep(
                    namespace, ended=ended, older_than_s=older_than_s, now=self._now()
                )
                self._quarantine.resolve("sweeps", ItemKind.PROJECT, namespace)

    def start_sandbox_runs(self, specs: Sequence[SandboxSpec]) -> Mapping[str, LaunchError | BackendUnavailableError]:
        return self._sandbox_runs.start(specs)

    def observe_sandbox_runs(self) -> Sequence[SandboxRunStatus]:
        return self._sandbox_runs.observe()

    def remove_sandbox_runs(self, run_ids: Sequence[str]) -> None:
        self._sandbox_runs.remove(run_ids)

    def quarantined(self) -> tuple[QuarantinedItem, ...]:
        return self._quarantine.items()

    def _mirrors(self) -> list[Mirror]:
        return [self._records, self._pods, self._nodes, self._events.mirror, *self._projects.mirrors()]

    def _catalogue(self, records: Sequence[Object], pods: Sequence[Object]) -> Catalogue:
        return catalogue(
            records,
            pods,
            installation=self._projects.installation,
            namespaces=self._projects.own(),
            report=lambda kind, name, reason: self._quarantine.add("look-alikes", kind, name, reason),
        )

    def _observed(
        self, gang: FoundGang, nodes: Mapping[str, Object], events: Mapping[str, Sequence[Object]]
    ) -> AttemptStatus | None:
        """A gang of ours that cannot be read has failed by the platform's fault; it costs no other gang."""
        try:
            return self._observer.look_at(gang, nodes, events)
        except DAMAGES as error:
            logger.exception("kubernetes.unreadable", extra={"attempt": gang.attempt_id})
            message = f"The gang's objects in the cluster are damaged ({type(error).__name__}: {error})."
            self._quarantine.add("gangs", ItemKind.GANG, gang.attempt_id, message)
            return AttemptStatus(gang.attempt_id, GangPhase.FAILED, (), Cause.UNKNOWN, message)

    def _find(self, attempt_id: AttemptId) -> FoundGang | None:
        """Record and pods of one attempt: the pods straight from the API, in its namespace where the record is known,
        and wherever they are where it is not, such as right after another process launched it."""
        selector = f"{names.ATTEMPT}={attempt_id}"
        known = [r for r in self._records.objects() if attempt_of(r) == attempt_id]
        gang = self._catalogue(known, ()).gangs.get(attempt_id)
        if gang is not None and gang.record is not None:
            path = paths.collection("Pod", gang.record["metadata"]["namespace"])
            pods = self._asked(lambda: self._api.list(path, labelSelector=selector)[0])
            return self._catalogue([gang.record], pods).gangs.get(attempt_id)
        found, pods = self._asked(
            lambda: tuple(self._api.list(path, labelSelector=selector)[0] for path in (paths.SERVICES, paths.PODS))
        )
        return self._catalogue(found, pods).gangs.get(attempt_id)

    @contextlib.contextmanager
    def _refusals_of(self, attempt_id: AttemptId) -> Iterator[None]:
        """What the cluster refuses is quarantined; the next round asks again."""
        try:
            yield
        except (KubeNotFoundError, KubeConflictError) as error:
            logger.info("kubernetes.changed_meanwhile", extra={"attempt": attempt_id, "error": error})
        except ApiError as error:
            self._quarantine.add("calls", ItemKind.GANG, attempt_id, _refused(str(error)))
        else:
            self._quarantine.resolve("calls", ItemKind.GANG, attempt_id)

    def _remove_attempt(self, attempt_id: AttemptId) -> None:
        gang = self._find(attempt_id)
        if gang is not None:
            self._remove(gang)

    def _remove(self, gang: FoundGang) -> None:
        """Of a gang without its record, only what the cluster's garbage collector has marked, since nothing else
        proves that it is ours."""
        if gang.record is None:
            gang.pods = [pod for pod in gang.pods if pod["metadata"].get("deletionTimestamp")]
            if not gang.pods:
                return
        some = gang.record or gang.pods[0]
        name = names.gang_name(gang.attempt_id)
        self._remover.remove(some["metadata"]["namespace"], name, gang.record, gang.pods)

    def _nodes_by_name(self) -> dict[str, Object]:
        return {node["metadata"]["name"]: node for node in self._nodes.objects()}

    def _devices(self) -> Mapping[str, Sequence[Device]]:
        return self._asked(self._claims.devices)

    def _taken_by_others(self) -> dict[str, tuple[float, float]]:
        """CPUs and bytes by node that pods which are not ours ask for; as they were counted before, when the count of
        this round fails."""
        if self._taken_at is None or time.monotonic() - self._taken_at > OTHERS_EVERY_S:
            try:
                others = self._asked(lambda: self._api.list(paths.PODS, labelSelector=paths.NOT_OURS)[0])
            except BackendUnavailableError as error:
                if self._taken_at is None or time.monotonic() - self._taken_at > OTHERS_TOO_OLD_S:
                    raise
                logger.warning("kubernetes.others_not_counted", extra={"error": error})
                return self._taken
            strangers = self._catalogue(self._records.objects(), self._pods.objects()).strangers
            self._taken, self._taken_at = requests_by_node([*others, *strangers]), time.monotonic()
        return self._taken

    def _asked(self, question: Callable[[], T]) -> T:
        """The protocol knows two errors; a "no" to what we may ask is the cluster's to mend, and then asked again."""
        try:
            return question()
        except ApiError as error:
            raise BackendUnavailableError(str(error)) from error


def _is_marked(record: Object) -> bool:
    return names.LAUNCHED in (record["metadata"].get("annotations") or {})


def _refused(words: str) -> str:
    return f"The cluster refuses a change to this gang: {words}"
