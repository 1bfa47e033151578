# SPDX-License-Identifier: Apache-2.0
"""From the request to the first step: what a job's start consists of, and how long each part took.

Each phase ends at a mark. The platform's marks are written by the code that passes them, the pod's come as phase
reports of worker 0. A mark that was never made leaves its time to the phase after it, so that the phases always add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from mlhub.jobs.models import Attempt, Job

RECEIVED, VALIDATION_BEGUN, VALIDATED = "received", "validation_begun", "validated"  # in Job.startup
SUBMITTED, LAUNCHED = "submitted", "launched"  # columns of Job and Attempt
FIRST_STEP = "first_step"
OF_POD = ("pod_started", "inputs_ready", "imported", "prepared", "gang_ready", FIRST_STEP)  # in Attempt.startup
# by the mark that ends it: the phase's name
PHASES = {
    SUBMITTED: "request",
    VALIDATION_BEGUN: "validation_queue",
    VALIDATED: "validation",
    LAUNCHED: "scheduling",
    "pod_started": "launch",
    "inputs_ready": "inputs",
    "imported": "import",
    "prepared": "setup",
    "gang_ready": "rendezvous",
    FIRST_STEP: "first_batch",
}


@dataclass(frozen=True)
class StartupPhase:
    """name: a value of PHASES."""

    name: str
    started_at: datetime
    duration_s: float


@dataclass(frozen=True)
class InputsOnNode:
    """How a node came to an attempt's inputs: what was not in its cache was fetched. fetch_s: seconds of fetching."""

    node: str
    inputs_bytes: int
    fetched_bytes: int
    fetch_s: float

    @property
    def found_bytes(self) -> int:
        return self.inputs_bytes - self.fetched_bytes


@dataclass(frozen=True)
class Startup:
    """Of one attempt; number None: none was launched yet. Only the first one begins with the request.

    is_complete: the first step is made; else the newest phase is missing, since it has not ended. inputs: of nodes
    whose pods have reported; none where pods read their inputs in place.
    """

    number: int | None
    phases: tuple[StartupPhase, ...]
    is_complete: bool
    inputs: tuple[InputsOnNode, ...] = ()

    @property
    def total_s(self) -> float:
        return sum(phase.duration_s for phase in self.phases)


def with_mark(marks: dict[str, float], name: str, at: datetime) -> dict[str, float]:
    """The marks with one more; one that was made before stays."""
    return {name: at.timestamp()} | marks


def mark_attempt(attempt: Attempt, name: str, at: datetime, *, now: datetime) -> None:
    """Stores a pod's mark, unless there is one. Its clock may differ: the mark lies between the launch and now."""
    if name not in OF_POD:
        return
    known = Attempt.objects.values_list("startup", flat=True).get(pk=attempt.pk)
    if name not in known:
        marks = with_mark(known, name, min(max(at, attempt.created_at), now))
        Attempt.objects.filter(pk=attempt.pk).update(startup=marks)


def startup_of(job: Job, attempt: Attempt | None) -> Startup:
    """attempt: the one to show; None: none was launched."""
    at: dict[str, datetime] = {}
    if attempt is None or not job.attempts.filter(number__lt=attempt.number).exists():
        at |= {name: _moment(seconds) for name, seconds in job.startup.items()}
        at[SUBMITTED] = job.submitted_at
    if attempt is not None:
        at |= {name: _moment(seconds) for name, seconds in attempt.startup.items()}
        at[LAUNCHED] = attempt.created_at
    begun, *ends = (mark for mark in (RECEIVED, *PHASES) if mark in at)
    phases, reached = [], at[begun]
    for mark in ends:
        end = max(at[mark], reached)  # of several machines' clocks
        phases.append(StartupPhase(PHASES[mark], reached, (end - reached).total_seconds()))
        reached = end
    return Startup(
        None if attempt is None else attempt.number,
        tuple(phases),
        is_complete=FIRST_STEP in at,
        inputs=inputs_on_nodes(attempt),
    )


def inputs_on_nodes(attempt: Attempt | None) -> tuple[InputsOnNode, ...]:
    """By the node's name."""
    known = {} if attempt is None else attempt.inputs
    return tuple(InputsOnNode(node, **known[node]) for node in sorted(known))


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
