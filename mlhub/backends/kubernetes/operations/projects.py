# SPDX-License-Identifier: Apache-2.0
"""Projects' namespaces with all that isolates them: made at a first launch, and corrected whenever they differ.

What they hold is followed by watches. An object that is gone, or that somebody changed, is applied again: fields that
MLHub applies become what they should be, and what others added stays.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.drift import differs
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError
from mlhub.backends.kubernetes.client.mirror import Mirror
from mlhub.backends.kubernetes.client.objects import Manifest, Object
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.ownership import KubeInstallation, address_of
from mlhub.backends.kubernetes.quarantine import Quarantine
from mlhub.backends.kubernetes.specs import tenancy
from mlhub.backends.protocol import BackendUnavailableError, ItemKind, LaunchError
from mlhub.wire.exits import Cause

KINDS = ("NetworkPolicy", "ResourceQuota", "LimitRange", "ServiceAccount", "PersistentVolumeClaim")
LIMIT_EVERY_S = 60.0  # how often a project's limit of GPUs is asked for without a launch
STEP = "correction of projects' namespaces"
AGAIN_AFTER_S = 60.0  # an object that was refused, or that another client keeps changing, is applied this often


@dataclass(frozen=True)
class Trouble:
    """at: when it was corrected last, monotonic. reason: why it is not as it should be all the same; "" = it may be."""

    at: float
    reason: str


class Projects:
    """gpu_limit_of: see backend.py; it is called in the thread of the caller only. has_claims: see tenancy.py."""

    def __init__(
        self,
        api: KubernetesApi,
        options: KubernetesOptions,
        *,
        gpu_limit_of: Callable[[Mapping[str, str]], int | None],
        has_claims: Callable[[], bool],
        quarantine: Quarantine,
    ) -> None:
        self._api, self._options, self._quarantine = api, options, quarantine
        self._gpu_limit_of, self._has_claims = gpu_limit_of, has_claims
        self.installation = KubeInstallation(options.installation_id, options.namespace_prefix)
        self.namespaces = Mirror(api, paths.NAMESPACES, selector=names.PROJECT)
        self._held = {kind: Mirror(api, paths.everywhere(kind), selector=paths.OF_PROJECTS) for kind in KINDS}
        self._limits: dict[str, tuple[int | None, float]] = {}  # by namespace: GPUs, and when they were asked for
        self._lock = threading.RLock()
        self._own: dict[str, Object] = {}  # namespaces by name, as they were when they were seen as ours
        self._troubles: dict[str, Trouble] = {}  # by path of what was corrected, until it is seen as it should be

    def mirrors(self) -> list[Mirror]:
        """Those that are used: volumes are not followed where there are none."""
        has_volumes = bool(self._options.checkpoint_bytes or self._options.cache_bytes)
        followed = [m for kind, m in self._held.items() if kind != "PersistentVolumeClaim" or has_volumes]
        return [self.namespaces, *followed]

    def own(self) -> set[str]:
        """Names of the namespaces that are ours. One that was ours stays so, whatever becomes of its labels.

        Raises BackendUnavailableError.
        """
        with self._lock, self._quarantine.renewed("namespaces"):
            return self._seen_as_own()

    def _seen_as_own(self) -> set[str]:
        found: set[str] = set()
        for namespace in self.namespaces.objects():
            name = str(namespace["metadata"]["name"])
            with self._quarantine.guarded("namespaces", ItemKind.PROJECT, name):
                fault = self.installation.namespace_fault(namespace)
                if not fault:
                    self._own[name] = namespace
                    found.add(name)
                elif self.installation.claims(namespace) and name not in self._own:
                    words = f"This namespace bears MLHub's labels, but {fault}; MLHub leaves it alone."
                    self._quarantine.add("namespaces", ItemKind.PROJECT, name, words)
        for name in self._own.keys() - found:
            if self._is_relabelled(name):
                found.add(name)
            else:
                del self._own[name]
        return found

    def _is_relabelled(self, name: str) -> bool:
        """Whether it is still there, and merely its labels were changed; they are corrected then."""
        known = self._own[name]
        try:
            found = self._api.get(f"{paths.NAMESPACES}/{name}")
        except ApiError:
            return False
        if found["metadata"]["uid"] != known["metadata"]["uid"]:
            return False
        kept = {key: known["metadata"].get(key) or {} for key in ("labels", "annotations")}
        wanted = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **kept}}
        with self._quarantine.guarded("namespaces", ItemKind.PROJECT, name):
            self._correct(wanted, found, path=f"{paths.NAMESPACES}/{name}")
        return True

    def learn_limit(self, labels: Mapping[str, str]) -> None:
        """Asks for a project's limit of GPUs, in the caller's thread: the answer comes from its database connection."""
        name = names.namespace_of(labels, prefix=self._options.namespace_prefix)
        self._limits[name] = self._gpu_limit_of(labels), time.monotonic()

    def ensure(self, labels: Mapping[str, str], api_url: str, *, is_gone: bool = False) -> None:
        """Before a launch, after learn_limit(); in any thread.

        is_gone: the namespace is known not to be there, whatever its copy here says.
        Raises LaunchError, BackendUnavailableError, and ApiError for what the cluster refuses.
        """
        wanted = tenancy.namespace(labels, self._options, api_url=api_url)
        name = wanted["metadata"]["name"]
        known = self.namespaces.named("", name)
        if known is not None and is_gone:
            self.namespaces.drop(known["metadata"]["uid"])
            known = None
        found = known or self._make(wanted)
        fault = self.installation.namespace_fault(found)
        if fault:
            raise LaunchError(
                f"The namespace {name} is there, but {fault}. Remove or rename it, or set another namespace_prefix.",
                cause=Cause.LAUNCH_FAILED,
            )
        if found["metadata"].get("deletionTimestamp"):
            raise BackendUnavailableError(f"The namespace {name} is being terminated.")
        if differs(found, wanted):
            self._apply(f"{paths.NAMESPACES}/{name}", wanted)
        for manifest in self._contents(name, api_url):
            self._correct_now(manifest, is_gone=is_gone)

    def converge(self) -> None:
        """Corrects what differs in every namespace that own() found; what cannot be corrected is quarantined.

        An API server that does not answer to this ends the pass, and no round: gangs are observed without it.
        """
        try:
            self._converge_all()
        except BackendUnavailableError as error:
            self._quarantine.add("convergence", ItemKind.STEP, STEP, f"Projects cannot be corrected now: {error}")
        else:
            self._quarantine.resolve("convergence", ItemKind.STEP, STEP)

    def _converge_all(self) -> None:
        with self._quarantine.renewed("projects"):
            for name in sorted(self._own):
                namespace = self.namespaces.named("", name)
                if namespace is None or namespace["metadata"].get("deletionTimestamp"):
                    continue
                with self._quarantine.guarded("projects", ItemKind.PROJECT, name):
                    self._converge_one(name, namespace)

    def _converge_one(self, name: str, namespace: Object) -> None:
        labels = tenancy.labels_of(namespace)
        api_url = str((namespace["metadata"].get("annotations") or {}).get(names.API_URL, ""))
        if not api_url and name not in self._limits:
            return  # made by an older version: corrected with the project's next launch, which knows the address
        if name not in self._limits or time.monotonic() - self._limits[name][1] > LIMIT_EVERY_S:
            self.learn_limit(labels)
        wanted = tenancy.namespace(labels, self._options, api_url=api_url)
        if wanted["metadata"]["name"] == name:
            self._correct(wanted, namespace, path=f"{paths.NAMESPACES}/{name}")
        for manifest in self._contents(name, api_url):
            self._correct(manifest, self._found(manifest), path=paths.of(manifest, manifest["kind"]))

    def _contents(self, name: str, api_url: str) -> list[Manifest]:
        max_gpus = self._limits[name][0]
        return tenancy.contents(name, self._options, api_url=api_url, max_gpus=max_gpus, has_claims=self._has_claims())

    def _make(self, wanted: Manifest) -> Object:
        """The namespace, made now or, where it is there without our labels, as it is."""
        try:
            made = self._api.create(paths.NAMESPACES, wanted)
        except KubeConflictError:
            made = self._api.get(f"{paths.NAMESPACES}/{wanted['metadata']['name']}")
        self.namespaces.put(made)
        return made

    def _found(self, wanted: Manifest) -> Object | None:
        return self._held[wanted["kind"]].named(wanted["metadata"]["namespace"], wanted["metadata"]["name"])

    def _correct_now(self, wanted: Manifest, *, is_gone: bool) -> None:
        """Raises ApiError: without what isolates its project no gang starts. A volume that stays too small may be."""
        found = None if is_gone else self._found(wanted)
        if found is not None and not self._is_wrong(found, wanted):
            return
        path = paths.of(wanted, wanted["kind"])
        if found is not None and wanted["kind"] == "PersistentVolumeClaim":
            self._correct(wanted, found, path=path)
        else:
            self._apply(path, wanted)

    def _correct(self, wanted: Manifest, found: Object | None, *, path: str) -> None:
        """At once, unless it was refused, or is wrong again though it was applied: then now and then."""
        if found is not None and not self._is_wrong(found, wanted):
            self._troubles.pop(path, None)
            return
        trouble = self._troubles.get(path)
        if trouble is None or time.monotonic() - trouble.at > AGAIN_AFTER_S:
            with contextlib.suppress(ApiError):
                self._apply(path, wanted)
        trouble = self._troubles[path]
        if trouble.reason:
            name = f"{wanted['kind']} {address_of(wanted).strip('/')}"
            self._quarantine.add("projects", ItemKind.PROJECT, name, trouble.reason)

    def _is_wrong(self, found: Object, wanted: Manifest) -> bool:
        return differs(found, wanted) or bool(self._lifted(found, wanted))

    def _lifted(self, found: Object, wanted: Manifest) -> list[str]:
        """Limits of GPUs that hold no more: of a quota that was lifted, or as an older version wrote them."""
        if wanted["kind"] != "ResourceQuota":
            return []
        hard, ours = found["spec"].get("hard") or {}, wanted["spec"]["hard"]
        return [key for key in tenancy.gpu_limits(self._options) if key in hard and key not in ours]

    def _apply(self, path: str, wanted: Manifest) -> None:
        kind = wanted["kind"]
        is_again = path in self._troubles
        reason = "Another client changes it again and again; MLHub corrects it once a minute." if is_again else ""
        self._troubles[path] = Trouble(time.monotonic(), reason)
        try:
            made = self._api.apply(path, wanted)
            if lifted := self._lifted(made, wanted):
                made = self._api.patch(path, {"spec": {"hard": dict.fromkeys(lifted)}})
        except ApiError as error:
            self._troubles[path] = Trouble(time.monotonic(), f"The cluster refused to correct it: {error}")
            raise type(error)(error.status, f"{kind} {wanted['metadata']['name']}: {error}", error.reason) from error
        (self.namespaces if kind == "Namespace" else self._held[kind]).put(made)
