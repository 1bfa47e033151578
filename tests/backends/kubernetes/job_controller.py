# SPDX-License-Identifier: Apache-2.0
"""The cluster's controller of Jobs behind the fake API server, and a kubelet that runs their pods as processes here."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from mlhub.backends.kubernetes.specs.containers import MAIN
from tests.backends.kubernetes.store import Object, RefusedError, Store, stamp
from tests.runtime.gang import ROOT


class JobController:
    """behave: run (the pod's own command), image, oom, disk, deadline, or quiet: no node ever takes the pod.

    refuses: the words with which the cluster refuses Jobs their pods; "" = it does not. It acts within the request that
    lets it, so that tests need no waiting; only processes end later.
    """

    def __init__(self, store: Store, folder: Path, *, behave: str = "run", refuses: str = "") -> None:
        self.store, self.folder = store, folder
        self.behave, self.refuses = behave, refuses
        self.processes: list[subprocess.Popen[bytes]] = []
        self.environments: list[dict[str, str]] = []
        store.on_job = self._see

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def pods(self) -> list[Object]:
        return [o for (plural, _, _), o in self.store.objects.items() if plural == "pods"]

    def _see(self, job: Object) -> None:
        if job["spec"].get("suspend") or (job.get("status") or {}).get("startTime"):
            return
        self._set("jobs", job, {"status": {"startTime": stamp(), "active": 1}})
        if self.refuses:
            self._tell(job)
            return
        pod = self._pod_of(job)
        if self.behave == "run":
            self._run(job, pod)
        else:
            self._misbehave(job, pod)

    def _pod_of(self, job: Object) -> Object:
        template, metadata = job["spec"]["template"], job["metadata"]
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"]}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{metadata['name']}-x7k2p",
                "namespace": metadata["namespace"],
                "labels": {**template["metadata"]["labels"], "batch.kubernetes.io/job-name": metadata["name"]},
                "ownerReferences": [{**owner, "controller": True}],
            },
            "spec": template["spec"],
        }
        return self.store.create("pods", metadata["namespace"], body)

    def _run(self, job: Object, pod: Object) -> None:
        own, container = self.folder / job["metadata"]["name"], pod["spec"]["containers"][0]
        secret = self.store.get("secrets", job["metadata"]["namespace"], job["metadata"]["name"])
        for name in ("scratch", "secrets", "tmp"):
            (own / name).mkdir(parents=True, exist_ok=True)
        for name, content in secret["data"].items():
            (own / "secrets" / name).write_bytes(base64.b64decode(content))
        given = {e["name"]: e["value"].replace("/mlhub/", f"{own}/") for e in container["env"]}
        self.environments.append(given)
        variables = {**given, "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "TMPDIR": str(own / "tmp")}
        argv = [sys.executable, *container["command"][1:]]
        with (own / "log").open("wb") as log:
            process = subprocess.Popen(
                argv, env=variables, cwd=own / "scratch", stdout=log, stderr=log, start_new_session=True
            )
        self.processes.append(process)
        self._set("pods", pod, {"spec": {"nodeName": "node-1"}, "status": {"phase": "Running"}})
        threading.Thread(target=self._ended, args=(job, pod, process, own / "log"), daemon=True).start()

    def _ended(self, job: Object, pod: Object, process: subprocess.Popen[bytes], log: Path) -> None:
        code = process.wait()
        self._end(job, pod, code, message=log.read_text(errors="replace")[-2000:])

    def _misbehave(self, job: Object, pod: Object) -> None:
        if self.behave == "image":
            waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "nowhere"'}
            found = {"name": MAIN, "image": "nowhere", "state": {"waiting": waiting}}
            self._set("pods", pod, {"status": {"containerStatuses": [found]}})
        elif self.behave == "oom":
            self._end(job, pod, 137, reason="OOMKilled")
        elif self.behave == "disk":
            why = {"reason": "Evicted", "message": "Pod ephemeral local storage usage exceeds the total limit."}
            self._set("pods", pod, {"status": {"phase": "Failed", **why}})
            self._finish(job, "Failed", "BackoffLimitExceeded")
        elif self.behave == "deadline":
            short = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            why = {**short, "message": "0/2 nodes are available: 2 Insufficient memory.", "lastTransitionTime": stamp()}
            self._set("pods", pod, {"status": {"conditions": [why]}})
            self._finish(job, "Failed", "DeadlineExceeded")

    def _end(self, job: Object, pod: Object, code: int, *, reason: str = "", message: str = "") -> None:
        done = {"exitCode": code, "reason": reason or ("Error" if code else "Completed"), "message": message}
        found = {"name": MAIN, "state": {"terminated": {**done, "startedAt": stamp(), "finishedAt": stamp()}}}
        phase = "Failed" if code else "Succeeded"
        self._set("pods", pod, {"status": {"phase": phase, "containerStatuses": [found]}})
        self._finish(job, "Failed" if code else "Complete", "BackoffLimitExceeded" if code else "")

    def _finish(self, job: Object, kind: str, reason: str) -> None:
        condition = {"type": kind, "status": "True", "reason": reason, "message": f"Job has ended: {reason}."}
        self._set("jobs", job, {"status": {"active": 0, "conditions": [condition]}})

    def _tell(self, job: Object) -> None:
        namespace, name = job["metadata"]["namespace"], job["metadata"]["name"]
        event = {
            "metadata": {"name": f"{name}.refused", "namespace": namespace},
            "involvedObject": {"kind": "Job", "uid": job["metadata"]["uid"]},
            "type": "Warning",
            "reason": "FailedCreate",
            "message": f"Error creating: {self.refuses}",
        }
        self.store.create("events", namespace, event)

    def _set(self, plural: str, found: Object, change: Any) -> None:
        metadata = found["metadata"]
        try:
            self.store.patch(plural, metadata["namespace"], metadata["name"], change)
        except RefusedError:
            return  # removed in between
