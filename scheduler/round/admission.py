"""Step 1 of a round: who is decided already, who is up for decision, and what there is to give away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scheduler.api.plan import Explanation, Keep, Preempt, Reason, Wait
from scheduler.api.records import allocation_from_json
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot, Needs, Phase
from scheduler.api.topology import Node
from scheduler.placement.free_resources import FreeResources
from scheduler.quota.budget import Budget
from scheduler.quota.ledger import Ledger

_REASONS = frozenset(Reason)


@dataclass
class RoundState:
    """The scratch board of a round.

    settled: jobs whose decision needs no policy. candidates: the others. returning: jobs that stopped in order to be
    resized and now wait for their new allocation. room_held, ledger_before: what is held at this moment. room_now:
    the same, without what is promised; ledger_now: with what this round launches.
    room_then: only what is certain to stay held; what leaves counts as free. budget: the same in numbers, for policies.
    beside: with whom a job that was promised GPUs is to share them.
    """

    snapshot: ClusterSnapshot
    room_held: FreeResources
    room_now: FreeResources
    room_then: FreeResources
    ledger_now: Ledger
    ledger_before: Ledger
    budget: Budget
    settled: dict[str, Keep | Preempt | Wait] = field(default_factory=dict)
    candidates: list[JobSnapshot] = field(default_factory=list)
    running: list[JobSnapshot] = field(default_factory=list)  # candidates that hold GPUs
    returning: dict[str, GangAllocation] = field(default_factory=dict)
    pending: dict[str, GangAllocation] = field(default_factory=dict)  # resizes whose job has not left its GPUs yet
    beside: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def free_by_node(self) -> dict[str, int]:
        """By node that takes jobs, its GPUs that nobody is certain to keep."""
        return {node.name: len(self.room_then.gpus[node.name]) for node in self.snapshot.nodes if node.is_schedulable}


def admit(snapshot: ClusterSnapshot, memory: Mapping[str, Any], *, empty: EmptyCluster) -> RoundState:
    """Sort the jobs. empty: the cluster of the snapshot. Raises ValueError for a snapshot that contradicts itself."""
    _check(snapshot)
    room_now, room_then = empty.free(), empty.free()
    n_gpus = sum(node.n_gpus for node in snapshot.nodes)
    ledger_now, ledger_then = Ledger(snapshot.tenants, n_gpus=n_gpus), Ledger(snapshot.tenants, n_gpus=n_gpus)
    shared_now, shared_then = Shared(), Shared()
    targets = {job_id: allocation_from_json(value) for job_id, value in memory.get("resizing", {}).items()}
    for job in snapshot.jobs:
        if (held := job.held) is not None:
            room_now.hold(job, held)
            ledger_now.take(job.tenant, gpus=held.n_workers, n_beside=shared_now.n_beside(held))
    budget = Budget({}, ledger_then, present={})  # until what is left is known
    scene = RoundState(snapshot, room_now.copy(), room_now, room_then, ledger_now, ledger_now.copy(), budget)
    scene.beside = {job_id: tuple(value.get("beside", ())) for job_id, value in memory.get("resizing", {}).items()}
    fitting = dict[int, Needs]()
    stays: list[tuple[JobSnapshot, GangAllocation]] = []
    for job in snapshot.jobs:
        held = job.held
        if held is None:
            if job.hold is None and id(job.needs) in fitting:
                scene.candidates.append(job)
            else:
                _admit_waiting(job, scene, empty, fitting)
            continue
        target = targets.get(job.id)
        gone = next((share.node for share in held.shares if share.node not in room_now.nodes), None)
        closed = next((s.node for s in held.shares if gone is None and not room_now.nodes[s.node].is_schedulable), None)
        if job.phase is Phase.STOPPING:
            scene.settled[job.id] = Keep(job.id, (Explanation(Reason.ENDING),))
            if target is not None:
                scene.pending[job.id] = target
        elif gone is not None:
            scene.settled[job.id] = Preempt(job.id, (Explanation(Reason.NODE_LEFT, {"node": gone}),))
        elif job.phase is Phase.STARTING:
            facts = {"n_workers": held.n_workers}
            scene.settled[job.id] = Keep(job.id, (Explanation(Reason.STARTING, facts),))
            stays.append((job, held))
        elif closed is not None:
            scene.settled[job.id] = Keep(job.id, (Explanation(Reason.NODE_CLOSED, {"node": closed}),))
            stays.append((job, held))
        else:
            scene.candidates.append(job)
            scene.running.append(job)
    for job, held in stays:
        room_then.hold(job, held)
        ledger_then.take(job.tenant, gpus=held.n_workers, n_beside=shared_then.n_beside(held))
    _keep_promises(scene, targets, ledger_then)
    present = {job.id: _type_of(job.held, room_now) for job in scene.running}
    scene.budget = Budget(_gpus_by_type(room_then, scene), ledger_then, present=present)
    return scene


class Shared:
    """Counts GPUs that several hold once: for the first of them."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, int]] = set()

    def n_beside(self, held: GangAllocation) -> int:
        """Of its GPUs, those that were counted for others before; from now on all of them are."""
        n_before = len(self._seen)
        self._seen.update((share.node, gpu) for share in held.shares for gpu in share.gpus)
        return held.n_workers - (len(self._seen) - n_before)


