# SPDX-License-Identifier: Apache-2.0
"""A real API server for the tests, where MLHUB_TEST_KUBECONFIG names one: nodes of paper, on which ends are played."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.connection import connection
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.specs.containers import MAIN, PREPARE
from mlhub.backends.protocol import BackendUnavailableError
from tests.backends.kubernetes.kubelet import node
from tests.backends.kubernetes.real_access import access_of_the_chart
from tests.backends.kubernetes.store import Object, stamp

VARIABLE = "MLHUB_TEST_KUBECONFIG"
LOOK_EVERY_S = 0.1
BEAT_EVERY_S = 5.0


def is_there() -> bool:
    return bool(os.environ.get(VARIABLE))


def backend_on_it() -> Iterator[KubernetesBackend]:
    """With the chart's rights and policies, on an API server without nodes of its own; it is left as it was."""
    options = KubernetesOptions(kubeconfig=os.environ[VARIABLE])
    admin = KubernetesApi(lambda: connection(options), timeout_s=10.0)
    with access_of_the_chart(admin, options) as token:
        played = PlayedNodes(admin, ("node-1", "node-2"))
        backend = KubernetesBackend(KubernetesApi(lambda: connection(options, token=token), timeout_s=10.0), options)
        try:
            yield backend
        finally:
            until = time.monotonic() + 30
            while shown := backend.observe():  # asked to leave, then dropped
                assert time.monotonic() < until, shown
                for status in shown:
                    backend.stop(status.attempt_id, grace_s=0)
                time.sleep(LOOK_EVERY_S)
            backend.close()
            played.remove()


class PlayedNodes:
    """Nodes that report as ready, and their kubelets: gangs run as their `behave` declares (see kubelet.py)."""

    def __init__(self, admin: KubernetesApi, names_of_nodes: tuple[str, ...]) -> None:
        self._admin, self._nodes = admin, names_of_nodes
        self._is_over = threading.Event()
        self._started_at: dict[str, float] = {}  # by uid
        for name in names_of_nodes:
            with contextlib.suppress(KubeConflictError):  # of a run that was killed
                admin.create(paths.NODES, {**node(name), "status": {}})
        self._beat()
        self._until_open()
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()

    def remove(self) -> None:
        """What still runs there is not reported any more."""
        self._is_over.set()
        self._thread.join()
        for name in self._nodes:
            self._admin.delete(f"{paths.NODES}/{name}")

    def _beat(self) -> None:
        for name in self._nodes:
            status = node(name)["status"]
            status["conditions"][0] |= {"lastHeartbeatTime": stamp(), "reason": "Played"}
            self._admin.patch(f"{paths.NODES}/{name}/status", {"status": status})

    def _until_open(self) -> None:
        """New nodes are tainted until the controllers have seen that they are ready."""
        until = time.monotonic() + 30
        while any(self._admin.get(f"{paths.NODES}/{name}")["spec"].get("taints") for name in self._nodes):
            assert time.monotonic() < until, "No controller manager takes the taint not-ready from new nodes."
            time.sleep(LOOK_EVERY_S)

    def _play(self) -> None:
        beaten_at = time.monotonic()
        while not self._is_over.wait(LOOK_EVERY_S):
            with contextlib.suppress(ApiError, BackendUnavailableError):
                if time.monotonic() - beaten_at > BEAT_EVERY_S:
                    self._beat()
                    beaten_at = time.monotonic()
                for pod in self._admin.list(paths.PODS, labelSelector=paths.OURS)[0]:
                    if pod["spec"].get("nodeName") in self._nodes:
                        self._look_at(pod)

    def _look_at(self, pod: Object) -> None:
        metadata, behave = pod["metadata"], self._behave(pod)
        if pod["status"]["phase"] in ("Succeeded", "Failed"):
            return
        if metadata.get("deletionTimestamp"):
            over = datetime.fromisoformat(metadata["deletionTimestamp"]) <= datetime.now(UTC)
            if behave != "stubborn" or over:
                self._end(pod, 137 if behave == "stubborn" else 75)
            return
        began = self._started_at.get(metadata["uid"])
        if began is None:
            self.start_pod(pod)
            self._started_at[metadata["uid"]] = time.monotonic()
        elif behave == "done" or behave.startswith("exit"):
            self._end(pod, int(behave.split()[1]) if behave != "done" else 0)

    def start_pod(self, pod: Object) -> None:
        now = stamp()
        running = {"name": MAIN, "state": {"running": {"startedAt": now}}, "ready": True}
        done = _ended(PREPARE, 0)
        self._tell(pod, {"phase": "Running", **_containers(pod, done, running), "startTime": now})

    def _end(self, pod: Object, code: int) -> None:
        phase = "Failed" if code else "Succeeded"
        self._tell(pod, {"phase": phase, **_containers(pod, _ended(PREPARE, 0), _ended(MAIN, code))})
        if pod["metadata"].get("deletionTimestamp"):
            self._admin.delete(paths.of(pod, "Pod"), grace_s=0)

    def _tell(self, pod: Object, status: Object) -> None:
        with contextlib.suppress(KubeNotFoundError):
            self._admin.patch(f"{paths.of(pod, 'Pod')}/status", {"status": status})

    def _behave(self, pod: Object) -> str:
        where = pod["metadata"]["namespace"]
        try:
            secret = self._admin.get(paths.one("Secret", where, pod["spec"]["subdomain"]))
        except KubeNotFoundError:
            return "run"
        launch = json.loads(base64.b64decode(secret["data"]["launch.json"]))
        behave = launch["training"]["hyperparameters"].get("behave", "run")
        labels = pod["metadata"]["labels"]
        if labels[names.ROLE] == "server":
            return "run"
        return str(behave[int(labels[names.INDEX])] if isinstance(behave, list) else behave)


def _containers(pod: Object, prepare: Object, main: Object) -> Object:
    shown: dict[str, Any] = {}
    for key, spec, status in (
        ("initContainerStatuses", pod["spec"]["initContainers"][0], prepare),
        ("containerStatuses", pod["spec"]["containers"][0], main),
    ):
        known = {"image": spec["image"], "imageID": "", "restartCount": 0, "ready": False}
        shown[key] = [{**known, **status}]
    return shown


def _ended(name: str, code: int) -> Object:
    now = stamp()
    done = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": now, "finishedAt": now}
    return {"name": name, "state": {"terminated": done, "running": None}}
