# SPDX-License-Identifier: Apache-2.0
"""A short pod that removes ended jobs' checkpoints from a project's volume. Pure, but for Sweeper, which sends it."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Collection
from datetime import datetime, timedelta

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.errors import KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs.containers import ACCOUNT, CHECKPOINT_CLAIM, CHECKPOINTS, pod_security
from mlhub.backends.kubernetes.status.problems import when

MOST_NAMED = 3500  # ids of jobs that fit into a variable; for more of them there are more pods
SWEEP_NAME = re.compile(r"mlhub-sweep-[0-9a-f]{12}")
DEADLINE_S = 1800
GONE_AFTER = timedelta(hours=1)


def sweep_pod(namespace: str, options: KubernetesOptions, *, ended: Collection[str], older_than_s: float) -> Object:
    """ended: ids of jobs. The same jobs make a pod of the same name, so that a repeat meets what is there."""
    listed = ",".join(sorted(job.replace("-", "") for job in ended))
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
        "env": [{"name": "MLHUB_ENDED", "value": listed}, {"name": "PYTHONDONTWRITEBYTECODE", "value": "1"}],
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
            "labels": {**names.MANAGED_BY, names.INSTALLATION: options.installation_id, names.SWEEP: "true"},
        },
        "spec": body,
    }


class Sweeper:
    def __init__(self, api: KubernetesApi, options: KubernetesOptions) -> None:
        self._api, self._options = api, options

    def sweep(self, namespace: str, *, ended: Collection[str], older_than_s: float, now: datetime) -> None:
        """Sends the pod, and removes those that are done or stuck. A project without a volume has nothing to sweep."""
        if not self._options.checkpoint_bytes or not ended:
            return
        path = paths.collection("Pod", namespace)
        for pod in self._api.list(path, labelSelector=names.SWEEP)[0]:
            created_at = when(pod["metadata"]["creationTimestamp"])
            is_done = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
            is_old = created_at is not None and now - created_at > GONE_AFTER
            if self._is_own(pod) and (is_done or is_old):
                self._api.delete(paths.of(pod, "Pod"), grace_s=0)
        jobs = sorted(ended)
        for first in range(0, len(jobs), MOST_NAMED):
            named = jobs[first : first + MOST_NAMED]
            # it runs already, or the project never had a pod here
            with contextlib.suppress(KubeConflictError, KubeNotFoundError):
                self._api.create(path, sweep_pod(namespace, self._options, ended=named, older_than_s=older_than_s))

    def _is_own(self, pod: Object) -> bool:
        labels, ours = pod["metadata"].get("labels") or {}, self._options.installation_id
        return bool(SWEEP_NAME.fullmatch(pod["metadata"]["name"])) and labels.get(names.INSTALLATION, ours) == ours
