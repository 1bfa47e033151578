# SPDX-License-Identifier: Apache-2.0
"""Makes a gang's objects, all or none: record first, pods gated, everything marked and released once it is complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from mlhub.backends.kubernetes import manifests, names, paths, tenancy
from mlhub.backends.kubernetes.api import KubernetesApi
from mlhub.backends.kubernetes.claiming import ClaimRequests
from mlhub.backends.kubernetes.errors import ApiError, ForbiddenError, KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.gpus import GpuOffer
from mlhub.backends.kubernetes.mirror import Mirror
from mlhub.backends.kubernetes.names import GangNames
from mlhub.backends.kubernetes.objects import Object
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.problems import StartProblem
from mlhub.backends.protocol import BackendUnavailableError, LaunchError
from mlhub.wire.exits import Cause
from mlhub.wire.launch import LaunchSpec


class GangLauncher:
    """records and pods: the mirrors that must see at once what is made here. gpu_limit_of: see backend.py."""

    def __init__(
        self,
        api: KubernetesApi,
        options: KubernetesOptions,
        *,
        records: Mirror,
        pods: Mirror,
        claims: ClaimRequests,
        gpu_limit_of: Callable[[Mapping[str, str]], int | None],
    ) -> None:
        self._api, self._options = api, options
        self._records, self._pods, self._claims = records, pods, claims
        self._gpu_limit_of = gpu_limit_of
        self._limits: dict[str, int | None] = {}  # by namespace that is known to be sound

    def find(self, gang: GangNames) -> Object | None:
        """The gang's record, straight from the API."""
        try:
            return self._api.get(paths.one("Service", gang.namespace, gang.name))
        except KubeNotFoundError:
            return None

    def make(self, spec: LaunchSpec, gang: GangNames, *, offers: Mapping[str, GpuOffer], now: datetime) -> None:
        """1. the project's namespace; 2. the record; 3. what pods need; 4. pods, gated; 5. mark; 6. release.

        offers: the GPUs of nodes that have some.

        A repeat goes on where an earlier one broke off. Raises LaunchError, BackendUnavailableError.
        """
        try:
            self.ensure_project(spec, gang.namespace)
            record = self._create(manifests.record(spec, gang))
            if record["metadata"].get("deletionTimestamp"):
                raise BackendUnavailableError("The gang's remains are just being removed.")
            self._records.put(record)
            for manifest in (
                manifests.secret(spec, gang),
                manifests.instructions(spec, gang, self._options),
                manifests.network_policy(spec, gang),
            ):
                self._create(manifests.owned_by(manifest, record))
            held = self._claims.take(spec, gang, record, offers)
            pods = []
            for placement in spec.pods:
                offer = offers.get(placement.node)
                made = manifests.pod(spec, placement, gang, self._options, offer=offer, claims=held)
                pods.append(self._create(manifests.owned_by(made, record)))
        except ForbiddenError as error:
            raise self._refused(error) from error
        except ApiError as error:
            raise LaunchError(f"The cluster does not accept the gang: {error}", cause=Cause.LAUNCH_FAILED) from error
        for pod in pods:
            self._pods.put(pod)
        marked = self._api.patch(paths.of(record, "Service"), _annotations({names.LAUNCHED: now.isoformat()}))
        self._records.put(marked)
        for pod in pods:
            self.release(pod)

    def release(self, pod: Object) -> None:
        """Lets the cluster's scheduler see the pod. Of one that has been released already nothing changes."""
        if pod["spec"].get("schedulingGates"):
            try:
                self._pods.put(self._api.patch(paths.of(pod, "Pod"), {"spec": {"schedulingGates": None}}))
            except KubeNotFoundError:
                self._pods.drop(pod["metadata"]["uid"])

    def ensure_project(self, spec: LaunchSpec, namespace: str) -> None:
        """The namespace with all that isolates it; looked after once in this process's life, and at a new quota."""
        max_gpus = self._gpu_limit_of(spec.labels)
        if namespace in self._limits and self._limits[namespace] == max_gpus:
            return
        self._create_at(paths.NAMESPACES, tenancy.namespace(spec.labels, self._options))
        has_claims = bool(self._claims.version())
        for manifest in tenancy.contents(
            namespace, self._options, api_url=spec.api_url, max_gpus=max_gpus, has_claims=has_claims
        ):
            self._create(manifest)
            if manifest["kind"] == "ResourceQuota":
                lifted = dict.fromkeys(tenancy.gpu_limits(self._options))  # where there is no limit any more
                hard = {**lifted, **manifest["spec"]["hard"]}
                self._api.patch(paths.of(manifest, "ResourceQuota"), {"spec": {"hard": hard}})
        self._limits[namespace] = max_gpus

    def _create(self, manifest: Object) -> Object:
        return self._create_at(paths.collection_of(manifest), manifest)

    def _create_at(self, path: str, manifest: Object) -> Object:
        try:
            return self._api.create(path, manifest)
        except KubeConflictError:
            if manifest["kind"] in ("Service", "Pod"):
                return self._api.get(f"{path}/{manifest['metadata']['name']}")
            return manifest
        except KubeNotFoundError as error:
            self._limits.clear()
            raise BackendUnavailableError(f"The project's namespace is gone; it is made anew: {error}") from error

    def _refused(self, error: ForbiddenError) -> Exception:
        if error.is_quota:
            return LaunchError(f"{StartProblem.QUOTA}: {error}", cause=Cause.QUOTA)
        if error.is_policy:
            return LaunchError(f"The cluster's policy refuses the pods: {error}", cause=Cause.LAUNCH_FAILED)
        missing = "A right is missing (see the chart's ClusterRole). " if error.is_right else ""
        return BackendUnavailableError(f"{missing}{error}")


def _annotations(values: dict[str, str]) -> Object:
    return {"metadata": {"annotations": values}}
