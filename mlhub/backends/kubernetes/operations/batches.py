# SPDX-License-Identifier: Apache-2.0
"""Launches many gangs at once: projects' namespaces first, in the caller's thread; then the gangs, in a pool."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import TypeVar

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client.errors import ApiError
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.operations.launching import GangLauncher, NamespaceGoneError, refusal
from mlhub.backends.kubernetes.operations.projects import Projects
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.quarantine import DAMAGES
from mlhub.backends.kubernetes.specs.gpus import Device, GpuOffer, gpu_offer
from mlhub.backends.kubernetes.status.nodes import node_status
from mlhub.backends.protocol import BackendUnavailableError, LaunchError
from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec

S = TypeVar("S")
T = TypeVar("T")
LaunchFailure = LaunchError | BackendUnavailableError
Nodes = Mapping[str, Object]
Devices = Mapping[str, Sequence[Device]]


class LaunchBatches:
    """remove: of a gang that failed half way, what was made. Threads are started with the first launch."""

    def __init__(
        self,
        options: KubernetesOptions,
        *,
        launcher: GangLauncher,
        projects: Projects,
        remove: Callable[[AttemptId], None],
        now: Callable[[], datetime],
    ) -> None:
        self._options, self._launcher, self._projects = options, launcher, projects
        self._remove, self._now = remove, now
        self._gangs = ThreadPoolExecutor(options.launch_parallelism, thread_name_prefix="launch")
        self._pods = ThreadPoolExecutor(options.launch_parallelism, thread_name_prefix="launch-pods")

    def close(self) -> None:
        for pool in (self._gangs, self._pods):
            pool.shutdown(wait=False, cancel_futures=True)

    def each(self, do: Callable[[S], T], items: Iterable[S]) -> Iterable[T]:
        """As the built-in map, several at once."""
        return self._gangs.map(do, items)

    def launch(self, specs: Sequence[LaunchSpec], *, nodes: Nodes, devices: Devices) -> dict[AttemptId, LaunchFailure]:
        """Those that failed, and why."""
        offers = self._offers(specs, nodes, devices)
        failed: dict[AttemptId, LaunchFailure] = {}
        ready: list[LaunchSpec] = []
        prepared = self._prepared(specs)
        for spec in specs:
            failure = prepared[self._namespace_of(spec)] or self._check(spec, nodes, devices)
            if failure is None:
                ready.append(spec)
            else:
                failed[spec.attempt_id] = failure
        homeless: list[LaunchSpec] = []
        for spec, outcome in zip(ready, self._launched(ready, offers), strict=True):
            if isinstance(outcome, NamespaceGoneError):
                homeless.append(spec)
            elif outcome is not None:
                failed[spec.attempt_id] = outcome
        for spec in homeless:  # few: of a namespace that was removed a moment ago
            again = self._prepare(spec, is_gone=True) or self._launch_one(spec, offers)
            if again is not None:
                failed[spec.attempt_id] = (
                    BackendUnavailableError(str(again)) if isinstance(again, NamespaceGoneError) else again
                )
        return failed

    def _launched(
        self, specs: Sequence[LaunchSpec], offers: Mapping[str, GpuOffer]
    ) -> Sequence[LaunchFailure | NamespaceGoneError | None]:
        if len(specs) == 1:  # in this thread: what ends it ends the caller
            return [self._launch_one(specs[0], offers)]
        return list(self._gangs.map(lambda spec: self._launch_one(spec, offers), specs))

    def _launch_one(
        self, spec: LaunchSpec, offers: Mapping[str, GpuOffer]
    ) -> LaunchFailure | NamespaceGoneError | None:
        gang = names.gang_of(spec, prefix=self._options.namespace_prefix, installation=self._options.installation_id)
        each = self._pods.map if len(spec.pods) > 1 else map
        try:
            self._launcher.make(spec, gang, offers=offers, now=self._now, each=each)
        except NamespaceGoneError as error:
            return error
        except (LaunchError, BackendUnavailableError) as error:
            # what cannot be removed now is half made, and goes the way of all half-made gangs (observe)
            with contextlib.suppress(BackendUnavailableError, ApiError):
                self._remove(spec.attempt_id)
            return error
        return None

    def _namespace_of(self, spec: LaunchSpec) -> str:
        return names.namespace_of(spec.labels, prefix=self._options.namespace_prefix)

    def _prepared(self, specs: Sequence[LaunchSpec]) -> dict[str, LaunchFailure | None]:
        """Of each namespace, why it cannot be had; None = it is as it should be."""
        first = {self._namespace_of(spec): spec for spec in reversed(specs)}
        for spec in first.values():
            self._projects.learn_limit(spec.labels)
        outcomes = (
            map(self._prepare, first.values()) if len(first) == 1 else self._gangs.map(self._prepare, first.values())
        )
        return dict(zip(first, outcomes, strict=True))

    def _prepare(self, spec: LaunchSpec, *, is_gone: bool = False) -> LaunchFailure | None:
        try:
            self._projects.ensure(spec.labels, spec.api_url, is_gone=is_gone)
        except (LaunchError, BackendUnavailableError) as error:
            return error
        except ApiError as error:
            return refusal(error)
        return None

    def _check(self, spec: LaunchSpec, nodes: Nodes, devices: Devices) -> LaunchError | None:
        """Why the gang cannot be placed: a node of it is gone, or has no such slots."""
        for pod in spec.pods:
            try:
                node = nodes.get(pod.node)
                found = node_status(node, self._options, devices=devices.get(pod.node, ())) if node else None
            except DAMAGES as error:
                return LaunchError(f"Node {pod.node} cannot be read: {error}", cause=Cause.NODE_LOST)
            if found is None or not found.is_ready:
                return LaunchError(f"Node {pod.node} is not there.", cause=Cause.NODE_LOST)
            if any(not 0 <= slot < found.n_slots for slot in pod.slots):
                return LaunchError(f"Node {pod.node} has no slots {pod.slots}.", cause=Cause.LAUNCH_FAILED)
        return None

    def _offers(self, specs: Sequence[LaunchSpec], nodes: Nodes, devices: Devices) -> dict[str, GpuOffer]:
        """By node, of those that the gangs go to and that have GPUs."""
        found: dict[str, GpuOffer] = {}
        for name in {pod.node for spec in specs for pod in spec.pods} & nodes.keys():
            with contextlib.suppress(*DAMAGES):  # _check reports it
                offer = gpu_offer(nodes[name], self._options, devices.get(name, ()))
                if offer is not None:
                    found[name] = offer
        return found
