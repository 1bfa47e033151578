# SPDX-License-Identifier: Apache-2.0
"""Step 1 of a round: which jobs are settled already, which are candidates, and what there is to grant."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from scheduler.api.host_resources import NOTHING, held_resources
from scheduler.api.memory import ResizePromise, RoundMemory
from scheduler.api.plan import Explanation, Keep, Preempt, Reason, Wait
from scheduler.api.reasons import date_of
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot, Mode, Needs, Phase
from scheduler.placement.free_resources import FreeResources
from scheduler.placement.input_fetching import InputFetching
from scheduler.placement.startup import StartupForecast
from scheduler.quota.budget import Budget
from scheduler.quota.demand import SharedGpuCounter
from scheduler.quota.gpu_hours import GpuHourLimits
from scheduler.quota.ledger import Ledger
from scheduler.round.feasibility import EmptyCluster
from scheduler.round.forecast.quota_changes import without_gain
from scheduler.round.state import RoundState
from scheduler.round.validation import check

_REASONS = frozenset(Reason)


def admit(
    snapshot: ClusterSnapshot,
    memory: RoundMemory,
    *,
    cluster: EmptyCluster,
    limits: GpuHourLimits | None = None,
    notable: Sequence[JobSnapshot] | None = None,
    kept: Collection[str] = (),
    out_of_reach: Mapping[str, Explanation] | None = None,
) -> RoundState:
    """Returns the state of a new round on that cluster.

    1. what is held is reserved; 2. jobs on hold, on their way in or out, that can never run, or whose GPU-hours are
    used up are settled, all others are candidates; 3. settled jobs keep what they hold, and resized jobs get what they
    were promised; jobs that would have to leave for a coming guarantee before they trained wait; 4. the rest is the
    budget. limits: those by which the snapshot was narrowed, if it was.
    notable: its jobs that do more than wait; None = any may. kept: running jobs that stay as they are.
    out_of_reach: waiting jobs that cannot start at their only size now, and why.
    Raises ValueError for a snapshot that contradicts itself.
    """
    limits = limits or GpuHourLimits(snapshot)
    new = snapshot.jobs if limits else cluster.standing.others(snapshot.jobs, snapshot.tenants)
    checked = snapshot.racks, snapshot.tenants
    check(snapshot, new, is_known_cluster=checked == cluster.checked)
    cluster.checked = checked
    notable = snapshot.jobs if notable is None else notable
    state = _initial_state(snapshot, memory.resizing, cluster, limits, notable, memory.fetching_s)  # 1
    staying = _settle(state, new, memory.resizing, cluster, kept, out_of_reach or {})  # 2
    ledger_later = cluster.ledger(snapshot.tenants)  # 3
    counter = SharedGpuCounter()
    for job, held in staying:
        state.free_later.reserve(job, held)
        _book(ledger_later, job, held, state.free_now, counter)
    _keep_promises(state, memory.resizing, ledger_later)
    _refuse_beyond_hours(state)
    _hold_what_gains_nothing(state)
    present = {job.id: state.free_now.gpu_type_of(job.held) for job in state.running}
    state.budget = Budget(_gpus_by_type(state), ledger_later, present=present)  # 4
    return state


def _initial_state(
    snapshot: ClusterSnapshot,
    promises: Mapping[str, ResizePromise],
    cluster: EmptyCluster,
    limits: GpuHourLimits,
    notable: Sequence[JobSnapshot],
    launched: Mapping[str, float],
) -> RoundState:
    fetching = InputFetching(snapshot)
    free_now, ledger_now, counter = cluster.free(), cluster.ledger(snapshot.tenants), SharedGpuCounter()
    for job in notable:
        held = job.held
        if held is None:
            continue
        free_now.reserve(job, held)
        _book(ledger_now, job, held, free_now, counter)
    return RoundState(
        snapshot=snapshot,
        fetching=fetching,
        startup=StartupForecast(fetching, launched),
        physically_free=free_now.copy(),
        free_now=free_now,
        free_later=cluster.free(),
        ledger_now=ledger_now,
        ledger_before=ledger_now.copy(),
        budget=Budget({}, ledger_now, present={}),  # replaced as soon as the rest is known
        colocated_with={job_id: promise.colocated_with for job_id, promise in promises.items()},
        resizing=frozenset(job_id for job_id, promise in promises.items() if promise.is_resize),
        limits=limits,
        notable=notable,
        empty_ledger=cluster.ledger(snapshot.tenants),
    )


def _settle(
    state: RoundState,
    new: Iterable[JobSnapshot],
    promises: Mapping[str, ResizePromise],
    cluster: EmptyCluster,
    kept: Collection[str],
    out_of_reach: Mapping[str, Explanation],
) -> list[tuple[JobSnapshot, GangAllocation]]:
    """Sorts the jobs into settled ones and candidates; returns the settled ones that keep what they hold.

    new: all but those that an earlier round found able to run; they still are.
    """
    runnable = set[Needs]() if state.limits else cluster.standing.runnable
    staying: list[tuple[JobSnapshot, GangAllocation]] = []
    for job in new:
        held = job.held
        if held is None:
            if job.hold is not None or job.needs not in runnable or job.mode is Mode.PARAMETER_SERVER:
                _settle_waiting(job, state, cluster, runnable)
            continue
        settled = _settled_holder(job, held, state.free_now, state.limits)
        if settled is None and job.id in kept:
            settled = Keep(job.id, (Explanation(Reason.UNCHANGED),))
        if settled is None:
            state.running.append(job)
            continue
        state.settled[job.id] = settled
        if job.phase is Phase.STOPPING:
            if job.id in promises:
                state.pending_resizes[job.id] = promises[job.id].allocation
        elif isinstance(settled, Keep):
            staying.append((job, held))
    for job_id in out_of_reach.keys() - promises.keys() - state.settled.keys():
        state.settled[job_id] = Wait(job_id, (out_of_reach[job_id],))
    settled_ids = state.settled.keys()
    jobs = state.snapshot.jobs
    state.candidates = [job for job in jobs if job.id not in settled_ids] if settled_ids else list(jobs)
    if not state.limits:
        cluster.standing.add([job for job in new if job.id not in settled_ids])
    return staying


def _settled_holder(
    job: JobSnapshot, held: GangAllocation, free: FreeResources, limits: GpuHourLimits
) -> Keep | Preempt | None:
    """The decision on a job that holds GPUs, where it needs no policy; None for a candidate."""
    if job.phase is Phase.STOPPING:
        return Keep(job.id, (Explanation(Reason.STOPPING),))
    for share in held.shares:
        if share.node not in free.nodes:
            return Preempt(job.id, (Explanation(Reason.NODE_LEFT, {"node": share.node}),))
    if (exhausted := limits.must_leave(job, held)) is not None:
        return Preempt(job.id, (exhausted,))
    if job.phase is Phase.STARTING:
        return Keep(job.id, (Explanation(Reason.STARTING, {"n_workers": held.n_workers}),))
    for share in held.shares:
        if not free.nodes[share.node].is_schedulable:
            return Keep(job.id, (Explanation(Reason.NODE_CORDONED, {"node": share.node}),))
    return None


def _settle_waiting(job: JobSnapshot, state: RoundState, cluster: EmptyCluster, runnable: set[Needs]) -> None:
    """Settles the job if it cannot run. runnable: needs of jobs that could run, as found so far."""
    reason = _hold(job, state.snapshot) or cluster.refusal(job)
    reason = reason or cluster.quota_refusal(job, state.ledger_now)
    if reason is not None and job.hold is None:  # without the budget it could run on GPUs of another type
        reason = state.limits.narrowed.get(job.id, reason)
    exhausted = state.limits.refusal(job) if reason is None else None
    if exhausted is not None and job.id not in state.resizing:
        reason = exhausted
    if reason is not None:
        state.settled[job.id] = Wait(job.id, (reason,))
    elif exhausted is None:
        runnable.add(job.needs)


def _book(
    ledger: Ledger, job: JobSnapshot, held: GangAllocation, free: FreeResources, counter: SharedGpuCounter | None
) -> None:
    """counter: of GPUs that other jobs hold, too, which count where GPUs are borrowed; None = no GPU is shared."""
    gpu_type, host = free.gpu_type_of(held), held_resources(job, held) if ledger.has_host_limits else NOTHING
    n_shared = 0 if counter is None or not ledger.has_guarantees else counter.n_shared(held)
    ledger.reserve(job.tenant, gpus=held.n_workers, n_shared=n_shared, user=job.user, gpu_type=gpu_type, host=host)


def _hold(job: JobSnapshot, snapshot: ClusterSnapshot) -> Explanation | None:
    if job.hold is None:
        return None
    if job.hold not in _REASONS:
        raise ValueError(f"job {job.id!r} has the unknown hold {job.hold!r}; it must be a Reason")
    if job.hold == Reason.ADMISSION_PAUSED:  # of every waiting job: no fact that changes from round to round
        until = {} if job.hold_until_s is None else {"until_s": job.hold_until_s}
        return Explanation(Reason.ADMISSION_PAUSED, {**until, "end": _end_of_pause(job.hold_until_s)})
    wait_s = max(0.0, (job.hold_until_s or snapshot.now_s) - snapshot.now_s)
    return Explanation(Reason(job.hold), {"wait_s": wait_s})


def _end_of_pause(until_s: float | None) -> str:
    """A part of the sentence; "" where no end is given, or where no calendar has it."""
    date = date_of(until_s)
    return f" until {date}; it starts no earlier" if date else ""


def _keep_promises(state: RoundState, promises: Mapping[str, ResizePromise], ledger_later: Ledger) -> None:
    """Reserves what was promised to jobs that are being resized, as far as it is still there and within quota."""
    if not promises:
        return
    waiting = {job.id: job for job in state.candidates if job.phase is Phase.WAITING}
    stopping = {job.id: job for job in state.snapshot.jobs if job.id in state.pending_resizes}
    for job_id in sorted({**waiting, **stopping}):
        promise, job = promises.get(job_id), waiting.get(job_id) or stopping[job_id]
        if promise is None:
            continue
        target = promise.allocation
        gpu_type, host = state.free_now.gpu_type_of(target), held_resources(job, target)
        refused = ledger_later.refusal(job.tenant, gpus=target.n_workers, user=job.user, gpu_type=gpu_type, host=host)
        if not _is_still_possible(state, job, promise) or refused is not None:
            state.pending_resizes.pop(job_id, None)
            continue
        state.free_later.reserve(job, target)
        state.free_now.restrict_to(state.free_later, target)
        _book(ledger_later, job, target, state.free_now, None)
        if job_id in waiting:
            state.resuming[job_id] = target
    state.candidates = [job for job in state.candidates if job.id not in state.resuming]


def _hold_what_gains_nothing(state: RoundState) -> None:
    """Settles jobs that would start only to leave when quotas change, as reserved GPUs are claimed."""
    held = without_gain(state)
    if held:
        state.settled.update({job_id: Wait(job_id, (why,)) for job_id, why in held.items()})
        state.candidates = [job for job in state.candidates if job.id not in held]


def _refuse_beyond_hours(state: RoundState) -> None:
    """Settles jobs that were to be resized, whose promise does not hold any more, and whose GPU-hours are used up."""
    if not (state.limits and state.resizing):
        return
    for job in state.candidates:
        refused = state.limits.refusal(job) if job.held is None else None
        if refused is not None:
            state.settled[job.id] = Wait(job.id, (refused,))
    state.candidates = [job for job in state.candidates if job.id not in state.settled]


def _is_still_possible(state: RoundState, job: JobSnapshot, promise: ResizePromise) -> bool:
    nodes = state.free_later.nodes
    if not all(s.node in nodes and nodes[s.node].is_schedulable for s in promise.allocation.shares):
        return False
    if state.limits.must_leave(job, promise.allocation) is not None:
        return False
    return state.free_later.fits(job, promise.allocation, colocated_with=promise.colocated_with)


def _gpus_by_type(state: RoundState) -> dict[str, int]:
    """GPUs that are free later, and those that starting jobs share with candidates: the candidates may keep them."""
    free, counts = state.free_later, dict[str, int]()
    for node in free.nodes.values():
        if node.is_schedulable:
            counts[node.gpu_type] = counts.get(node.gpu_type, 0) + len(free.gpus[node.name])
    if free.occupants:
        candidates = {job.id for job in state.candidates}
        for gpu in free.occupants:
            node = free.nodes[gpu[0]]
            if node.is_schedulable and candidates.intersection(state.physically_free.occupants.get(gpu, ())):
                counts[node.gpu_type] += 1
    return counts
