# SPDX-License-Identifier: Apache-2.0
"""The five verbs against real pods: made once, started, stopped with their codes, trained, withdrawn, gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import uuid4

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.backend import KubernetesBackend
from mlhub.backends.kubernetes.check.report import CheckReport
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.status.problems import NO_ANSWER_AFTER_S
from mlhub.backends.protocol import AttemptStatus, GangPhase, NodeStatus
from mlhub.wire.exits import Cause, ExitCode
from mlhub.wire.launch import AttemptId, LaunchSpec, ModelSpec, PodPlacement, PodRole, Resources, SyncMode, TrainingSpec

MIB = 2**20
START_S, STOP_S, TRAIN_S, WITHDRAWN_S, BOUND_S = 180.0, 60.0, 180.0, 60.0, 5.0
GONE_S = NO_ANSWER_AFTER_S + 30.0  # also where no kubelet confirms an end
LABELS = {"organisation": "mlhub", "project": "check", "project_id": "mlhub-check", "job": "check"}

WAITS = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(75))
print("running", flush=True)
time.sleep(3600)
"""
TRAINS = """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
x = torch.randn(64, 4)
y = x @ torch.tensor([1.0, -2.0, 3.0, 0.5])
w = torch.zeros(4, requires_grad=True)
for step in range(200):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    dist.all_reduce(w.grad)
    with torch.no_grad():
        w -= 0.05 * w.grad / dist.get_world_size()
    w.grad = None
print("loss", float(loss), flush=True)
assert loss < 0.01, float(loss)
"""


