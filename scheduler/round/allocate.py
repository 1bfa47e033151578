# SPDX-License-Identifier: Apache-2.0
"""Steps 1 to 5 of a round, and the check that its preemptions are of use where tenants have guarantees."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from scheduler.api.memory import RoundMemory
from scheduler.api.plan import Decision, Explanation, Launch, Resize
from scheduler.api.proposal import Proposal
from scheduler.api.snapshot import ClusterSnapshot, JobSnapshot, Phase
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.input_fetching import FetchingBySize
from scheduler.placement.state import PlacementTargets
from scheduler.policies.abilities import abilities_of
from scheduler.policies.toolkit.policy import Policy, View
from scheduler.quota.gpu_hours import GpuHourLimits
from scheduler.quota.usage import DecayedUsage
from scheduler.round.admission import admit
from scheduler.round.cache import RoundCache
from scheduler.round.diff import diff, resume_resized
from scheduler.round.entitlement import entitle, limit_studies
from scheduler.round.explanation import TAKEN_BACK
from scheduler.round.memory import promised_allocations
from scheduler.round.placement import place
from scheduler.round.proposal import propose
from scheduler.round.state import RoundState

MOST_CHECKS = 3  # each keeps at least one more job; those of recorded and random histories needed one


@dataclass(frozen=True)
class RoundInputs:
    """Holds what the steps read and do not change. notable: jobs that do more than wait (NotableJobs). out_of_reach:
    jobs whose requested size needs nodes that take no new jobs now.
    """

    snapshot: ClusterSnapshot
    policy: Policy
    memory: RoundMemory
    cache: RoundCache
    speeds: JobSpeeds
    limits: GpuHourLimits
    notable: Sequence[JobSnapshot]
    explain: bool
    out_of_reach: Mapping[str, Explanation]


@dataclass(frozen=True)
class Allocated:
    """Holds what steps 1 to 5 found. decisions: on every job; those that wait and leave have no reasons yet. usage:
    what tenants used, up to now.
    """

    state: RoundState
    proposal: Proposal
    targets: PlacementTargets
    decisions: dict[str, Decision]
    usage: DecayedUsage

    def victims(self) -> set[str]:
        """Returns the running jobs from which quota takes back what they hold, for others."""
        refused = {
            job.id: self.state.budget.refusal(job, self.targets.leaving[job.id].n_workers, is_request=False)
            for job in self.state.running
            if job.id in self.targets.leaving
        }
        return {job_id for job_id, why in refused.items() if why is not None and why.reason in TAKEN_BACK}


def allocate(inputs: RoundInputs) -> Allocated:
    """Returns the decisions of the round, without preemptions by quota of which no other job has anything.

    Where tenants have guarantees, what a job may have depends on which others run: once victims wait, they may claim
    anew what they gave up, and the jobs that they left for wait again, round after round. So a round in which they wait
    is tried; where it starts them again, and starts and grows no other job, they keep what they hold. Not while other
    jobs leave or are resized: what comes of that is not known yet; nor where the policy wants jobs to take turns.
    """
    found = _steps(inputs)
    kept = set[str]()
    for _ in range(MOST_CHECKS):
        returning = _returning(inputs, found)
        if not returning:
            break
        kept |= returning
        found = _steps(inputs, kept=kept)
    return found


def _steps(inputs: RoundInputs, *, kept: Collection[str] = ()) -> Allocated:
    """kept: jobs that keep what they hold, whatever else could be done with it."""
    snapshot, policy = inputs.snapshot, inputs.policy
    cluster, is_elastic = inputs.cache.empty_cluster(snapshot.nodes), abilities_of(policy).is_elastic
    notable, limits = inputs.notable, inputs.limits
    usage = DecayedUsage(inputs.memory.decayed_usage, now_s=snapshot.now_s)  # of these steps alone: it ages once
    out_of_reach = {} if is_elastic else inputs.out_of_reach
    state = admit(  # 1
        snapshot,
        inputs.memory,
        cluster=cluster,
        limits=limits,
        notable=notable,
        kept=kept,
        out_of_reach=out_of_reach,
    )
    resumed = resume_resized(state)
    entitle(state, is_elastic=is_elastic, usage=usage)  # 2
    limit_studies(state, is_elastic=is_elastic)
    proposal = propose(policy, _view(state, inputs), state=state, memory=inputs.memory.values_for(policy.name))  # 3
    targets = place(state, proposal, inputs.speeds)  # 4
    decisions = inputs.cache.waits(snapshot.by_id.keys())
    for each in (state.settled, resumed, diff(state, targets)):  # 5
        decisions.update(each)
    return Allocated(state, proposal, targets, decisions, usage)


def _returning(inputs: RoundInputs, found: Allocated) -> set[str]:
    """The victims that would start again, where no other job would start or grow."""
    state = found.state
    if not found.targets.leaving or state.budget.entitlement is None or state.resuming:
        return set()
    if abilities_of(inputs.policy).slices_time:
        return set()
    if any(job.phase is Phase.STOPPING for job in inputs.notable):
        return set()
    if any(type(decision) is Resize for decision in found.decisions.values()):
        return set()
    victims = found.victims()
    if not victims:
        return set()
    decisions = _steps(_after(inputs, found)).decisions
    better_off = {job_id for job_id, decision in decisions.items() if isinstance(decision, Launch | Resize)}
    return better_off if better_off <= victims else set()


def _after(inputs: RoundInputs, found: Allocated) -> RoundInputs:
    """The next round, as it is once the victims have left; all else is as it was."""
    snapshot, jobs = inputs.snapshot, list[JobSnapshot]()
    for job in snapshot.jobs:
        decision = found.decisions[job.id]
        if job.id in found.targets.leaving:
            job = replace(job, phase=Phase.WAITING, allocation=None, n_preemptions=job.n_preemptions + 1)
        elif isinstance(decision, Launch):
            job = replace(job, phase=Phase.STARTING, allocation=decision.allocation, allocated_at_s=snapshot.now_s)
        jobs.append(job)
    notable = inputs.cache.notable.among(jobs)
    memory = replace(
        inputs.memory,
        policy=inputs.policy.name,
        policy_values=dict(found.proposal.memory),
        resizing=promised_allocations(found.state, found.proposal, found.targets, found.decisions),
    )
    speeds = JobSpeeds(snapshot.nodes, snapshot.racks, cache=inputs.cache.step_times, jobs=notable)
    snapshot = replace(snapshot, jobs=tuple(jobs))
    return replace(inputs, snapshot=snapshot, memory=memory, speeds=speeds, notable=notable, explain=False)


def _view(state: RoundState, inputs: RoundInputs) -> View:
    """What the policy sees of the round."""
    snapshot, is_settled = state.snapshot, state.settled.keys() | state.resuming.keys()
    return View(
        snapshot.now_s,
        tuple(state.candidates),
        snapshot.tenants,
        inputs.speeds,
        snapshot.seed,
        tuple([job for job in snapshot.jobs if job.id in is_settled]) if is_settled else (),
        snapshot.nodes,
        snapshot.pairs,
        max((node.max_jobs_per_gpu for node in snapshot.nodes if node.is_schedulable), default=1),
        state.free_by_node,
        inputs.explain,
        inputs.cache.interference,
        FetchingBySize(state.fetching, state.free_now_by_node) if state.fetching.is_needed else None,
    )
