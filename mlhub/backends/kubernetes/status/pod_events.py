# SPDX-License-Identifier: Apache-2.0
"""Events that show why pods do not start, from one watch over all namespaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.mirror import Mirror
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.quarantine import DAMAGES, Quarantine
from mlhub.backends.kubernetes.status.problems import START_EVENTS
from mlhub.backends.protocol import BackendUnavailableError, ItemKind

OF_PODS = "involvedObject.kind=Pod,type=Warning"
STEP = "watch of events"


class PodEvents:
    """Events only explain: where they cannot be read, that is quarantined, and gangs are observed without them."""

    def __init__(self, api: KubernetesApi, options: KubernetesOptions, quarantine: Quarantine) -> None:
        prefix = f"{options.namespace_prefix}-"

        def is_of_use(event: Object) -> bool:
            home = str(event["metadata"].get("namespace") or "")
            return home.startswith(prefix) and event.get("reason") in START_EVENTS

        self.mirror = Mirror(api, paths.EVENTS, fields=OF_PODS, keeps=is_of_use)
        self._quarantine = quarantine

    def by_pod(self) -> Mapping[str, Sequence[Object]]:
        """By the pod's uid."""
        found: dict[str, list[Object]] = {}
        try:
            events = self.mirror.objects()
        except BackendUnavailableError as error:
            words = f"Why a pod does not start cannot be reported: {error}"
            self._quarantine.add("events", ItemKind.STEP, STEP, words)
            return found
        self._quarantine.resolve("events", ItemKind.STEP, STEP)
        for event in events:
            try:
                found.setdefault(event["involvedObject"]["uid"], []).append(event)
            except DAMAGES:
                continue
        return found