class GangCheck:
    """connect: a backend for these options, with the rights under test."""

    def __init__(
        self,
        connect: Callable[[KubernetesOptions], KubernetesBackend],
        api: KubernetesApi,
        options: KubernetesOptions,
        report: CheckReport,
    ) -> None:
        self._connect, self._api, self._options, self._report = connect, api, options, report
        self.launched: list[LaunchSpec] = []

    def run(self, nodes: Sequence[NodeStatus], *, has_kubelet: bool) -> None:
        backend = self._connect(replace(self._options, program=WAITS))
        spec = self._launch(backend, nodes)
        backend.launch(spec)
        pods, _ = self._api.list(paths.PODS, labelSelector=f"{names.ATTEMPT}={spec.attempt_id}")
        if len(pods) == len(spec.pods):
            self._report.ok("A gang of two was launched twice and made once.")
        else:
            self._report.failed(f"A gang of two, launched twice, has {len(pods)} pods.")
        if not has_kubelet:
            n_bound = self._n_bound(spec)
            self._report.missing(f"No kubelet: pods were made and released, {n_bound} of 2 bound; none can run here.")
        elif self._starts(backend, spec):
            self._stops(backend, spec)
            self._trains(nodes)
            self._is_withdrawn(nodes)
        self._leaves_nothing(backend)
        backend.close()

    def _n_bound(self, spec: LaunchSpec) -> int:
        """How many pods have a node, once all have one or the cluster's scheduler had time enough."""
        until = time.monotonic() + BOUND_S
        while True:
            pods, _ = self._api.list(paths.PODS, labelSelector=f"{names.ATTEMPT}={spec.attempt_id}")
            n_bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
            if n_bound == len(spec.pods) or time.monotonic() > until:
                return n_bound
            time.sleep(0.5)

    def _launch(self, backend: KubernetesBackend, nodes: Sequence[NodeStatus]) -> LaunchSpec:
        spec = two_workers(nodes)
        self.launched.append(spec)
        backend.launch(spec)
        return spec

    def _starts(self, backend: KubernetesBackend, spec: LaunchSpec) -> bool:
        status = _wait(backend, spec, lambda s: s.phase is GangPhase.RUNNING or s.phase.is_ended, seconds=START_S)
        if status is not None and status.phase is GangPhase.RUNNING:
            self._report.ok("Both pods met at the barrier and run.")
            return True
        state = f"{status.phase}: {status.cause or ''} {status.message}" if status else "it is not shown"
        self._report.failed(f"The gang did not start; {state}. The image is {self._options.image} (IMAGE=...).")
        return False

    def _stops(self, backend: KubernetesBackend, spec: LaunchSpec) -> None:
        backend.stop(spec.attempt_id, grace_s=20)
        status = _wait(backend, spec, lambda s: s.phase.is_ended, seconds=STOP_S)
        codes = {pod.exit_code for pod in status.pods} if status else set()
        if status is not None and status.phase is GangPhase.STOPPED and codes == {int(ExitCode.PREEMPTED)}:
            self._report.ok("Asked to stop, both pods left with their exit codes.")
        else:
            self._report.failed(f"Asked to stop, the gang ended as {status and status.phase} with {codes}.")

    def _trains(self, nodes: Sequence[NodeStatus]) -> None:
        backend = self._connect(replace(self._options, program=TRAINS))
        spec = self._launch(backend, nodes)
        status = _wait(backend, spec, lambda s: s.phase.is_ended, seconds=TRAIN_S)
        if status is not None and status.phase is GangPhase.SUCCEEDED:
            self._report.ok("Two workers found each other by name and trained a model together.")
        else:
            last_lines = "; ".join(list(backend.logs(spec.attempt_id, role=PodRole.WORKER, index=0))[-3:])
            self._report.failed(f"Two workers did not train: {status and (status.cause, status.message)}. {last_lines}")
        backend.close()

    def _is_withdrawn(self, nodes: Sequence[NodeStatus]) -> None:
        backend = self._connect(replace(self._options, image="mlhub.invalid/no-such-image:0"))
        spec = self._launch(backend, nodes)
        began = time.monotonic()
        status = _wait(backend, spec, lambda s: s.phase.is_ended, seconds=WITHDRAWN_S)
        if status is not None and status.cause is Cause.IMAGE:
            self._report.ok(
                f"An image that does not exist was reported as such after {time.monotonic() - began:.0f} s."
            )
        else:
            self._report.failed(f"An image that does not exist ended as {status and (status.phase, status.message)}.")
        backend.close()

    def _leaves_nothing(self, backend: KubernetesBackend) -> None:
        self.remove(backend)
        left = [
            found["metadata"]["name"]
            for path in (paths.PODS, paths.SERVICES, "/api/v1/configmaps", "/api/v1/secrets")
            for spec in self.launched
            for found in self._api.list(path, labelSelector=f"{names.ATTEMPT}={spec.attempt_id}")[0]
        ]
        if left:
            self._report.failed(f"Left behind: {', '.join(left)}.")
        else:
            self._report.ok("Nothing of the gangs was left behind.")

    def remove(self, backend: KubernetesBackend) -> None:
        """Ends every gang of the check, and drops what remains."""
        for spec in self.launched:
            backend.stop(spec.attempt_id, grace_s=0)
        for spec in self.launched:
            if _wait(backend, spec, lambda s: s.phase.is_ended, seconds=GONE_S) is not None:
                backend.stop(spec.attempt_id, grace_s=0)


def two_workers(nodes: Sequence[NodeStatus]) -> LaunchSpec:
    """On two nodes where there are two; on their CPUs, so that the check disturbs no job's GPU."""
    hosts = [nodes[0].name, nodes[1 % len(nodes)].name]
    resources = Resources(0, 0.25, 768 * MIB)
    return LaunchSpec(
        attempt_id=AttemptId(str(uuid4())),
        job_id=str(uuid4()),
        attempt_number=1,
        mode=SyncMode.ALL_REDUCE,
        pods=tuple(PodPlacement(PodRole.WORKER, i, hosts[i], resources) for i in range(2)),
        inputs=(),
        dataset=None,
        model=ModelSpec("builtin", "check"),
        training=TrainingSpec(1, 1),
        api_url="https://mlhub.invalid",
        token="none",
        gang_secret="00",
        checkpoint_uri="file:///nowhere",
        labels=LABELS,
        start_timeout_s=START_S,
    )


def _wait(
    backend: KubernetesBackend, spec: LaunchSpec, wanted: Callable[[AttemptStatus], bool], *, seconds: float
) -> AttemptStatus | None:
    """The gang's status once it is as wanted, or as it is when time is up; None when it is not shown."""
    until = time.monotonic() + seconds
    while True:
        status = next((s for s in backend.observe() if s.attempt_id == spec.attempt_id), None)
        if status is None or wanted(status) or time.monotonic() > until:
            return status
        time.sleep(0.5)
