# SPDX-License-Identifier: Apache-2.0
"""One pass of the scheduler: a snapshot in, a decision for every job out. The live loop and the simulator call this."""

from __future__ import annotations

from scheduler.api.memory import RoundMemory
from scheduler.api.plan import Plan, with_prediction
from scheduler.api.snapshot import ClusterSnapshot
from scheduler.models.batch_sizes import choose_batches, explain_batches
from scheduler.models.job_length import JobLengthModel, with_likely_lengths
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.policies.abilities import abilities_of
from scheduler.policies.toolkit.policy import Policy
from scheduler.quota.gpu_hours import GpuHourLimits
from scheduler.round.allocate import RoundInputs, allocate
from scheduler.round.cache import RoundCache
from scheduler.round.explanation import why_it_is_smaller, why_it_leaves, why_it_waits
from scheduler.round.forecast.budgets import budgeted_gpus
from scheduler.round.forecast.quota_changes import next_change_s, with_changes_due
from scheduler.round.memory import pending_within_guarantee, promised_allocations, record_usage
from scheduler.round.prediction import LearntErrors, predict
from scheduler.round.validation import check_jobs, check_measurements


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
       the rest are candidates; none requests more workers than cluster and limits could ever give it;
    2. entitlement: what tenants may have; waiting jobs claim guarantees, borrowers have to return GPUs,
       and the trials of a study have one part together;
    3. proposal: the policy grants GPUs within the budget, which knows capacity and quota;
    4. placement: grants become allocations, all or nothing, on what is free now; others wait until jobs have left;
    5. diff: against what is held: launch, resize, preempt, keep or wait; and the batch of jobs that allow a range;
       preemptions by quota by which no other job would start or grow are given up;
    6. explanation: why, in numbers; and prediction: when each job is expected to start and to end;
    7. memory: promised allocations, what was learnt, what tenants used.

    explain: False = waiting and leaving jobs get no explanations and no job a prediction; what is decided is the same.
    cache: what earlier rounds worked out; a caller that decides round after round passes the same one. It changes no
    plan.
    A resized job is stopped first; its new allocation is reserved for it (memory) until it is launched there.
    Raises ValueError for a snapshot that contradicts itself, and PolicyError for a policy that fails.
    """
    cache = cache or RoundCache()
    snapshot = with_changes_due(snapshot)
    limits = GpuHourLimits(snapshot)
    snapshot = limits.narrow(snapshot)
    notable = cache.notable.among(snapshot.jobs)
    check_jobs(notable)
    check_measurements(notable)
    possible = cache.requested_sizes.of(snapshot, cache.empty_cluster(snapshot.nodes))
    if possible.snapshot is not snapshot:
        snapshot = possible.snapshot
        notable = cache.notable.among(snapshot.jobs)
    speeds = JobSpeeds(snapshot.nodes, snapshot.racks, cache=cache.step_times, jobs=notable)
    lengths = JobLengthModel(memory.job_lengths)

    snapshot, as_given = with_likely_lengths(snapshot, lengths, speeds, jobs=notable), snapshot
    notable = notable if snapshot is as_given else cache.notable.among(snapshot.jobs)
    inputs = RoundInputs(snapshot, policy, memory, cache, speeds, limits, notable, explain, possible.out_of_reach)
    found = allocate(inputs)  # 1 to 5
    state, proposal, targets, decisions = found.state, found.proposal, found.targets, found.decisions
    batches = choose_batches(notable, decisions, speeds)
    learnt = LearntErrors.of(memory, counts_arrivals=not abilities_of(policy).is_elastic) if explain else None
    if learnt is not None:  # 6
        decisions |= why_it_waits(state, proposal, targets, decisions)
        decisions |= why_it_leaves(state, proposal, targets)
        decisions |= explain_batches(snapshot, decisions, batches, speeds)
        if not abilities_of(policy).is_elastic:
            decisions |= why_it_is_smaller(decisions, possible.reduced)
        predictions = predict(
            state, proposal, decisions, speeds, learnt=learnt, unknown_ends=lengths.without_estimate()
        )
        decisions = {
            job_id: with_prediction(decisions[job_id], each, why=predictions.interrupted.get(job_id))
            for job_id, each in predictions.by_job.items()
        }
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
        decayed_usage=record_usage(state, decisions, found.usage),
        fetching_s=state.startup.launched_now(snapshot, decisions),
    )
    if learnt is not None:
        remembered = learnt.added_to(remembered)
    full_s = limits.wake_at_s(budgeted_gpus(state, decisions)) if limits else None
    wakes_s = (proposal.wake_at_s, again_s, full_s, next_change_s(snapshot))
    wake_at_s = min((at_s for at_s in wakes_s if at_s is not None), default=None)
    ordered = tuple(map(decisions.__getitem__, snapshot.by_id))
    return Plan(ordered, remembered, policy.name, wake_at_s, tuple(proposal.order), batches)
