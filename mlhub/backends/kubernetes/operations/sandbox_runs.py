# SPDX-License-Identifier: Apache-2.0
"""Makes, observes and removes the Jobs that run uploaded code once, each in its project's namespace."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from mlhub.backends.kubernetes import names
from mlhub.backends.kubernetes.client import paths
from mlhub.backends.kubernetes.client.api import KubernetesApi
from mlhub.backends.kubernetes.client.errors import ApiError, KubeConflictError, KubeNotFoundError
from mlhub.backends.kubernetes.client.mirror import Mirror
from mlhub.backends.kubernetes.client.objects import Object
from mlhub.backends.kubernetes.operations.launching import refusal
from mlhub.backends.kubernetes.operations.projects import Projects
from mlhub.backends.kubernetes.options import KubernetesOptions
from mlhub.backends.kubernetes.ownership import address_of
from mlhub.backends.kubernetes.quarantine import DAMAGES, Quarantine
from mlhub.backends.kubernetes.specs import sandbox_jobs
from mlhub.backends.kubernetes.specs.manifests import owned_by
from mlhub.backends.kubernetes.status.problems import condition, ending, obstacle, when
from mlhub.backends.protocol import (
    BackendUnavailableError,
    ItemKind,
    LaunchError,
    SandboxRunPhase,
    SandboxRunStatus,
    SandboxSpec,
)
from mlhub.wire.exits import Cause

JOBS = "/apis/batch/v1/jobs"
STEP = "runs of uploaded code"
NO_POD_AFTER_S = 5.0  # until then the cluster's own controller may not have come to the Job
NO_ROOM_AFTER_S = 240.0  # other pods may make room for as long
RunFailure = LaunchError | BackendUnavailableError


class SandboxRuns:
    """each: `map` of a pool of threads, for requests that write."""

    def __init__(
        self,
        api: KubernetesApi,
        options: KubernetesOptions,
        *,
        projects: Projects,
        quarantine: Quarantine,
        now: Callable[[], datetime],
        each: Callable[
            [Callable[[SandboxSpec], RunFailure | None], Iterable[SandboxSpec]], Iterable[RunFailure | None]
        ],
    ) -> None:
        self._api, self._options, self._projects = api, options, projects
        self._quarantine, self._now, self._each = quarantine, now, each
        self._jobs = Mirror(api, JOBS, selector=names.SANDBOX_RUN)
        self._pods = Mirror(api, paths.PODS, selector=names.SANDBOX_RUN)

    def close(self) -> None:
        self._jobs.close()
        self._pods.close()

    def start(self, specs: Sequence[SandboxSpec]) -> dict[str, RunFailure]:
        first = {names.namespace_of(spec.labels, prefix=self._options.namespace_prefix): spec for spec in specs}
        for spec in first.values():
            self._projects.learn_limit(spec.labels)
        homeless = {name: failure for name, spec in first.items() if (failure := self._prepare(spec)) is not None}
        found: dict[str, RunFailure] = {}
        ready: list[SandboxSpec] = []
        for spec in specs:
            failure = homeless.get(names.namespace_of(spec.labels, prefix=self._options.namespace_prefix))
            if failure is None:
                ready.append(spec)
            else:
                found[spec.run_id] = failure
        for spec, outcome in zip(ready, self._each(self._start, ready), strict=True):
            if outcome is not None:
                found[spec.run_id] = outcome
        return found

    def observe(self) -> list[SandboxRunStatus]:
        """Raises BackendUnavailableError."""
        self._jobs.start()
        self._pods.start()
        pods = {self._owner_of(pod): pod for pod in self._pods.objects()}
        found: list[SandboxRunStatus] = []
        with self._quarantine.renewed("sandbox runs"):
            for job in self._own_jobs():
                run_id = str(job["metadata"]["labels"][names.SANDBOX_RUN])
                try:
                    found.append(self._status(run_id, job, pods.get(str(job["metadata"]["uid"]))))
                except DAMAGES as error:
                    words = f"Its objects in the cluster are damaged ({type(error).__name__}: {error})."
                    self._quarantine.add("sandbox runs", ItemKind.STEP, STEP, f"{address_of(job)}: {words}")
                    found.append(SandboxRunStatus(run_id, SandboxRunPhase.FAILED, words))
        return sorted(found, key=lambda status: status.run_id)

    def remove(self, run_ids: Iterable[str]) -> None:
        """The Secret goes with its Job, which the cluster collects; it is asked for all the same, so that no token
        waits for that."""
        wanted = set(run_ids)
        for job in self._own_jobs():
            metadata = job["metadata"]
            if str(metadata["labels"][names.SANDBOX_RUN]) in wanted:
                self._remove(str(metadata["namespace"]), str(metadata["name"]), uid=str(metadata["uid"]))

    def _prepare(self, spec: SandboxSpec) -> RunFailure | None:
        try:
            self._projects.ensure(spec.labels, spec.api_url)
        except (LaunchError, BackendUnavailableError) as error:
            return error
        except ApiError as error:
            return refusal(error)
        return None

    def _start(self, spec: SandboxSpec) -> RunFailure | None:
        """1. the Job, suspended; 2. its Secret; 3. the Job goes on. A repeat continues where one broke off."""
        wanted = sandbox_jobs.sandbox_job(spec, self._options)
        try:
            job = self._made(wanted)
            with contextlib.suppress(KubeConflictError):
                secret = owned_by(sandbox_jobs.token_secret(spec, self._options), job)
                self._api.create(paths.collection_of(secret), secret)
            if job["spec"].get("suspend"):
                job = self._api.patch(paths.of(job, "Job"), {"spec": {"suspend": False}})
            self._jobs.put(job)
        except LaunchError as error:
            return error
        except ApiError as error:
            with contextlib.suppress(ApiError, BackendUnavailableError):
                self._remove(wanted["metadata"]["namespace"], wanted["metadata"]["name"])
            is_gone = isinstance(error, KubeNotFoundError)
            return BackendUnavailableError(f"The project's namespace is gone: {error}") if is_gone else refusal(error)
        except BackendUnavailableError as error:
            return error
        return None

    def _made(self, wanted: Object) -> Object:
        try:
            return self._api.create(paths.collection_of(wanted), wanted)
        except KubeConflictError as error:
            if error.is_race:
                raise
        found = self._api.get(paths.of(wanted, "Job"))
        if not self._is_own(found):
            raise LaunchError(
                f"The Job {address_of(found)} is in the way: it is not MLHub's.", cause=Cause.LAUNCH_FAILED
            )
        return found

    def _remove(self, namespace: str, name: str, *, uid: str = "") -> None:
        with self._quarantine.guarded("sandbox runs", ItemKind.STEP, STEP):
            self._api.delete(paths.one("Job", namespace, name))
            self._api.delete(paths.one("Secret", namespace, name))
            if uid:
                self._jobs.drop(uid)

    def _own_jobs(self) -> list[Object]:
        """Look-alikes are left alone: in others' namespaces, under other names, of other installations."""
        own = self._projects.own()
        return [job for job in self._jobs.objects() if job["metadata"]["namespace"] in own and self._is_own(job)]

    def _is_own(self, job: Object) -> bool:
        labels = job["metadata"].get("labels") or {}
        is_ours = labels.get(names.INSTALLATION) == self._options.installation_id
        return is_ours and job["metadata"]["name"] == sandbox_jobs.job_name(str(labels.get(names.SANDBOX_RUN)))

    def _owner_of(self, pod: Object) -> str:
        owners = [o for o in pod["metadata"].get("ownerReferences") or [] if o.get("kind") == "Job"]
        return str(owners[0].get("uid")) if owners else ""

    def _status(self, run_id: str, job: Object, pod: Object | None) -> SandboxRunStatus:
        phase, message = SandboxRunPhase.UNDER_WAY, ""
        if condition(job, "Complete").get("status") == "True":
            return SandboxRunStatus(run_id, SandboxRunPhase.DONE)
        end = ending(pod, lost_node=None, now=self._now()) if pod is not None else None
        failed = condition(job, "Failed")
        if end is not None and end.cause is Cause.OUT_OF_MEMORY:
            phase, message = SandboxRunPhase.OUT_OF_MEMORY, end.message
        elif end is not None and "ephemeral" in end.message:
            phase, message = SandboxRunPhase.OUT_OF_DISK, end.message
        elif failed.get("status") == "True":
            phase, message = SandboxRunPhase.FAILED, self._why_failed(failed, end.message if end else "", pod)
        elif end is not None and end.code != 0:
            phase, message = SandboxRunPhase.FAILED, f"container: {end.message or f'exit status {end.code}'}"
        elif end is None and (words := self._hindrance(job, pod)):
            phase, message = SandboxRunPhase.FAILED, words
        return SandboxRunStatus(run_id, phase, message)

    def _why_failed(self, failed: Object, words: str, pod: Object | None) -> str:
        if failed.get("reason") == "DeadlineExceeded":
            stuck = obstacle(pod, (), now=self._now(), unschedulable_after_s=0.0) if pod is not None else None
            return f"deadline: it was not done in time. {stuck or ''}".strip()
        return words or str(failed.get("message") or "The cluster ended it.")

    def _hindrance(self, job: Object, pod: Object | None) -> str:
        """What keeps its pod from being made or started, and will not pass by itself; "" = nothing."""
        if pod is not None:
            found = obstacle(pod, (), now=self._now(), unschedulable_after_s=NO_ROOM_AFTER_S)
            return str(found) if found is not None else ""
        began = when((job.get("status") or {}).get("startTime") or job["metadata"].get("creationTimestamp"))
        if job["spec"].get("suspend") or began is None or (self._now() - began).total_seconds() < NO_POD_AFTER_S:
            return ""
        return self._refused_pod(job)

    def _refused_pod(self, job: Object) -> str:
        """Of a Job without a pod, the words with which the cluster refused its controller one."""
        try:
            events, _ = self._api.list(
                paths.collection("Event", job["metadata"]["namespace"]),
                fieldSelector=f"involvedObject.uid={job['metadata']['uid']},type=Warning",
            )
        except ApiError:
            return ""
        words = next((str(e.get("message", "")) for e in events if e.get("reason") == "FailedCreate"), "")
        if not words:
            return ""
        return f"quota: {words}" if "exceeded quota" in words else f"policy: {words}"