def held_by(job: JobSnapshot) -> GangAllocation | None:
    """What the job holds at this moment; None for a waiting job."""
    return job.held


def _admit_waiting(job: JobSnapshot, scene: RoundState, empty: EmptyCluster, fitting: dict[int, Needs]) -> None:
    """fitting: needs of jobs that could run, as found so far, by their ids as objects."""
    reason = _hold(job, scene.snapshot) or empty.never(job)
    reason = reason or scene.budget.never(job.tenant, gpus=job.min_workers)
    if reason is not None:
        scene.settled[job.id] = Wait(job.id, (reason,))
    else:
        scene.candidates.append(job)
        fitting[id(job.needs)] = job.needs


def _hold(job: JobSnapshot, snapshot: ClusterSnapshot) -> Explanation | None:
    if job.hold is None:
        return None
    if job.hold not in _REASONS:
        raise ValueError(f"job {job.id!r} has the unknown hold {job.hold!r}; it must be a Reason")
    wait_s = max(0.0, (job.hold_until_s or snapshot.now_s) - snapshot.now_s)
    return Explanation(Reason(job.hold), {"wait_s": wait_s})


def _keep_promises(scene: RoundState, targets: Mapping[str, GangAllocation], ledger_then: Ledger) -> None:
    """Reserve what was promised to jobs that are being resized, as far as it is still there and within quota."""
    if not targets:
        return
    waiting = {job.id: job for job in scene.candidates if job.phase is Phase.WAITING}
    stopping = {job.id: job for job in scene.snapshot.jobs if job.id in scene.pending}
    for job_id in sorted({**waiting, **stopping}):
        target, job = targets.get(job_id), waiting.get(job_id) or stopping[job_id]
        if target is None:
            continue
        is_open = all(
            s.node in scene.room_then.nodes and scene.room_then.nodes[s.node].is_schedulable for s in target.shares
        )
        refused = ledger_then.refusal(job.tenant, gpus=target.n_workers)
        if not is_open or refused is not None or not _fits_then(scene, job, target):
            scene.pending.pop(job_id, None)
            continue
        scene.room_then.hold(job, target)
        scene.room_now.limit_to(scene.room_then, target)
        ledger_then.take(job.tenant, gpus=target.n_workers)
        if job_id in waiting:
            scene.returning[job_id] = target
    scene.candidates = [job for job in scene.candidates if job.id not in scene.returning]


def _fits_then(scene: RoundState, job: JobSnapshot, target: GangAllocation) -> bool:
    return scene.room_then.fits(job, target, beside=scene.beside.get(job.id, ()))


