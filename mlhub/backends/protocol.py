# SPDX-License-Identifier: Apache-2.0
"""The five verbs of a backend, one for its volumes, and one for what it could not read; and runs in the sandbox.

All are idempotent and keyed by attempt, or by run; none knows of quota, queues or tenants."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, runtime_checkable

from mlhub.wire.exits import Cause
from mlhub.wire.launch import AttemptId, LaunchSpec, PodRole
from mlhub.wire.sandbox import SandboxTask


class GangPhase(StrEnum):
    """The gang as a whole. STARTING until every pod runs; ended phases are final."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    STOPPED = "stopped"  # ended because stop() asked for it; every pod left with PREEMPTED, DONE or a signal we sent
    FAILED = "failed"

    @property
    def is_ended(self) -> bool:
        return self in (GangPhase.SUCCEEDED, GangPhase.STOPPED, GangPhase.FAILED)


@dataclass(frozen=True)
class PodStatus:
    role: PodRole
    index: int
    node: str
    is_running: bool
    exit_code: int | None = None


@dataclass(frozen=True)
class AttemptStatus:
    """One gang as it is now. cause and message explain FAILED (and STOPPED when pods did not save).

    message of a gang that runs: what became of workers that it survives.
    """

    attempt_id: AttemptId
    phase: GangPhase
    pods: tuple[PodStatus, ...]
    cause: Cause | None = None
    message: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True)
class GpuStatus:
    """One GPU of a node as its driver shows it. memory_bytes, used_bytes: of its memory.

    utilisation: the fraction of the last moments in which a kernel ran; temperature_c: degrees Celsius; None: the
    driver does not say. problem: why no job may start on it; "" = none.
    """

    index: int
    uuid: str
    name: str
    memory_bytes: int
    used_bytes: int
    utilisation: float | None = None
    temperature_c: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class NodeStatus:
    """One node as it is now. NIC and uplink in bits per second; slots are GPU indices 0..n_slots-1.

    max_jobs_per_gpu: so many jobs may hold a slot at once; 1 = none is shared. shares_within_project: only jobs of one
    project may hold it together. gpu_memory_bytes: of one GPU; 0 = not known. sharing: the same for people. gpus: by
    their driver, where the backend can ask it. has_own_cache: what pods fetched there, later ones find there and on no
    other node.
    """

    name: str
    rack: str
    gpu_type: str
    n_slots: int
    cpus: float
    memory_bytes: int
    nic_bps: float
    rack_uplink_bps: float
    is_ready: bool = True
    is_schedulable: bool = True
    message: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    max_jobs_per_gpu: int = 1
    gpu_memory_bytes: int = 0
    shares_within_project: bool = False
    sharing: str = ""
    gpus: tuple[GpuStatus, ...] = ()
    has_own_cache: bool = False


class ItemKind(StrEnum):
    """What kind of thing was quarantined. name of a QuarantinedItem: the id of a gang, attempt, job or project, or
    of the owner of a quota, the name of a node or pod, a GPU ("node-1/0"), or a step of the round."""

    GANG = "gang"
    POD = "pod"
    NODE = "node"
    GPU = "gpu"
    ATTEMPT = "attempt"
    JOB = "job"
    PROJECT = "project"
    QUOTA = "quota"
    STEP = "step"


@dataclass(frozen=True)
class QuarantinedItem:
    """One thing that could not be read or handled, and was left out so that all others could be.

    reason: one line for administrators, without secrets, at most 500 characters. since: when it was first found.
    """

    kind: ItemKind
    name: str
    reason: str
    since: datetime


class LaunchError(Exception):
    """The gang could not be started and never will be as specified. cause: why."""

    def __init__(self, message: str, *, cause: Cause) -> None:
        super().__init__(message)
        self.cause = cause


class BackendUnavailableError(Exception):
    """The backend cannot be reached now; the same call may succeed later."""


def refusal_of_image(spec: LaunchSpec) -> LaunchError | None:
    """Of a backend whose pods are processes: the job may have been submitted when the platform had another one."""
    if not spec.image:
        return None
    return LaunchError(
        f"The job brings the image {spec.image}, and pods run in no container here.", cause=Cause.JOB_IMAGE
    )


def launch_each(
    launch: Callable[[LaunchSpec], None], specs: Iterable[LaunchSpec]
) -> dict[AttemptId, LaunchError | BackendUnavailableError]:
    """launch_all() of a backend that launches one gang after the other."""
    failed: dict[AttemptId, LaunchError | BackendUnavailableError] = {}
    for spec in specs:
        try:
            launch(spec)
        except (LaunchError, BackendUnavailableError) as error:
            failed[spec.attempt_id] = error
    return failed


