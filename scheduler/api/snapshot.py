# SPDX-License-Identifier: Apache-2.0
"""What a round sees: cluster, jobs and tenants at one instant, frozen. Times in seconds since any fixed epoch."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum
from operator import itemgetter, le
from typing import Any, NamedTuple

from scheduler.api.gpu_budgets import GpuHourBudget, QuotaChange
from scheduler.api.sharing_measurements import PairObservation, Profile
from scheduler.api.topology import FETCH_BPS, InputSet, NodeSnapshot, RackSnapshot
from scheduler.api.unlocked_properties import unlocked_cached_property
from scheduler.api.user_limits import UserLimit

_TOP_PRIORITY = 8
LEAST = {  # that a number of a job may be
    "min_workers": 1, "max_workers": 1, "submitted_at_s": -1e15, "steps_total": 0, "steps_done": 0, "batch_size": 1,
    "cpus_per_worker": 0, "memory_per_worker_bytes": 0, "cpus_per_server": 0, "memory_per_server_bytes": 0,
    "parameters_bytes": 0, "example_s": 0, "step_overhead_s": 0, "start_s": 0, "checkpoint_s": 0, "lost_s": 0,
    "executed_gpu_s": 0, "start_error": 0, "noise_scale": 0, "likely_steps_left": 0, "min_local_batch": 0,
    "max_local_batch": 1, "max_batch_size": 1, "requested_workers": 0, "requested_servers": 0, "used_batch_size": 1,
    "allocated_at_s": -1e15, "last_resized_at_s": -1e15, "training_since_s": -1e15, "hold_until_s": -1e15,
    "priority": -1e15, "n_preemptions": 0,
}  # fmt: skip
MAY_BE_NONE = frozenset({
    "example_s", "noise_scale", "likely_steps_left", "max_local_batch", "max_batch_size", "requested_workers",
    "requested_servers", "used_batch_size", "allocated_at_s", "last_resized_at_s", "training_since_s", "hold_until_s",
})  # fmt: skip


MOST = 9e15  # that any number may be: larger ones are no exact whole numbers, or overflow what is computed of them
MOST_OF = {"start_error": 100.0, "min_workers": 1 << 20, "max_workers": 1 << 20}  # less, of a job
_LEAST_SEEN = {  # that a number of a measurement may be
    "n_workers": 1, "n_servers": 0, "n_nodes": 0, "n_racks": 0, "batch_size": 1, "step_s": 0, "compute_s": 0,
    "sync_s": 0, "n_steps": 0, "observed_at_s": -1e15, "share": 1e-6,
}  # fmt: skip


class Mode(StrEnum):
    """Names how a job's workers synchronise; the values are the same as on the wire."""

    ALL_REDUCE = "all_reduce"
    PARAMETER_SERVER = "parameter_server"

    __hash__ = str.__hash__  # an enum's own is slow, and modes are in many keys


class Phase(StrEnum):
    """Names where a job stands, as far as a round needs to know."""

    WAITING = "waiting"  # wants GPUs, holds none
    STARTING = "starting"  # holds an allocation, does not train yet
    RUNNING = "running"
    STOPPING = "stopping"  # still holds its allocation, is on its way out


@dataclass(frozen=True)
class NodeAllocation:
    """Holds what one node gives to a job. gpus are GPU indices on that node; servers use CPU and NIC only."""

    node: str
    gpus: tuple[int, ...] = ()
    n_servers: int = 0


@dataclass(frozen=True)
class GangAllocation:
    """Holds mode, size and place of a gang, with one worker per GPU; n_servers is 0 under all-reduce."""

    mode: Mode
    n_workers: int
    n_servers: int
    shares: tuple[NodeAllocation, ...]

    def __hash__(self) -> int:
        return self._hash

    @unlocked_cached_property
    def _hash(self) -> int:
        """Worked out once: allocations are looked up again and again."""
        return hash((self.mode, self.n_workers, self.n_servers, self.shares))

    def __getstate__(self) -> dict[str, Any]:
        """Without the hash, which is another one in another process."""
        return {name: value for name, value in self.__dict__.items() if name != "_hash"}


