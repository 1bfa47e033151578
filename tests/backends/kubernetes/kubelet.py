# SPDX-License-Identifier: Apache-2.0
"""Stands behind the fake API server: binds released pods to nodes, runs them as their gang's `behave` declares."""

from __future__ import annotations

import base64
import json
import threading
from datetime import UTC, datetime
from typing import Any

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.specs.containers import MAIN, PREPARE
from tests.backends.kubernetes.devices import Devices
from tests.backends.kubernetes.store import Object, RefusedError, Store, stamp

CONDITION = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def node(name: str, *, gpus: int = 4, cpus: str = "16", memory: str = "64Gi", **more: Any) -> Object:
    room = {
        "cpu": cpus,
        "memory": memory,
        "ephemeral-storage": "100Gi",
        "pods": "110",
        **({"nvidia.com/gpu": str(gpus)} if gpus else {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, **more, "labels": {"kubernetes.io/hostname": name, **more.get("labels", {})}},
        "spec": {},
        "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", **CONDITION}]},
    }


class Kubelet:
    """behave: run, done, stubborn, exit <code>, and for what never starts: image, own image, pulling, volume,
    taint, quiet.

    It acts within the request that lets it, so that tests need no waiting; only ends come a moment later.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.is_away = False  # the node's kubelet does not answer
        self.devices = Devices(store)
        store.on_pod = self._see
        store.on_gone = lambda pod: self.devices.settle()

    def _see(self, pod: Object) -> None:
        metadata, spec = pod["metadata"], pod["spec"]
        if self.is_away or pod["status"]["phase"] in ("Succeeded", "Failed") or names.SANDBOX_RUN in metadata["labels"]:
            return  # pods of Jobs: job_controller.py
        if metadata.get("deletionTimestamp"):
            if spec.get("nodeName"):
                self._leave(pod)
        elif not spec.get("schedulingGates") and not _is_seen(pod):
            self.start_pod(pod)

    def start_pod(self, pod: Object) -> None:
        behave = self._behave(pod)
        terms = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        wanted = terms["nodeSelectorTerms"][0]["matchFields"][0]["values"][0]
        message = "0/2 nodes are available: 1 node(s) had untolerated taint {gpu: broken}."
        is_shut = behave == "taint" or ("nodes", "", wanted) not in self.store.objects
        message = message if is_shut else self.devices.why_not(pod, wanted)
        if message:
            # only a change of its status, not of its reason, moves a condition's time: it is still that of the gate
            [gated] = pod["status"]["conditions"]
            self._set(pod, {"status": {"conditions": [{**gated, "reason": "Unschedulable", "message": message}]}})
            return
        status: Object = {"phase": "Pending", "conditions": [{"type": "PodScheduled", **CONDITION}]}
        if behave == "image":
            waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "nowhere"'}
            status["initContainerStatuses"] = [{"name": PREPARE, "image": "nowhere", "state": {"waiting": waiting}}]
        elif behave in ("own image", "pulling"):  # after its init step
            waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "nowhere"'}
            waiting = waiting if behave == "own image" else {"reason": "ContainerCreating"}
            status |= {
                "initContainerStatuses": [_ended(PREPARE, 0)],
                "containerStatuses": [{"name": MAIN, "image": "", "state": {"waiting": waiting}}],
            }
        elif behave == "volume":
            self._tell(pod, "FailedMount", "MountVolume.SetUp failed for volume checkpoints")
        elif behave != "quiet":
            status |= {
                "phase": "Running",
                "podIP": "10.0.0.1",
                "initContainerStatuses": [_ended(PREPARE, 0)],
                "containerStatuses": [{"name": MAIN, "state": {"running": {"startedAt": stamp()}}}],
            }
        self._set(pod, {"spec": {"nodeName": wanted}, "status": status})
        if behave == "done" or behave.startswith("exit"):
            self._end_later(pod, int(behave.split()[1]) if behave != "done" else 0, after_s=0.2)

    def _leave(self, pod: Object) -> None:
        is_stubborn = self._behave(pod) == "stubborn"
        grace_s = pod["metadata"]["deletionGracePeriodSeconds"]
        if is_stubborn:
            self._end_later(pod, 137, after_s=grace_s)
        else:
            self._end_later(pod, 75, after_s=0.02)

    def _end_later(self, pod: Object, code: int, *, after_s: float) -> None:
        metadata = pod["metadata"]
        # by its uid: a later pod of the same name lives its own life
        which = {"uid": metadata["uid"]}
        timer = threading.Timer(after_s, self.end, (metadata["namespace"], metadata["name"], code), which)
        timer.daemon = True
        timer.start()

    def end(
        self, namespace: str, name: str, code: int, *, reason: str = "", conditions: Any = None, uid: str = ""
    ) -> None:
        """The pod's main container ends; what a kubelet then writes. uid: only if it is still that pod."""
        with self.store.changed:
            try:
                pod = self.store.get("pods", namespace, name)
            except RefusedError:
                return
            if self.is_away or pod["status"]["phase"] in ("Succeeded", "Failed"):
                return
            if uid and pod["metadata"]["uid"] != uid:
                return
            change: Object = {
                "status": {
                    "phase": "Failed" if code else "Succeeded",
                    "containerStatuses": [_ended(MAIN, code, reason)],
                }
            }
            if conditions:
                change["status"]["conditions"] = conditions
            if pod["metadata"].get("deletionTimestamp"):
                change["metadata"] = {"deletionGracePeriodSeconds": 0}
            self._set(pod, change)
            self.devices.settle()

    def _behave(self, pod: Object) -> str:
        labels = pod["metadata"]["labels"]
        service = pod["spec"]["subdomain"]
        secret = self.store.objects.get(("secrets", pod["metadata"]["namespace"], service))
        if secret is None:
            return "run"
        launch = json.loads(base64.b64decode(secret["data"]["launch.json"]))
        behave = launch["training"]["hyperparameters"].get("behave") or self._as_the_check_says(pod)
        if labels[names.ROLE] == "server":
            return "run"
        return str(behave[int(labels[names.INDEX])] if isinstance(behave, list) else behave)

    def _as_the_check_says(self, pod: Object) -> str:
        """Gangs of `make kube-check` say by their image and program what they do."""
        main = pod["spec"]["containers"][0]
        if "no-such-image" in main["image"]:
            return "image"
        return "done" if "all_reduce" in main["command"][-1] else "run"

    def _tell(self, pod: Object, reason: str, message: str) -> None:
        namespace = pod["metadata"]["namespace"]
        event = {
            "metadata": {"name": f"{pod['metadata']['name']}.{reason}", "namespace": namespace},
            "involvedObject": {"kind": "Pod", "uid": pod["metadata"]["uid"]},
            "type": "Warning",
            "reason": reason,
            "message": message,
            "count": 2,
        }
        self.store.create("events", namespace, event)

    def _set(self, pod: Object, change: Object) -> None:
        self.store.patch("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], change)


def _is_seen(pod: Object) -> bool:
    """Whether the cluster's scheduler has had a word about it since it was released."""
    return any(c.get("reason") != "SchedulingGated" for c in pod["status"].get("conditions") or [])


def _ended(name: str, code: int, reason: str = "") -> Object:
    now = stamp(datetime.now(UTC))
    done = {
        "exitCode": code,
        "reason": reason or ("Error" if code else "Completed"),
        "finishedAt": now,
        "startedAt": now,
    }
    return {"name": name, "state": {"terminated": done}}
