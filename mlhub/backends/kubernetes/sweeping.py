# SPDX-License-Identifier: Apache-2.0
"""A short pod that removes ended jobs' checkpoints from a project's volume. Pure, but for Sweeper, which sends it."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta

from mlhub.backends.kubernetes import names, paths
from mlhub.backends.kubernetes.api import KubernetesApi
from mlhub.backends.kubernetes.containers import ACCOUNT, CHECKPOINT_CLAIM, CHECKPOINTS, pod_security
from mlhub.backends.kubernetes.errors import KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.objects import Object
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.problems import when

logger = logging.getLogger(__name__)

MOST_KEPT = 3500  # ids of jobs that fit into a variable; a project with more of them at once is not swept
DEADLINE_S = 1800
GONE_AFTER = timedelta(hours=1)


def sweep_pod(namespace: str, options: KubernetesOptions, *, keep: Collection[str], older_than_s: float) -> Object:
    """keep: ids of jobs. The same jobs make a pod of the same name, so that a repeat meets what is there."""
    listed = ",".join(sorted(job.replace("-", "") for job in keep))
    key = hashlib.sha256(f"{listed}|{older_than_s}".encode()).hexdigest()[:12]
    command = [
        "python",
        "-m",
        "mlhub.runtime.checkpoints.sweep",
        "--root",
        CHECKPOINTS,
        "--older-than-s",
        str(int(older_than_s)),
    ]
    room = {"cpu": "100m", "memory": "128Mi", "ephemeral-storage": "64Mi"}
    container = {
        "name": "sweep",
        "image": options.image,
        "imagePullPolicy": options.image_pull_policy,
        "command": command,
        "env": [{"name": "MLHUB_KEEP", "value": listed}, {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
        "volumeMounts": [{"name": "checkpoints", "mountPath": CHECKPOINTS}],
        "resources": {"limits": room, "requests": room},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    body: Object = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": DEADLINE_S,
        "serviceAccountName": ACCOUNT,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        "containers": [container],
        "volumes": [{"name": "checkpoints", "persistentVolumeClaim": {"claimName": CHECKPOINT_CLAIM}}],
    }
    if options.image_pull_secret:
        body["imagePullSecrets"] = [{"name": options.image_pull_secret}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"mlhub-sweep-{key}",
            "namespace": namespace,
            "labels": {**names.MANAGED_BY, names.SWEEP: "true"},
        },
        "spec": body,
    }


class Sweeper:
    def __init__(self, api: KubernetesApi, options: KubernetesOptions) -> None:
        self._api, self._options = api, options

    def sweep(self, labels: Mapping[str, str], *, keep: Collection[str], older_than_s: float, now: datetime) -> None:
        """Sends the pod, and removes those that are done or stuck. A project without a volume has nothing to sweep."""
        if not self._options.checkpoint_bytes:
            return
        namespace = names.namespace_of(labels, prefix=self._options.namespace_prefix)
        path = paths.collection("Pod", namespace)
        for pod in self._api.list(path, labelSelector=names.SWEEP)[0]:
            created_at = when(pod["metadata"]["creationTimestamp"])
            is_done = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
            if is_done or (created_at is not None and now - created_at > GONE_AFTER):
                self._api.delete(paths.of(pod, "Pod"), grace_s=0)
        if len(keep) > MOST_KEPT:
            logger.warning("kubernetes.not_swept", extra={"namespace": namespace, "jobs": len(keep)})
            return
        try:
            self._api.create(path, sweep_pod(namespace, self._options, keep=keep, older_than_s=older_than_s))
        except (KubeConflictError, KubeNotFoundError):
            return  # it runs already, or the project never had a pod here