@dataclass(frozen=True)
class SpeedObservation:
    """Holds a step time measured on a real allocation of the job, or of an earlier job of its family.

    share: the part of what the gang's links give it alone that it had, 0 to 1, because other gangs sent over them too;
    it follows from the bytes and seconds that its pods count.
    """

    mode: Mode
    n_workers: int
    n_servers: int
    n_nodes: int
    n_racks: int
    gpu_type: str
    batch_size: int  # global
    step_s: float
    compute_s: float  # computation's part of step_s
    sync_s: float  # exposed synchronisation's part of step_s
    n_steps: int  # steps behind the means
    observed_at_s: float = 0.0
    share: float = 1.0

    @unlocked_cached_property
    def shape(self) -> tuple[Mode, int, int, int, str]:
        """Returns what distinguishes the measurement from those of other layouts, as shape_of() of a layout."""
        return self.mode, self.n_workers, self.n_servers, self.n_nodes, self.gpu_type

    @unlocked_cached_property
    def like(self) -> tuple[object, ...]:
        """Returns the shape, the batch and the part of its links that it had: measurements that are alike in these are
        of the same thing.
        """
        return *self.shape, self.batch_size, round(self.share, 1)

    @unlocked_cached_property
    def bad_number(self) -> str | None:
        """Returns the first field that is no number within its bounds, and what it must be; or None."""
        values, bounds = self.__dict__, _LEAST_SEEN.items()
        return next((_must_be(name, values[name], n) for name, n in bounds if not n <= values[name] <= MOST), None)


class Needs(NamedTuple):
    """Holds all that decides whether a job could ever run on a cluster."""

    tenant: str
    min_workers: int
    cpus_per_worker: float
    memory_per_worker_bytes: int
    gpu_types: tuple[str, ...]
    user: str


