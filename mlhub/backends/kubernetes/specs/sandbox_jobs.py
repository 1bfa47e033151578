# SPDX-License-Identifier: Apache-2.0
"""One run of uploaded code as Kubernetes objects: a Job of one pod, and the Secret with the run's token. Pure."""

from __future__ import annotations

import base64
import hashlib
import math

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client.objects import Manifest
from mlhub.backends.kubernetes.options import MIB, KubernetesOptions
from mlhub.backends.kubernetes.specs.containers import ACCOUNT, MAIN, pod_security
from mlhub.backends.protocol import SandboxSpec
from mlhub.wire import environment

COMMAND = ["python", "-m", "mlhub.runtime.inspection.pod"]
SCRATCH, SECRETS = "/mlhub/scratch", "/mlhub/secrets"
N_CPUS = 2  # at most
OWN_MEMORY_BYTES = 256 * MIB  # of the process that makes the run
OWN_DISK_BYTES = 256 * MIB
REMOVED_AFTER_S = 600  # by the cluster, where MLHub is away


def job_name(run_id: str) -> str:
    return f"mlhub-run-{hashlib.sha256(run_id.encode()).hexdigest()[:16]}"


def sandbox_job(spec: SandboxSpec, options: KubernetesOptions) -> Manifest:
    """Suspended: its pod is made once its Secret is there. It runs once, has a deadline, and removes itself."""
    labels = {
        **names.MANAGED_BY,
        names.INSTALLATION: options.installation_id,
        **names.project_labels(spec.labels),
        names.SANDBOX_RUN: spec.run_id,
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": _metadata(spec, options, labels),
        "spec": {
            "suspend": True,
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 0,
            "activeDeadlineSeconds": math.ceil(spec.deadline_s),
            "ttlSecondsAfterFinished": REMOVED_AFTER_S,
            "template": {"metadata": {"labels": labels}, "spec": _pod(spec, options)},
        },
    }


def token_secret(spec: SandboxSpec, options: KubernetesOptions) -> Manifest:
    labels = {**names.MANAGED_BY, names.INSTALLATION: options.installation_id, names.SANDBOX_RUN: spec.run_id}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(spec, options, labels),
        "type": "Opaque",
        "immutable": True,
        "data": {"token": base64.b64encode(spec.token.encode()).decode()},
    }


def _metadata(spec: SandboxSpec, options: KubernetesOptions, labels: dict[str, str]) -> Manifest:
    namespace = names.namespace_of(spec.labels, prefix=options.namespace_prefix)
    return {"name": job_name(spec.run_id), "namespace": namespace, "labels": labels}


def _pod(spec: SandboxSpec, options: KubernetesOptions) -> Manifest:
    disk = str(spec.task.scratch_bytes + spec.task.size_bytes + OWN_DISK_BYTES)
    body: Manifest = {
        "restartPolicy": "Never",
        "serviceAccountName": ACCOUNT,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "securityContext": pod_security(),
        "containers": [_container(spec, options, disk)],
        "volumes": [
            {"name": "scratch", "emptyDir": {"sizeLimit": disk}},
            {"name": "secrets", "secret": {"secretName": job_name(spec.run_id), "defaultMode": 0o440}},
        ],
    }
    if options.runtime_class:
        body["runtimeClassName"] = options.runtime_class
    if options.image_pull_secret:
        body["imagePullSecrets"] = [{"name": options.image_pull_secret}]
    return body


def _container(spec: SandboxSpec, options: KubernetesOptions, disk: str) -> Manifest:
    memory = spec.task.memory_bytes + OWN_MEMORY_BYTES
    variables = {
        "HOME": SCRATCH,
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
        environment.API_URL: options.api_url or spec.api_url,
        environment.SANDBOX_RUN: spec.run_id,
        environment.TOKEN_PATH: f"{SECRETS}/token",
        environment.WORK_DIR: SCRATCH,
    }
    return {
        "name": MAIN,
        "image": options.image,
        "imagePullPolicy": options.image_pull_policy,
        "command": COMMAND,
        "workingDir": SCRATCH,
        "env": [{"name": name, "value": value} for name, value in variables.items()],
        "volumeMounts": [
            {"name": "scratch", "mountPath": SCRATCH, "subPath": "work"},
            {"name": "scratch", "mountPath": "/tmp", "subPath": "tmp"},  # noqa: S108 - an emptyDir
            {"name": "secrets", "mountPath": SECRETS, "readOnly": True},
        ],
        "resources": {
            "limits": {"cpu": str(N_CPUS), "memory": str(memory), "ephemeral-storage": disk},
            "requests": {
                "cpu": f"{int(min(options.sandbox_cpus, N_CPUS) * 1000)}m",
                "memory": str(min(options.sandbox_memory_bytes, memory)),
                "ephemeral-storage": str(OWN_DISK_BYTES),
            },
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