def stop_each(
    stop: Callable[[AttemptId, float], None], stops: Mapping[AttemptId, float]
) -> dict[AttemptId, BackendUnavailableError]:
    """stop_all() of a backend that stops one gang after the other."""
    failed: dict[AttemptId, BackendUnavailableError] = {}
    for attempt_id, grace_s in stops.items():
        try:
            stop(attempt_id, grace_s)
        except BackendUnavailableError as error:
            failed[attempt_id] = error
    return failed


class Backend(Protocol):
    """reads_platform_disk: whether inputs may be files of the platform's disk; else pods fetch them by HTTP."""

    @property
    def reads_platform_disk(self) -> bool: ...

    def launch(self, spec: LaunchSpec) -> None:
        """Start the gang, all or nothing. A second call with the same attempt changes nothing.

        Raises LaunchError (final) or BackendUnavailableError (retry). Nothing is left behind by either.
        """

    def launch_all(self, specs: Sequence[LaunchSpec]) -> Mapping[AttemptId, LaunchError | BackendUnavailableError]:
        """Launches each gang as launch() does, several at once where the backend can.

        Returns the gangs that failed, each with its own error: one that is refused costs the others nothing. Raises
        BackendUnavailableError where nothing could be tried.
        """

    def stop(self, attempt_id: AttemptId, *, grace_s: float) -> None:
        """Ask every pod to save and leave (SIGTERM); kill what is left after grace_s. Returns at once.

        Of a gang that has ended, drop the remains: it is gone from observe() then. Unknown attempts are ignored.
        """

    def stop_all(self, stops: Mapping[AttemptId, float]) -> Mapping[AttemptId, BackendUnavailableError]:
        """Stops each gang as stop() does, several at once where the backend can. stops: grace_s by attempt.

        Returns the gangs for which the backend could not be reached: one of them costs the others nothing.
        """

    def observe(self) -> Sequence[AttemptStatus]:
        """Every gang there is, ended ones until stop() drops them. Level-triggered: the truth now, not what changed."""

    def inventory(self) -> Sequence[NodeStatus]:
        """Every node there is."""

    def logs(self, attempt_id: AttemptId, *, role: PodRole, index: int) -> Iterator[str]:
        """A pod's output as the backend has it, oldest first; a fall-back for when nothing was shipped."""

    def sweep_checkpoints(self, labels: Mapping[str, str], *, ended: Collection[str], older_than_s: float) -> None:
        """Has checkpoints removed that only the backend's pods reach: of a project's jobs that are known to be over, if
        nothing was written to them for so long. What belongs to other jobs, known or not, stays. Returns at once.

        ended: ids of jobs. Does nothing where checkpoints lie on the platform's own disk. labels: as in a LaunchSpec.
        Raises BackendUnavailableError.
        """

    def quarantined(self) -> tuple[QuarantinedItem, ...]:
        """Returns what the newest observe() and inventory(), and calls since, found damaged and left out or ended.

        Each kind and name occurs once; an item keeps its `since` as long as it is found damaged. Asks the cluster
        nothing and raises nothing.
        """


@dataclass(frozen=True)
class SandboxSpec:
    """One run of strangers' code, as control asks for it. token: opens the run's task and files at api_url, and takes
    how it ended. deadline_s: for all of it, the start included. labels: as in a LaunchSpec."""

    run_id: str
    task: SandboxTask
    api_url: str
    token: str
    deadline_s: float
    labels: Mapping[str, str]


class SandboxRunPhase(StrEnum):
    """FAILED: the platform could not make the run. OUT_OF_MEMORY, OUT_OF_DISK: the run used more than it may."""

    UNDER_WAY = "under_way"
    DONE = "done"
    OUT_OF_MEMORY = "out_of_memory"
    OUT_OF_DISK = "out_of_disk"
    FAILED = "failed"


@dataclass(frozen=True)
class SandboxRunStatus:
    """One run as the cluster shows it. message: why it failed, in words. Of a run that is DONE the pod has reported."""

    run_id: str
    phase: SandboxRunPhase
    message: str = ""


@runtime_checkable
class SandboxRunBackend(Protocol):
    """A backend that makes runs in the sandbox in its cluster."""

    def start_sandbox_runs(self, specs: Sequence[SandboxSpec]) -> Mapping[str, LaunchError | BackendUnavailableError]:
        """Starts each run; of one that was started nothing changes. Returns the runs that failed, each with its error.

        Nothing is left behind by those.
        """

    def observe_sandbox_runs(self) -> Sequence[SandboxRunStatus]:
        """Every run there is, ended ones too. Raises BackendUnavailableError."""

    def remove_sandbox_runs(self, run_ids: Sequence[str]) -> None:
        """Ends runs and removes all that is left of them. Unknown ones are ignored. Raises BackendUnavailableError."""