@dataclass(frozen=True)
class JobSnapshot:
    """One job. steps count optimiser steps of the global batch; a worker's batch is batch_size / n_workers.

    family: jobs of one family (same model code and dataset) are expected to behave alike.
    example_s: seconds to compute one example forward and backward on one GPU of the reference type, measured at
    preflight; None when unknown. parameters_bytes: size of one full gradient. step_overhead_s: fixed cost of a step.
    start_s: seconds from launch to the first step, as learnt, and start_error: standard deviation of their logarithm;
    checkpoint_s: seconds to save and leave; lost_s: of work that a stop loses, because it was done after the last
    checkpoint (models/cost.py).
    priority: higher first. mode: pinned by the user, None = the scheduler's choice.
    hold: why the platform itself keeps a waiting job from running now (a Reason's value), or None; hold_until_s: when
    that ends, if it is known.
    requested_workers: what a policy of fixed sizes gives; None = min_workers. requested_servers: where it runs on
    servers, so many, as far as they find room; None = the scheduler's choice.
    max_batch_size: the user allows global batches from batch_size to this; None = the batch is fixed. min_local_batch,
    max_local_batch: examples that one worker needs and can hold in one pass. noise_scale: of the gradient, in examples,
    as measured lately; None = not known. Steps are always counted at batch_size. noise_ahead: what it will be, as jobs
    of the family showed it: (steps done, noise scale then), ascending. used_batch_size: what it trains with now, or did
    last; None = batch_size. counts_examples: a larger batch does not prolong the training, which ends after
    steps_total * batch_size examples, whatever each is worth; False: it ends after as much progress (Pollux).
    length_is_known: False where the length of training was not declared; steps_total has no meaning then.
    likely_steps_left: filled in by the round where that is so, from how long others turned out to be.
    study: of which it is a trial, and its name for people; "" = of none. The trials of a study have one equal part
    together (quota/studies.py).
    user: whose job it is, where limits of users count for it; "" = none do.
    inputs: the key of the InputSet that it reads; "" = it is not known what nodes hold of it.
    shares_within: it shares GPUs only with jobs that say the same, such as those of its project.
    profile: what it needs; None = never profiled, and then it never shares a GPU. observations are of the job alone on
    its GPUs; what was measured of co-located jobs is in ClusterSnapshot.pairs.
    """

    id: str
    tenant: str
    submitted_at_s: float
    steps_total: int
    batch_size: int
    name: str = ""
    family: str = ""
    priority: int = 0
    phase: Phase = Phase.WAITING
    allocation: GangAllocation | None = None
    allocated_at_s: float | None = None
    training_since_s: float | None = None
    steps_done: float = 0.0
    mode: Mode | None = None
    min_workers: int = 1
    max_workers: int = 64
    cpus_per_worker: float = 1.0
    memory_per_worker_bytes: int = 0
    cpus_per_server: float = 1.0
    memory_per_server_bytes: int = 0
    parameters_bytes: int = 0
    example_s: float | None = None
    step_overhead_s: float = 0.0
    start_s: float = 15.0
    checkpoint_s: float = 2.0
    observations: tuple[SpeedObservation, ...] = ()
    executed_gpu_s: float = 0.0  # GPU-seconds held so far
    last_resized_at_s: float | None = None
    n_preemptions: int = 0
    hold: str | None = None
    gpu_types: tuple[str, ...] = ()  # allowed types; empty = any
    hold_until_s: float | None = None
    requested_workers: int | None = None
    max_batch_size: int | None = None
    min_local_batch: int = 1
    max_local_batch: int | None = None
    noise_scale: float | None = None
    noise_ahead: tuple[tuple[float, float], ...] = ()
    length_is_known: bool = True
    likely_steps_left: float | None = None
    shares_within: str = ""
    profile: Profile | None = None
    lost_s: float = 0.0
    requested_servers: int | None = None
    start_error: float = 0.5
    used_batch_size: int | None = None
    counts_examples: bool = False
    study: str = ""
    study_name: str = ""
    user: str = ""
    inputs: str = ""

    def progressed(self, *, steps_done: float, executed_gpu_s: float) -> JobSnapshot:
        """Returns the same job after more training."""
        return self.moved_on(steps_done=steps_done, executed_gpu_s=executed_gpu_s)

    def moved_on(self, **changes: Any) -> JobSnapshot:
        """Returns the same job with these fields changed: dataclasses.replace(), in half the time."""
        values = list(_VALUES(self.__dict__))
        for name, value in changes.items():
            values[_PLACES[name]] = value
        return JobSnapshot(*values)

    @property
    def priority_weight(self) -> float:
        """Returns the weight of the job's priority: 4 for each step of priority, up to eight steps in both
        directions.
        """
        return 4.0 ** max(-_TOP_PRIORITY, min(_TOP_PRIORITY, self.priority)) if self.priority else 1.0

    @unlocked_cached_property
    def fixed_workers(self) -> int:
        """Returns the size that a policy of fixed sizes gives, within the job's limits."""
        return max(self.min_workers, min(self.requested_workers or self.min_workers, self.max_workers))

    @unlocked_cached_property
    def held(self) -> GangAllocation | None:
        """Returns what the job holds at this moment; None for a waiting job."""
        return None if self.phase is Phase.WAITING else self.allocation

    @unlocked_cached_property
    def is_sound(self) -> bool:
        """Returns whether its fields can be worked with, and do not contradict each other."""
        has_place = self.phase is Phase.WAITING or self.allocation is not None
        return has_place and 1 <= self.min_workers <= self.max_workers and self.bad_number is None

    @property
    def bad_number(self) -> str | None:
        """Returns the first field that is no number within its bounds, and what it must be; or None."""
        values = self.__dict__
        numbers = _NUMBERS(values)
        are_sound = None not in numbers and all(map(le, _LEAST_NUMBERS, numbers)) and all(map(le, numbers, _MOST))
        for name in _MAY_BE_NONE if are_sound else LEAST:
            value, least, most = values[name], LEAST[name], MOST_OF.get(name, MOST)
            if not (least <= value <= most if value is not None else name in MAY_BE_NONE):
                return _must_be(name, value, least, most)
        return None

    @unlocked_cached_property
    def needs(self) -> Needs:
        """Returns what decides where the job could run; it is equal for jobs that could run on the same clusters."""
        return Needs(
            self.tenant,
            self.min_workers,
            self.cpus_per_worker,
            self.memory_per_worker_bytes,
            self.gpu_types,
            self.user,
        )


_PLACES = {one.name: i for i, one in enumerate(fields(JobSnapshot))}
_VALUES = itemgetter(*_PLACES)
_MAY_BE_NONE = tuple(name for name in LEAST if name in MAY_BE_NONE)
_LEAST_NUMBERS = tuple(least for name, least in LEAST.items() if name not in MAY_BE_NONE)
_NUMBERS = itemgetter(*(name for name in LEAST if name not in MAY_BE_NONE))
_MOST = tuple(MOST_OF.get(name, MOST) for name in LEAST if name not in MAY_BE_NONE)


def _must_be(name: str, value: float | None, least: float, most: float = MOST) -> str:
    """The field, its value, and the bound that it breaks."""
    is_above = value is not None and most < value < math.inf
    bound = f"at most {most:g}" if is_above else f"a finite number of at least {least:g}"
    return f"{name} {value!r}; it must be {bound}"