class EmptyCluster:
    """The cluster without jobs: all that is free, and which jobs could never fit, looked up once by what they need."""

    def __init__(self, nodes: tuple[Node, ...]) -> None:
        self.nodes = nodes
        self._room = room = FreeResources(nodes)
        self._have: dict[str, int] = {}  # GPUs by type
        self._open: dict[str, int] = {}  # those of nodes that take new jobs
        for node in room.nodes.values():
            self._have[node.gpu_type] = self._have.get(node.gpu_type, 0) + node.n_gpus
            self._open[node.gpu_type] = self._open.get(node.gpu_type, 0) + node.n_gpus * node.is_schedulable
        self._total = sum(self._have.values())
        self._n_closed = sum(not node.is_schedulable for node in room.nodes.values())
        self._most: dict[tuple[object, ...], int] = {}

    def free(self) -> FreeResources:
        """All of the cluster, to be written to."""
        return self._room.copy()

    def never(self, job: JobSnapshot) -> Explanation | None:
        need = job.min_workers
        if not self._room.nodes:
            return Explanation(Reason.NO_NODES)
        if need > self._total:
            return Explanation(Reason.LARGER_THAN_CLUSTER, {"need": need, "have": self._total})
        types = sorted(t for t in self._have if not job.gpu_types or t in job.gpu_types)
        have = max((self._have[t] for t in types), default=0)
        if need > have:
            names = ", ".join(types or job.gpu_types)
            return Explanation(Reason.LARGER_THAN_TYPE, {"need": need, "types": names, "have": have})
        have_open = max(self._open[t] for t in types)
        if need > have_open:
            facts = {"need": need, "have": have_open, "closed": self._n_closed}
            return Explanation(Reason.NODES_CLOSED, facts)
        most = self._most_workers(job, types)
        if need > most:
            memory_gib = job.memory_per_worker_bytes / 2**30
            needs = {"have": most, "need": need, "cpus": job.cpus_per_worker, "memory_gib": memory_gib}
            return Explanation(Reason.NEVER_FITS_NODES, needs)
        return None

    def _most_workers(self, job: JobSnapshot, types: list[str]) -> int:
        key = (job.cpus_per_worker, job.memory_per_worker_bytes, job.gpu_types)
        if key not in self._most:
            nodes = self._room.nodes.values()
            self._most[key] = max(
                (sum(self._room.workers_on(job, n) for n in nodes if n.gpu_type == t) for t in types), default=0
            )
        return self._most[key]


def _gpus_by_type(room: FreeResources, scene: RoundState) -> dict[str, int]:
    """GPUs that are free then, and those that jobs on their way in share with candidates: these may keep them."""
    counts: dict[str, int] = {}
    for node in room.nodes.values():
        if node.is_schedulable:
            counts[node.gpu_type] = counts.get(node.gpu_type, 0) + len(room.gpus[node.name])
    if room.occupants:
        candidates = {job.id for job in scene.candidates}
        for spot in room.occupants:
            node = room.nodes[spot[0]]
            if node.is_schedulable and candidates.intersection(scene.room_held.occupants.get(spot, ())):
                counts[node.gpu_type] += 1
    return counts


def _type_of(allocation: GangAllocation | None, room: FreeResources) -> str:
    shares = allocation.shares if allocation else ()
    return next((room.nodes[s.node].gpu_type for s in shares if s.gpus and s.node in room.nodes), "")


def _check(snapshot: ClusterSnapshot) -> None:
    jobs = snapshot.jobs
    if len({job.id for job in jobs}) != len(jobs):
        twice = next(job_id for job_id, count in Counter(job.id for job in jobs).items() if count > 1)
        raise ValueError(f"job {twice!r} appears twice in the snapshot; ids must be unique")
    for job in [job for job in jobs if not job.is_sound]:
        if not 1 <= job.min_workers <= job.max_workers:
            raise ValueError(f"job {job.id!r} has min_workers {job.min_workers} and max_workers {job.max_workers}")
        raise ValueError(f"job {job.id!r} is {job.phase} without an allocation")
    if len({node.name for node in snapshot.nodes}) != len(snapshot.nodes):
        raise ValueError("two nodes of the snapshot have the same name; names must be unique")
