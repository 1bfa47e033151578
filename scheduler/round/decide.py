# SPDX-License-Identifier: Apache-2.0
"""One pass of the scheduler: a snapshot in, a decision for every job out. The live loop and the simulator call this."""

from __future__ import annotations

from scheduler.api.memory import RoundMemory
from scheduler.api.plan import Plan, with_prediction
from scheduler.api.snapshot import ClusterSnapshot
from scheduler.models.batch_sizes import choose_batches, explain_batches
from scheduler.models.interference.interference_cache import InterferenceCache
from scheduler.models.job_length import JobLengthModel, with_likely_lengths
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.policies.abilities import abilities_of
from scheduler.policies.toolkit.policy import Policy, View
from scheduler.quota.gpu_hours import GpuHourLimits
from scheduler.quota.usage import DecayedUsage
from scheduler.round.admission import admit
from scheduler.round.cache import RoundCache
from scheduler.round.diff import diff, resume_resized
from scheduler.round.entitlement import entitle, limit_studies
from scheduler.round.explanation import why_it_leaves, why_it_waits
from scheduler.round.forecast.budgets import budgeted_gpus
from scheduler.round.memory import pending_within_guarantee, promised_allocations, record_usage
from scheduler.round.placement import place
from scheduler.round.prediction import LearntErrors, predict
from scheduler.round.proposal import propose
from scheduler.round.state import RoundState


def decide(
    snapshot: ClusterSnapshot,
    *,
    policy: Policy,
    memory: RoundMemory,
    explain: bool = True,
    cache: RoundCache | None = None,
) -> Plan:
    """Decides on every job: returns the decisions in the snapshot's order, and the memory for the next round.

    1. admission: jobs on hold, on their way in or out, that can never fit, or whose GPU-hours are used up are settled;
       the rest are candidates;
    2. entitlement: what tenants may have; waiting jobs claim guarantees, borrowers have to return GPUs,
       and the trials of a study have one part together;
    3. proposal: the policy grants GPUs within the budget, which knows capacity and quota;
    4. placement: grants become allocations, all or nothing, on what is free now; others wait until jobs have left;
    5. diff: against what is held: launch, resize, preempt, keep or wait; and the batch of jobs that allow a range;
    6. explanation: why, in numbers; and prediction: when each job is expected to start and to end;
    7. memory: promised allocations, what was learnt, what tenants used.

    explain: False = waiting and leaving jobs get no explanations and no job a prediction; what is decided is the same.
    cache: what earlier rounds worked out; a caller that decides round after round passes the same one. It changes no
    plan.
    A resized job is stopped first; its new allocation is reserved for it (memory) until it is launched there.
    Raises ValueError for a snapshot that contradicts itself, and PolicyError for a policy that fails.
    """
    cache = cache or RoundCache()
    limits = GpuHourLimits(snapshot)
    snapshot = limits.narrow(snapshot)
    notable = cache.notable.among(snapshot.jobs)
    speeds = JobSpeeds(snapshot.nodes, snapshot.racks, cache=cache.step_times, jobs=notable)
    lengths = JobLengthModel(memory.job_lengths)
    usage = DecayedUsage(memory.decayed_usage, now_s=snapshot.now_s)
    is_elastic = abilities_of(policy).is_elastic

    snapshot, as_given = with_likely_lengths(snapshot, lengths, speeds, jobs=notable), snapshot
    notable = notable if snapshot is as_given else cache.notable.among(snapshot.jobs)
    state = admit(snapshot, memory, cluster=cache.empty_cluster(snapshot.nodes), limits=limits, notable=notable)  # 1
    resumed = resume_resized(state)
    entitle(state, is_elastic=is_elastic, usage=usage)  # 2
    limit_studies(state, is_elastic=is_elastic)
    view = _view(state, speeds, cache.interference, explain=explain)
    proposal = propose(policy, view, state=state, memory=memory.values_for(policy.name))  # 3
    targets = place(state, proposal, speeds)  # 4
    decisions = {**state.settled, **resumed, **diff(state, targets, cache.waits)}  # 5
    batches = choose_batches(notable, decisions, speeds)
    learnt = LearntErrors.of(memory, counts_arrivals=not is_elastic) if explain else None
    if learnt is not None:  # 6
        decisions |= why_it_waits(state, proposal, targets, decisions)
        decisions |= why_it_leaves(state, proposal, targets)
        decisions |= explain_batches(snapshot, decisions, batches, speeds)
        predictions = predict(
            state, proposal, decisions, speeds, learnt=learnt, unknown_ends=lengths.without_estimate()
        )
        decisions = {job_id: with_prediction(decisions[job_id], each) for job_id, each in predictions.items()}
    pending_since_s, again_s = pending_within_guarantee(state, decisions, memory.pending_since_s)  # 7
    remembered = RoundMemory(
        policy=policy.name,
        policy_values=dict(proposal.memory),
        prediction_intervals=memory.prediction_intervals,
        start_intervals=memory.start_intervals,
        arrival_effects=memory.arrival_effects,
        job_lengths=lengths.to_json() if lengths.has_learnt else {},
        resizing=promised_allocations(state, proposal, targets, decisions),
        pending_since_s=pending_since_s,
        decayed_usage=record_usage(state, decisions, usage),
    )
    if learnt is not None:
        remembered = learnt.added_to(remembered)
    wakes_s = (proposal.wake_at_s, again_s, limits.wake_at_s(budgeted_gpus(state, decisions)) if limits else None)
    wake_at_s = min((at_s for at_s in wakes_s if at_s is not None), default=None)
    ordered = tuple([decisions[job.id] for job in snapshot.jobs])
    return Plan(ordered, remembered, policy.name, wake_at_s, tuple(proposal.order), batches)


def _view(state: RoundState, speeds: JobSpeeds, interference: InterferenceCache, *, explain: bool) -> View:
    """What the policy sees of the round."""
    snapshot, is_settled = state.snapshot, state.settled.keys() | state.resuming.keys()
    return View(
        snapshot.now_s,
        tuple(state.candidates),
        snapshot.tenants,
        speeds,
        snapshot.seed,
        tuple([job for job in snapshot.jobs if job.id in is_settled]) if is_settled else (),
        snapshot.nodes,
        snapshot.pairs,
        max((node.max_jobs_per_gpu for node in snapshot.nodes if node.is_schedulable), default=1),
        state.free_by_node,
        explain,
        interference,
    )
