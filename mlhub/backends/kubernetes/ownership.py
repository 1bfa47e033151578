# SPDX-License-Identifier: Apache-2.0
"""Which objects are this installation's own: labels alone prove nothing, since anybody can copy them. Pure.

A namespace is ours by the installation's label and a name that follows from its project's. A gang's record is ours in
such a namespace, under the name that follows from its attempt. A pod is ours there, under its member's name, with that
record as its owner. Everything else that bears MLHub's labels is a look-alike: never changed, deleted or believed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.wire.launch import AttemptId, PodRole


@dataclass(frozen=True)
class KubeInstallation:
    """id: what its objects are labelled with. prefix: of its projects' namespaces.

    Objects of versions that wrote no such label count as those of the installation whose prefix they have.
    """

    id: str
    prefix: str

    def claims(self, found: Object) -> bool:
        """Whether the object's labels say that it is ours, whatever else is true of it."""
        label = _labels(found).get(names.INSTALLATION)
        if label is not None:
            return label == self.id
        metadata = found["metadata"]
        home = str(metadata.get("namespace") or metadata.get("name") or "")
        project = _labels(found).get(names.PROJECT_ID)
        return home == f"{self.prefix}-{project}" if project else home.startswith(f"{self.prefix}-")

    def namespace_fault(self, namespace: Object) -> str:
        """Why a namespace is not ours; "" when it is."""
        labels, name = _labels(namespace), str(namespace["metadata"]["name"])
        label, project = labels.get(names.INSTALLATION), labels.get(names.PROJECT_ID)
        if label not in (None, self.id):
            return f"it belongs to the installation {label}"
        if labels.get("app.kubernetes.io/managed-by") != names.MANAGED_BY["app.kubernetes.io/managed-by"]:
            return "it is not managed by MLHub"
        if labels.get(names.PROJECT) != name or not name.startswith(f"{self.prefix}-"):
            return "its name is not that of a project of this installation"
        if project is not None and name != f"{self.prefix}-{project}":
            return "its name is not that of its project"
        return ""

    def record_fault(self, record: Object, namespaces: Collection[str]) -> str:
        """Why a Service with MLHub's labels is no gang's record of ours; "" when it is. namespaces: that are ours."""
        fault = self._place_fault(record, namespaces)
        if fault:
            return fault
        metadata = record["metadata"]
        if names.GANG not in (metadata.get("annotations") or {}):
            return "it has no list of a gang's members"
        if metadata["name"] != names.gang_name(attempt_of(record)):
            return "its name is not that of its attempt's record"
        return ""

    def pod_fault(self, pod: Object, namespaces: Collection[str], *, record: Object | None) -> str:
        """Why a pod with MLHub's labels is no member of a gang of ours; "" when it is. record: of its attempt."""
        fault = self._place_fault(pod, namespaces)
        if fault:
            return fault
        labels, metadata, gang = _labels(pod), pod["metadata"], names.gang_name(attempt_of(pod))
        role, index = labels.get(names.ROLE, ""), labels.get(names.INDEX, "")
        if role not in tuple(PodRole) or not (index.isascii() and index.isdigit()):
            return "it has no role or number of a member"
        if metadata["name"] != f"{gang}-{role}-{int(index)}":
            return "its name is not that of the member that its labels name"
        owners = [o for o in metadata.get("ownerReferences") or [] if o.get("kind") == "Service" and o["name"] == gang]
        if not owners:
            return "the gang's record is not its owner"
        if record is not None and all(owner.get("uid") != record["metadata"]["uid"] for owner in owners):
            return "its owner is another record of the same name"
        return ""

    def _place_fault(self, found: Object, namespaces: Collection[str]) -> str:
        label = _labels(found).get(names.INSTALLATION)
        if label not in (None, self.id):
            return f"it belongs to the installation {label}"
        if found["metadata"]["namespace"] not in namespaces:
            return "its namespace is not a project's of this installation"
        return ""


def attempt_of(found: Object) -> AttemptId:
    return AttemptId(str(_labels(found).get(names.ATTEMPT, "")))


def address_of(found: Object) -> str:
    """namespace/name, for people."""
    return f"{found['metadata'].get('namespace', '')}/{found['metadata'].get('name', '')}"


def _labels(found: Object) -> dict[str, str]:
    return found["metadata"].get("labels") or {}
