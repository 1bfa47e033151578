"""What a policy is: it sees the jobs it may decide, asks the budget, and answers who gets how many workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from scheduler.api.plan import Explanation
from scheduler.api.snapshot import JobSnapshot, PairObservation, TenantSnapshot
from scheduler.api.topology import Node
from scheduler.models.interference.interference_cache import InterferenceCache
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.gangs import Packing
from scheduler.quota.budget import Budget


@dataclass(frozen=True)
class View:
    """What a policy decides over: waiting and running jobs that may start, change or stop in this round.

    settled: the other jobs of the snapshot, on their way in or out or on hold; nothing is to be decided on them.
    pairs: what sharing a GPU gave so far, by families. max_jobs_per_gpu: of the nodes that allow the most.
    nodes: all of the cluster. free(): by node that takes jobs, its GPUs that nobody is certain to keep: what candidates
    hold counts as free. For policies that search over places; the others leave nodes to placement. explains: False =
    nobody reads the reasons, so that none need be worked out that cost time. interference: what models of
    pairs predicted, kept from round to round.
    """

    now_s: float
    jobs: tuple[JobSnapshot, ...]
    tenants: tuple[TenantSnapshot, ...]
    speeds: JobSpeeds
    seed: int = 0
    settled: tuple[JobSnapshot, ...] = ()
    nodes: tuple[Node, ...] = ()
    pairs: tuple[PairObservation, ...] = ()
    max_jobs_per_gpu: int = 1
    free: Callable[[], Mapping[str, int]] = dict
    explains: bool = True
    interference: InterferenceCache = field(default_factory=InterferenceCache)


@dataclass(frozen=True)
class Grant:
    """A job's size from now on. The explanations are used if the job starts or changes by it.

    least_workers: smaller sizes that will do, down to this, where the whole size finds no good place; 0 = none.
    n_nodes: to spread it over that many nodes evenly, if they have room; 0 = as the packing says.
    spots: so many workers on these nodes and nowhere else, for policies that search over places; a running job that
    lies otherwise is moved as soon as they are free. Empty = wherever placement finds best.
    beside: jobs, granted before it or settled, on whose very GPUs it is placed; as many as they hold together.
    only_beside: False = on theirs and on free ones alike, as placement finds best; those that have no place are left
    out, and a running job stays where it is.
    gathers: if it lies on several nodes and is slow for it, it goes to one, and smaller jobs in its way go aside.
    """

    job: str
    n_workers: int
    gpu_type: str
    explanations: tuple[Explanation, ...]
    packing: Packing = Packing.TIGHT
    n_nodes: int = 0
    least_workers: int = 0
    spots: tuple[tuple[str, int], ...] = ()
    beside: tuple[str, ...] = ()
    only_beside: bool = True
    gathers: bool = False


@dataclass(frozen=True)
class Proposal:
    """A policy's answer. A running job without a grant is to give its GPUs back.

    grants: in the order in which they are placed. order: all jobs, the one that gets the next GPU first.
    notes: why running jobs stay as they are or lose their GPUs. memory: for the policy's next round, JSON values only.
    sizes: the sizes a waiting job may start with, ascending; where none are given, its fixed size. wake_at_s: when to
    decide again although nothing else happens. is_final: all is placed as if everybody who changes had left, and
    kept free; for the reproduction of simulators in which nothing takes time. fills: GPUs that placement could not use
    as granted go to all who wait within their tenant's guarantee, at their least sizes; else only to its claims.
    in_turn: nobody who waits is passed.
    """

    grants: tuple[Grant, ...]
    order: tuple[str, ...]
    notes: Mapping[str, tuple[Explanation, ...]] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    wake_at_s: float | None = None
    is_final: bool = False
    fills: bool = False
    in_turn: bool = False


class Policy(Protocol):
    """Decides sizes and order, nothing else: quota is the budget's, nodes are placement's.

    A policy that makes jobs smaller and larger says so: sizes_jobs: ClassVar[bool] = True.
    """

    @property
    def name(self) -> str: ...

    def propose(self, view: View, *, budget: Budget, memory: Mapping[str, Any]) -> Proposal: ...


def n_held(job: JobSnapshot) -> int:
    """GPUs that the job holds now."""
    return 0 if job.held is None else job.held.n_workers


def by_submission(job: JobSnapshot) -> tuple[int, float, str]:
    """Higher priority first, then first come, first served."""
    return -job.priority, job.submitted_at_s, job.id


def longest_run_first(job: JobSnapshot) -> tuple[float, int, float, str]:
    """Who holds GPUs longest, first: the order in which running jobs are confirmed where not all may stay."""
    return (-float(job.priority), 0, job.allocated_at_s or 0.0, job.id)
