# SPDX-License-Identifier: Apache-2.0
"""Makes a gang's objects, all or none: record first, pods gated, everything marked and released once it is complete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Protocol, TypeVar

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.client.mirror import Mirror
from mlhub.backends.kubernetes.client.objects import Manifest, Object
from mlhub.backends.kubernetes.names import GangNames
from mlhub.backends.kubernetes.operations.claiming import ClaimRequests
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.ownership import KubeInstallation, address_of
from mlhub.backends.kubernetes.specs import manifests
from mlhub.backends.kubernetes.specs.gpus import GpuOffer
from mlhub.backends.kubernetes.status.problems import StartProblem
from mlhub.backends.protocol import BackendUnavailableError, LaunchError
from mlhub.wire.exits import Cause
from mlhub.wire.images import is_allowed_image
from mlhub.wire.launch import LaunchSpec

T = TypeVar("T")
S = TypeVar("S")


class Each(Protocol):
    """As the built-in map: one after the other, or several at once."""

    def __call__(self, do: Callable[[S], T], items: Iterable[S], /) -> Iterable[T]: ...


class NamespaceGoneError(Exception):
    """The project's namespace is not there any more."""


class GangLauncher:
    """records and pods: the mirrors that must see at once what is made here."""

    def __init__(
        self, api: KubernetesApi, options: KubernetesOptions, *, records: Mirror, pods: Mirror, claims: ClaimRequests
    ) -> None:
        self._api, self._options = api, options
        self._records, self._pods, self._claims = records, pods, claims
        self._installation = KubeInstallation(options.installation_id, options.namespace_prefix)

    def make(
        self,
        spec: LaunchSpec,
        gang: GangNames,
        *,
        offers: Mapping[str, GpuOffer],
        now: Callable[[], datetime],
        each: Each = map,
    ) -> None:
        """1. the record; 2. what pods need; 3. pods, gated; 4. mark; 5. release. The project's namespace is there.

        offers: the GPUs of nodes that have some. each: how the gang's pods are made and released.

        A repeat goes on where an earlier one broke off; of a gang that was marked, nothing is made again.
        Raises LaunchError, BackendUnavailableError, NamespaceGoneError.
        """
        if spec.image and not is_allowed_image(spec.image, self._options.allowed_images):
            raise LaunchError(
                f"The image {spec.image} is not allowed here (any more): MLHUB_KUBE_IMAGES does not name it.",
                cause=Cause.JOB_IMAGE,
            )
        try:
            record = self._record(manifests.record(spec, gang), gang)
            if names.LAUNCHED in (record["metadata"].get("annotations") or {}):
                return
            for manifest in (
                manifests.secret(spec, gang, self._options),
                manifests.network_policy(spec, gang),
            ):
                self._create(manifests.owned_by(manifest, record))
            held = self._claims.take(spec, gang, record, offers)
            wanted = [
                manifests.pod(spec, p, gang, self._options, offer=offers.get(p.node), claims=held) for p in spec.pods
            ]
            pods = list(each(lambda one: self._member(manifests.owned_by(one, record), record), wanted))
            marked = self._api.patch(paths.of(record, "Service"), _annotations({names.LAUNCHED: now().isoformat()}))
            self._records.put(marked)
            for _ in each(self.release, pods):
                pass
        except KubeNotFoundError as error:
            raise NamespaceGoneError(str(error)) from error
        except ApiError as error:
            raise refusal(error) from error

    def release(self, pod: Object) -> None:
        """Lets the cluster's scheduler see the pod. Of one that has been released already nothing changes."""
        if pod["spec"].get("schedulingGates"):
            try:
                self._pods.put(self._api.patch(paths.of(pod, "Pod"), {"spec": {"schedulingGates": None}}))
            except KubeNotFoundError:
                self._pods.drop(pod["metadata"]["uid"])

    def _record(self, wanted: Manifest, gang: GangNames) -> Object:
        record = self._create(wanted) or self._api.get(paths.of(wanted, "Service"))
        fault = self._installation.record_fault(record, {gang.namespace})
        if fault:
            raise LaunchError(f"The Service {address_of(record)} is in the way: {fault}.", cause=Cause.LAUNCH_FAILED)
        if record["metadata"].get("deletionTimestamp"):
            raise BackendUnavailableError("The gang's remains are just being removed.")
        self._records.put(record)
        return record

    def _member(self, wanted: Manifest, record: Object) -> Object:
        pod = self._create(wanted) or self._api.get(paths.of(wanted, "Pod"))
        fault = self._installation.pod_fault(pod, {record["metadata"]["namespace"]}, record=record)
        if fault and pod["metadata"].get("deletionTimestamp"):
            raise BackendUnavailableError("The gang's remains are just being removed.")
        if fault:
            raise LaunchError(f"The pod {address_of(pod)} is in the way: {fault}.", cause=Cause.LAUNCH_FAILED)
        self._pods.put(pod)
        return pod

    def _create(self, manifest: Manifest) -> Object | None:
        """None when it is there already: made by an earlier try, or by another client."""
        try:
            return self._api.create(paths.collection_of(manifest), manifest)
        except KubeConflictError as error:
            if error.is_race:
                raise
            return None


def refusal(error: ApiError) -> LaunchError | BackendUnavailableError:
    """What a refused request means for a gang's launch: its end, with the server's words, or another try later.

    Another try: where MLHub itself lacks a right, which is no gang's fault, and where the cluster is just changing.
    """
    if error.is_policy:
        return LaunchError(f"The cluster's policy refuses the gang: {error}", cause=Cause.LAUNCH_FAILED)
    if error.is_quota:
        return LaunchError(f"{StartProblem.QUOTA}: {error}", cause=Cause.QUOTA)
    if error.is_right:
        return BackendUnavailableError(f"A right is missing (see the chart's ClusterRole). {error}")
    if error.is_passing or (isinstance(error, KubeConflictError) and error.is_race):
        return BackendUnavailableError(str(error))
    return LaunchError(f"The cluster does not accept the gang: {error}", cause=Cause.LAUNCH_FAILED)


def _annotations(values: dict[str, str]) -> Object:
    return {"metadata": {"annotations": values}}
