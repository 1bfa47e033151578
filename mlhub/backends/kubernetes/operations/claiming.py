# SPDX-License-Identifier: Apache-2.0
"""Takes and releases the claims that jobs hold GPUs by, where the cluster has dynamic resource allocation."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.names import GangNames
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs import claims
from mlhub.backends.kubernetes.specs.gpus import Device, GpuOffer, Way
from mlhub.backends.protocol import BackendUnavailableError, LaunchError
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec
from mlhub.wire.words import counted

logger = logging.getLogger(__name__)
Slot = tuple[str, int]  # node, index

ASKED_AGAIN_S = 300.0  # whether the API server serves claims
DEVICES_EVERY_S = 15.0
N_TRIES = 5  # of a change that another client's precedes


class ClaimRequests:
    """Makes and removes ResourceClaims; sends no request where the API server does not serve them."""

    def __init__(
        self, api: KubernetesApi, options: KubernetesOptions, *, namespaces: Callable[[], Collection[str]] = frozenset
    ) -> None:
        """namespaces: names of those that are this installation's; claims elsewhere are not its own."""
        self._api, self._options, self._namespaces = api, options, namespaces
        self._version, self._asked_at = "", float("-inf")
        self._devices: dict[str, list[Device]] = {}
        self._listed_at = float("-inf")

    def version(self) -> str:
        """Of the API that is spoken; "" where there is none."""
        if time.monotonic() - self._asked_at > ASKED_AGAIN_S:
            try:
                served = [v["version"] for v in self._api.get(claims.GROUP).get("versions") or []]
            except ApiError:
                served = []
            self._version, self._asked_at = claims.best_version(served), time.monotonic()
        return self._version

    def devices(self) -> Mapping[str, Sequence[Device]]:
        """Whole GPUs by node, as their driver lists them."""
        if self.version() and time.monotonic() - self._listed_at > DEVICES_EVERY_S:
            try:
                slices, _ = self._api.list(f"{claims.GROUP}/{self.version()}/resourceslices")
            except ApiError as error:
                logger.warning("kubernetes.no_resource_slices", extra={"error": error})
                slices = []
            except BackendUnavailableError as error:
                if not self._devices:
                    raise
                logger.warning("kubernetes.no_resource_slices", extra={"error": error})
                return self._devices  # as they were listed before
            sound = [found for found in slices if claims.is_readable(found, self._options.gpu_device_class)]
            self._devices = claims.devices_by_node(sound, self._options.gpu_device_class)
            self._listed_at = time.monotonic()
        return self._devices

    def take(
        self, spec: LaunchSpec, gang: GangNames, record: Object, offers: Mapping[str, GpuOffer]
    ) -> dict[Slot, str]:
        """The names of the claims for the gang's slots, each made or joined. Again: the same ones.

        Raises LaunchError where another project, or as many jobs as may, hold one of them.
        """
        wanted = [
            (pod.node, slot)
            for pod in spec.pods
            for slot in pod.slots
            if pod.node in offers and offers[pod.node].way is Way.CLAIMED
        ]
        found = self._with_slots([claims.slot_key(*slot) for slot in wanted]) if wanted else {}
        return {slot: self._one(slot, found.get(claims.slot_key(*slot), []), gang, record) for slot in wanted}

    def release(self, gang_name: str, namespace: str) -> None:
        """The gang holds none of its claims any more; those that no gang holds then are removed."""
        if not self.version():
            return
        path = self._collection(namespace)
        for found in self._api.list(path, labelSelector=names.SLOT)[0]:
            is_held = any(owner["name"] == gang_name for owner in claims.owners_of(found))
            if is_held and claims.is_of(found, self._options):
                self._leave(f"{path}/{found['metadata']['name']}", gang_name, found)

    def _one(self, slot: Slot, found: Sequence[Object], gang: GangNames, record: Object) -> str:
        there = [c for c in found if claims.is_joinable(c)]
        if any(c["metadata"]["namespace"] != gang.namespace for c in there):
            raise LaunchError(
                f"GPU {slot[1]} of node {slot[0]} is held by a job of another project; GPUs are shared here by "
                "ResourceClaims, which belong to one project.",
                cause=Cause.UNSCHEDULABLE,
            )
        if there:
            return self._join(there[0], slot, record)
        made = claims.claim(record, gang, *slot, self._options, version=self.version())
        try:
            self._api.create(self._collection(gang.namespace), made)
        except KubeConflictError as error:  # made by an earlier try of this launch, and on its way out by now
            raise BackendUnavailableError(f"The gang's remains are just being removed: {error}") from error
        return str(made["metadata"]["name"])

    def _join(self, found: Object, slot: Slot, record: Object) -> str:
        name = str(found["metadata"]["name"])
        path = f"{self._collection(found['metadata']['namespace'])}/{name}"
        mine = claims.reference(record)
        for _ in range(N_TRIES):
            owners = claims.owners_of(found)
            if not claims.is_joinable(found):
                raise BackendUnavailableError(f"The claim {name} is just being removed.")
            if any(owner["uid"] == mine["uid"] for owner in owners):
                return name
            if len(owners) >= self._options.max_jobs_per_gpu:
                raise LaunchError(
                    f"GPU {slot[1]} of node {slot[0]} is held by {counted(len(owners), 'job')} already.",
                    cause=Cause.UNSCHEDULABLE,
                )
            try:
                self._api.patch(path, _owners([*owners, mine], found))
            except KubeConflictError:
                found = self._api.get(path)
            except KubeNotFoundError as error:
                raise BackendUnavailableError(f"The GPU was just given back: {error}") from error
            else:
                return name
        raise BackendUnavailableError(f"The claim {name} is changed by others again and again.")

    def _leave(self, path: str, gang_name: str, found: Object) -> None:
        for _ in range(N_TRIES):
            left = [owner for owner in claims.owners_of(found) if owner["name"] != gang_name]
            try:
                if left:
                    self._api.patch(path, _owners(left, found))
                else:
                    self._api.delete(path, seen=found)
                return
            except KubeConflictError:
                with contextlib.suppress(KubeNotFoundError):
                    found = self._api.get(path)
            except KubeNotFoundError:
                return
        raise BackendUnavailableError(f"The claim {path} is changed by others again and again.")

    def _with_slots(self, keys: Sequence[str]) -> dict[str, list[Object]]:
        selector = f"{names.SLOT} in ({','.join(sorted(keys))})"
        found, _ = self._api.list(f"{claims.GROUP}/{self.version()}/resourceclaims", labelSelector=selector)
        by_key: dict[str, list[Object]] = {}
        own = self._namespaces()
        for one in (c for c in found if c["metadata"]["namespace"] in own and claims.is_of(c, self._options)):
            by_key.setdefault(one["metadata"]["labels"][names.SLOT], []).append(one)
        return by_key

    def _collection(self, namespace: str) -> str:
        return f"{claims.GROUP}/{self.version()}/namespaces/{namespace}/resourceclaims"


def _owners(owners: list[Object], seen: Object) -> Object:
    """A change that holds only if the claim has not changed since it was seen."""
    return {"metadata": {"ownerReferences": owners, "resourceVersion": seen["metadata"]["resourceVersion"]}}