def by_submission(job: JobSnapshot) -> tuple[int, float, str]:
    """Returns the sort key of the usual order of a queue: higher priority first, then first come, first served."""
    return -job.priority, job.submitted_at_s, job.id


class Reclaim(StrEnum):
    """Names which running jobs are preempted when an owner below its guarantee reclaims what others borrowed."""

    NEVER = "never"  # none: the owner waits until borrowers end
    LOWER_PRIORITY = "lower_priority"  # borrowers' jobs of a lower priority than the one that waits
    ANY = "any"  # borrowers' jobs


RULES_BY_TYPE = ("gpus_by_type", "guarantee_by_type", "borrow_limit_by_type", "lend_limit_by_type")  # of a tenant


@dataclass(frozen=True)
class TenantSnapshot:
    """An owner of quota, in GPUs. The limits of a parent hold for the sum of its children.

    max_gpus, max_running_jobs: never more than that; None = no limit. gpus_by_type: the same of single GPU types, as
    (type, most) pairs; max_cpus, max_memory_bytes: of what its pods request. guarantee: what it can have whenever it
    has jobs for it, its children's included; None = nothing is guaranteed (or what its children are).
    guarantee_by_type: of that, or all of it where it is None, GPUs of single types, as (type, GPUs) pairs.
    borrow_limit: the most that it may use above it; lend_limit: the most of it that others may use while it is idle;
    None = no limit. borrow_limit_by_type, lend_limit_by_type: the same above and of guarantee_by_type; none of types
    that are not named. reclaim: how it gets it back. weight: its part, for policies that share by weight, and where its
    parent shares_fairly.
    shares_fairly: what none of its children is guaranteed goes to them by weight, whatever the policy; counts where all
    above it share fairly, too, or have no other child. half_life_s: of their use, by which it is their turn; 0 = what
    they hold now counts, and what they had before does not. budgets: of GPU-hours per period; each holds on its own.
    user_limits: of single users, for their jobs in it and below it; each user once.
    """

    id: str
    name: str = ""
    parent: str | None = None
    max_gpus: int | None = None
    max_running_jobs: int | None = None
    weight: float = 1.0
    guarantee: int | None = None
    borrow_limit: int | None = None
    lend_limit: int | None = None
    reclaim: Reclaim = Reclaim.ANY
    shares_fairly: bool = False
    half_life_s: float = 0.0
    budgets: tuple[GpuHourBudget, ...] = ()
    user_limits: tuple[UserLimit, ...] = ()
    gpus_by_type: tuple[tuple[str, int], ...] = ()
    max_cpus: int | None = None
    max_memory_bytes: int | None = None
    guarantee_by_type: tuple[tuple[str, int], ...] = ()
    borrow_limit_by_type: tuple[tuple[str, int], ...] = ()
    lend_limit_by_type: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class ClusterSnapshot:
    """Holds all that a round may know. pairs: jobs that share something. withdrawn: failed, cancelled or paused.

    input_sets: what jobs read, where it is known what nodes hold of it; each key once. fetch_bps: at which a pod
    fetches what its node does not hold. coming: changes of the tenants' rules at later times, in order.
    """

    now_s: float
    nodes: tuple[NodeSnapshot, ...]
    racks: tuple[RackSnapshot, ...]
    jobs: tuple[JobSnapshot, ...]
    tenants: tuple[TenantSnapshot, ...]
    seed: int = 0
    round_number: int = 0
    pairs: tuple[PairObservation, ...] = ()
    withdrawn: tuple[str, ...] = ()
    input_sets: tuple[InputSet, ...] = ()
    fetch_bps: float = FETCH_BPS
    coming: tuple[QuotaChange, ...] = ()

    @classmethod
    def of(cls, by_id: dict[str, JobSnapshot], **more: Any) -> ClusterSnapshot:
        """Returns the snapshot of jobs that are known by their ids, without another look at each of them.

        by_id: is the snapshot's own from now on. more: the other fields.
        """
        found = cls(jobs=tuple(by_id.values()), **more)
        found.__dict__["by_id"] = by_id  # as the property would
        return found

    @unlocked_cached_property
    def by_id(self) -> dict[str, JobSnapshot]:
        """Returns the jobs by their ids, in the snapshot's order."""
        return {job.id: job for job in self.jobs}

    @unlocked_cached_property
    def n_by_type(self) -> dict[str, int]:
        """Returns the GPUs of all nodes by type."""
        found: dict[str, int] = {}
        for node in self.nodes:
            found[node.gpu_type] = found.get(node.gpu_type, 0) + node.n_gpus
        return found
