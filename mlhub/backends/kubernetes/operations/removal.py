# SPDX-License-Identifier: Apache-2.0
"""Asks gangs to leave, and removes what they leave behind."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.errors import ApiError, KubeNotFoundError
from mlhub.backends.kubernetes.client.mirror import Mirror
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.operations.claiming import ClaimRequests
from mlhub.backends.kubernetes.status.gangs import Stop


class Remover:
    """records and pods: the mirrors that must see at once what is done here."""

    def __init__(self, api: KubernetesApi, *, records: Mirror, pods: Mirror, claims: ClaimRequests) -> None:
        self._api, self._claims = api, claims
        self._records, self._pods = records, pods

    def ask_to_stop(self, record: Object, pods: Iterable[Object], stop: Stop) -> None:
        """Writes down why, so that it survives us, then has every pod terminated within its time of grace."""
        if names.STOP not in (record["metadata"].get("annotations") or {}):
            change = {"metadata": {"annotations": {names.STOP: stop.to_json()}}}
            with contextlib.suppress(KubeNotFoundError):
                self._records.put(self._api.patch(paths.of(record, "Service"), change))
        self.terminate(pods, grace_s=stop.grace_s)

    def terminate(self, pods: Iterable[Object], *, grace_s: float) -> None:
        """Never 0 seconds: that would forget the pod before its node has ended it."""
        whole_s = max(1, math.ceil(grace_s))
        self._each(pods, lambda pod: self._terminate(pod, whole_s))

    def _terminate(self, pod: Object, grace_s: int) -> None:
        left_s = pod["metadata"].get("deletionGracePeriodSeconds")
        if left_s is not None and left_s <= grace_s:
            return  # on its way already, and at least as soon
        left = self._api.delete(paths.of(pod, "Pod"), grace_s=grace_s)
        if left is None:
            self._pods.drop(pod["metadata"]["uid"])
        elif left.get("kind") == "Pod":
            self._pods.put(left)

    def remove(self, namespace: str, name: str, record: Object | None, pods: Iterable[Object]) -> None:
        """Everything, the record last: whatever breaks in between is seen and removed in the next round."""
        self._each(pods, self._remove_pod)
        for kind in ("NetworkPolicy", "Secret"):
            self._api.delete(paths.one(kind, namespace, name))
        self._claims.release(name, namespace)
        if record is not None:
            self._api.delete(paths.of(record, "Service"))
            self._records.drop(record["metadata"]["uid"])

    def _remove_pod(self, pod: Object) -> None:
        path = paths.of(pod, "Pod")
        if not pod["metadata"].get("deletionTimestamp"):
            self._api.delete(path, grace_s=0)
        with contextlib.suppress(KubeNotFoundError):
            self._api.patch(path, {"metadata": {"finalizers": None}})
        if pod["metadata"].get("deletionTimestamp"):
            self._api.delete(path, grace_s=0)  # of a node that is gone no kubelet will
        self._pods.drop(pod["metadata"]["uid"])

    def _each(self, pods: Iterable[Object], do: Callable[[Object], None]) -> None:
        """One that is refused does not keep the others; the first refusal is raised once all were tried."""
        refused: ApiError | None = None
        for pod in pods:
            try:
                do(pod)
            except ApiError as error:
                refused = refused or error
        if refused is not None:
            raise refused
