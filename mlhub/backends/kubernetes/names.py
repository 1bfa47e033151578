# SPDX-License-Identifier: Apache-2.0
"""Labels, names and addresses: the same attempt always gets the same ones, so that a repeat meets what is there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from mlhub.wire.launch import AttemptId, LaunchSpec, PodRole

ATTEMPT = "mlhub.dev/attempt"
ROLE = "mlhub.dev/role"
INDEX = "mlhub.dev/index"
JOB = "mlhub.dev/job"
PROJECT = "mlhub.dev/project"
MANAGED_BY = {"app.kubernetes.io/managed-by": "mlhub"}

SLOT = "mlhub.dev/slot"  # label of a claim: which slot of which node it stands for
NODE = "mlhub.dev/node"  # annotation of a claim: that node's name
INSTALLATION = "mlhub.dev/installation"  # label of everything that an installation makes
API_URL = "mlhub.dev/api-url"  # annotation of a project's namespace: where its pods reach the ingest API
PROJECT_ID = "mlhub.dev/project-id"  # label of a project's namespace and of its gangs
SANDBOX_RUN = "mlhub.dev/sandbox-run"  # label of Jobs and pods that make one run in the sandbox: its id
SWEEP = "mlhub.dev/sweep"  # label of pods that remove old checkpoints
GANG = "mlhub.dev/gang"  # annotation of the record: its members; and the gate that holds pods until all exist
LAUNCHED = "mlhub.dev/launched"  # annotation of the record: since when every member exists
STOP = "mlhub.dev/stop"  # annotation of the record: who asked the gang to leave, when and why
IMAGE = "mlhub.dev/image"  # annotation of a pod that runs its job's own image: the reference
OBSERVED = "mlhub.dev/observed"  # finalizer of pods: they stay until their exit codes have been read

MASTER_PORT, SERVER_PORT, BARRIER_PORT = 29400, 29500, 29300

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_LONGEST_ID = 40
_LONGEST_GANG = 45  # leaves room for "-worker-12345" within the 63 characters of a DNS label


@dataclass(frozen=True)
class GangNames:
    """Where an attempt's objects are: namespace and common name; and whose they are."""

    namespace: str
    name: str
    installation: str

    def pod(self, role: PodRole, index: int) -> str:
        return f"{self.name}-{role}-{index}"

    def host(self, role: PodRole, index: int) -> str:
        """The pod's stable name, through the gang's headless service."""
        return f"{self.pod(role, index)}.{self.name}.{self.namespace}.svc"


def gang_of(spec: LaunchSpec, *, prefix: str, installation: str = "") -> GangNames:
    return GangNames(namespace_of(spec.labels, prefix=prefix), gang_name(spec.attempt_id), installation or prefix)


def gang_name(attempt_id: AttemptId) -> str:
    name = f"mlhub-{attempt_id}"
    if len(name) <= _LONGEST_GANG and _LABEL.fullmatch(name):
        return name
    return f"mlhub-{hashlib.sha256(attempt_id.encode()).hexdigest()[:32]}"


def project_key(labels: Mapping[str, str]) -> str:
    """What identifies a project: the id where the platform gives one, or else the names."""
    return labels.get("project_id") or f"{labels.get('organisation', '')}/{labels.get('project', '')}"


def project_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The project's id as a label, where the platform gives one that can be a label."""
    found = labels.get("project_id", "")
    return {PROJECT_ID: found} if _LABEL.fullmatch(found) and len(found) <= _LONGEST_ID else {}


def namespace_of(labels: Mapping[str, str], *, prefix: str) -> str:
    """A namespace per project, by its id: renaming a project leaves it where it is.

    Without an id by its names, and never shared by two projects of like names.
    """
    found = project_labels(labels)
    if found:
        return f"{prefix}-{found[PROJECT_ID]}"
    slug = re.sub(r"[^a-z0-9]+", "-", labels.get("project", "").lower()).strip("-")[:24].strip("-") or "project"
    return f"{prefix}-{slug}-{hashlib.sha256(project_key(labels).encode()).hexdigest()[:8]}"


def server_addresses(spec: LaunchSpec, gang: GangNames) -> tuple[str, ...]:
    return tuple(f"{gang.host(PodRole.SERVER, p.index)}:{SERVER_PORT}" for p in spec.servers)


def master_address(gang: GangNames) -> str:
    return f"{gang.host(PodRole.WORKER, 0)}:{MASTER_PORT}"


def barrier_addresses(spec: LaunchSpec, gang: GangNames) -> dict[str, str]:
    """host:port of every member's barrier, by "<role>-<index>"."""
    return {f"{p.role}-{p.index}": f"{gang.host(p.role, p.index)}:{BARRIER_PORT}" for p in spec.pods}
