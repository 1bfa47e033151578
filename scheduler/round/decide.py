"""One pass of the scheduler: a snapshot in, a decision for every job out. The live loop and the simulator call this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scheduler.api.plan import Decision, Explanation, Keep, Launch, Plan, Prediction, Preempt, Reason, Resize, Wait
from scheduler.api.records import allocation_to_json
from scheduler.api.snapshot import ClusterSnapshot, PolicyMemory
from scheduler.models.forecast.arrivals import ArrivalEffects
from scheduler.models.forecast.prediction_intervals import FinishForecast, PredictionIntervals
from scheduler.models.job_length import JobLengthModel, with_likely_lengths
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.policies.toolkit.policy import Policy, Proposal, View
from scheduler.quota.usage import DecayedUsage
from scheduler.round.admission import RoundState, admit
from scheduler.round.cache import RoundCache
from scheduler.round.entitlement import entitle, note_uses, open_claims, propose
from scheduler.round.explanation import why_it_waits
from scheduler.round.placement import Targets, place
from scheduler.round.prediction import RoundForecast


def decide(
    snapshot: ClusterSnapshot,
    *,
    policy: Policy,
    memory: PolicyMemory,
    explain: bool = True,
    cache: RoundCache | None = None,
) -> Plan:
    """A decision for every job, in the snapshot's order, and the memory that the next round is to be given.

    1. admit: jobs on hold, on their way in or out, or that can never fit are settled; the rest are candidates; owners
       of guarantees claim what is theirs, and borrowers are told what they have to give back;
    2. allocate: the policy gives out GPUs within the budget, which knows capacity and quota.
       Before it, the budget is told what tenants are entitled to (rights.py), and claims it left out are served after;
    3. place: grants become allocations, all or nothing, on what is free now; who must wait for others to leave, waits;
    4. diff: against what is held: launch, resize, preempt, keep or wait;
    5. explain: why, in numbers, and when each job is expected to start and to end. Without explain, waiting and leaving
       jobs get no reasons and nobody a prediction; what is decided is the same.

    A resized job is stopped first; its new allocation is kept free for it (memory) until it is launched there.
    cache: what earlier rounds worked out; who decides again and again passes the same one. It changes no decision.
    Raises ValueError for a snapshot that contradicts itself.
    """
    values, cache = memory.values, cache or RoundCache()
    speeds = JobSpeeds(snapshot.nodes, snapshot.racks, cache=cache.step_times)
    lengths = JobLengthModel(values.get("lengths", {}))
    snapshot = with_likely_lengths(snapshot, lengths, speeds)
    scene = admit(snapshot, values, empty=cache.empty_cluster(snapshot.nodes))  # 1
    returned = _return_resized(scene)
    uses = DecayedUsage(values.get("use", {}), now_s=snapshot.now_s)
    sizes_jobs = getattr(policy, "sizes_jobs", False)
    entitle(scene, sizes_jobs=sizes_jobs, uses=uses)
    is_settled = scene.settled.keys() | scene.returning.keys()
    settled = tuple([job for job in snapshot.jobs if job.id in is_settled]) if is_settled else ()
    view = View(
        snapshot.now_s,
        tuple(scene.candidates),
        snapshot.tenants,
        speeds,
        snapshot.seed,
        settled,
        snapshot.nodes,
        snapshot.pairs,
        max((node.max_jobs_per_gpu for node in snapshot.nodes if node.is_schedulable), default=1),
        scene.free_by_node,
        explain,
        cache.interference,
    )
    own_memory = values.get("values", {}) if values.get("policy") == policy.name else {}
    proposal = propose(policy, view, scene=scene, memory=own_memory)  # 2
    targets = place(scene, proposal, speeds)  # 3
    decisions = {**scene.settled, **returned, **_diff(scene, targets)}  # 4
    bands, arrivals = PredictionIntervals(values.get("bands", {})), ArrivalEffects(values.get("arrivals", {}))
    if explain:
        decisions.update(why_it_waits(scene, proposal, targets, decisions))  # 5
        decisions.update(_why_it_leaves(scene, proposal, targets))
        outlook = RoundForecast(scene, proposal, speeds)
        said = outlook.predictions(decisions)
        foretold = {} if sizes_jobs else outlook.with_arrivals(said, decisions, arrivals, known=bands.known)
        predictions = _with_bands(snapshot, decisions, said, bands, foretold)
        finished = tuple(replace(decisions[job.id], prediction=predictions[job.id]) for job in snapshot.jobs)
    else:
        finished = tuple([decisions[job.id] for job in snapshot.jobs])
    remembered = _remember(policy, proposal, scene, decisions, targets, (bands, arrivals), lengths)
    if in_use := note_uses(scene, decisions, uses):
        remembered = PolicyMemory({**remembered.values, "use": in_use})
    claims, again_s = open_claims(scene, decisions, values.get("claims", {}))
    if claims:
        remembered = PolicyMemory({**remembered.values, "claims": claims})
    wake_at_s = min((at_s for at_s in (proposal.wake_at_s, again_s) if at_s is not None), default=None)
    return Plan(finished, remembered, policy.name, wake_at_s, tuple(proposal.order))


def remembered_jobs(memory: PolicyMemory) -> frozenset[str]:
    """Jobs that earlier rounds saw; a snapshot without one of them says whether it ended or was withdrawn."""
    kept = (memory.values.get(name, {}) for name in ("bands", "lengths"))
    return frozenset(job_id for learnt in kept for job_id in learnt.get("open", ()))


def _with_bands(
    snapshot: ClusterSnapshot,
    decisions: Mapping[str, Decision],
    predictions: Mapping[str, Prediction],
    bands: PredictionIntervals,
    foretold: Mapping[str, FinishForecast],
) -> dict[str, Prediction]:
    """As far off as this run's predictions were, these will be. foretold: with those who will come, where known."""
    now_s, found = snapshot.now_s, dict(predictions)
    bands.close(predictions.keys(), withdrawn=snapshot.withdrawn, now_s=now_s)
    for job_id, said in predictions.items():
        if said.finish_p50_s is None or said.finish_p90_s is None:
            continue
        about = foretold.get(job_id)
        if about is None:
            waits = isinstance(decisions[job_id], Wait | Preempt)
            about = FinishForecast(said.finish_p50_s - now_s, said.finish_p90_s - now_s, waits)
        p90_s = bands.p90_s(about)
        found[job_id] = replace(said, finish_p50_s=min(said.finish_p50_s, now_s + p90_s), finish_p90_s=now_s + p90_s)
        bands.say(job_id, about, p90_s=p90_s, now_s=now_s)
    return found


def _return_resized(scene: RoundState) -> dict[str, Decision]:
    """Jobs that stopped to be resized go where they were promised to go, as soon as all of it is free."""
    decisions: dict[str, Decision] = {}
    for job in scene.snapshot.jobs if scene.returning else ():
        target = scene.returning.get(job.id)
        if target is None:
            continue
        may_now = scene.ledger_now.refusal(job.tenant, gpus=target.n_workers) is None
        if may_now and scene.room_held.fits(job, target, beside=scene.beside.get(job.id, ())):
            scene.room_held.hold(job, target)
            scene.ledger_now.take(job.tenant, gpus=target.n_workers)
            facts = {"n_workers": target.n_workers}
            decisions[job.id] = Launch(job.id, target, (Explanation(Reason.RESUMES_RESIZED, facts),))
        else:
            decisions[job.id] = Wait(job.id, ())
    return decisions


def _diff(scene: RoundState, targets: Targets) -> dict[str, Decision]:
    """What is to happen, for every candidate; waiting and leaving jobs get their reasons in step 5."""
    ids = [job.id for job in scene.candidates]
    decisions: dict[str, Decision] = dict(zip(ids, map(_waits, ids), strict=True))
    for job in scene.running:
        if job.id in targets.leaving:
            decisions[job.id] = Preempt(job.id, ())
        elif job.id not in targets.placed:
            decisions[job.id] = Keep(job.id, _about_staying(targets.kept.get(job.id, ())))
    runs = {job.id: job.allocation for job in scene.running}
    for job_id, (allocation, explanations) in targets.placed.items():
        if runs.get(job_id) == allocation:  # a restart on the very same GPUs would gain nothing
            decisions[job_id] = Keep(job_id, _UNCHANGED)
            continue
        kind = Resize if job_id in runs else Launch
        decisions[job_id] = kind(job_id, allocation, explanations)
        scene.room_held.hold_gpus(allocation)  # what it adds to what it holds already
    return decisions


def _waits(job_id: str) -> Wait:
    """A decision without reasons, as they come later."""
    return Wait(job_id, ())


_STAYING = {Reason.UNCHANGED, Reason.RESTART_NOT_WORTH_IT}
_UNCHANGED = (Explanation(Reason.UNCHANGED),)


def _about_staying(explanations: tuple[Explanation, ...]) -> tuple[Explanation, ...]:
    """Reasons to change do not explain a job that was left alone after all."""
    fitting = tuple([e for e in explanations if e.reason in _STAYING])
    return fitting or _UNCHANGED


_TAKEN_BACK = {
    Reason.RECLAIMED,
    Reason.KEPT_FOR_OWNER,
    Reason.BORROW_LIMIT,
    Reason.NOTHING_TO_BORROW,
    Reason.FAIR_RECLAIM,
    Reason.FAIR_PART,
    Reason.KEPT_FOR_TURN,
}


def _why_it_leaves(scene: RoundState, proposal: Proposal, targets: Targets) -> dict[str, Decision]:
    """What quota says where it forbids the job to stay; else the policy's reason; else who comes instead."""
    gainers = [g.job for g in proposal.grants if g.job in targets.placed or g.job in targets.awaited]
    decisions: dict[str, Decision] = {}
    for job in scene.candidates:
        held = targets.leaving.get(job.id)
        if held is None:
            continue
        excess = scene.ledger_before.excess(job.tenant)
        why = proposal.notes.get(job.id, ())
        refused = scene.budget.refusal(job, held.n_workers)
        if refused is not None and refused.reason in _TAKEN_BACK:
            why = (refused,)
        elif excess is not None and refused is not None:
            why = (excess,)
        elif not why or why[0].reason in _STAYING:
            facts = {"ahead": len(gainers), "next_job": gainers[0] if gainers else ""}
            why = (Explanation(Reason.BEHIND_OTHERS, facts),)
        decisions[job.id] = Preempt(job.id, why)
    return decisions


def _remember(
    policy: Policy,
    proposal: Proposal,
    scene: RoundState,
    decisions: Mapping[str, Decision],
    targets: Targets,
    learnt: tuple[PredictionIntervals, ArrivalEffects],
    lengths: JobLengthModel,
) -> PolicyMemory:
    promised = {**scene.pending, **{j: a for j, a in scene.returning.items() if isinstance(decisions[j], Wait)}}
    if proposal.is_final:
        promised |= targets.awaited
    promised |= {job_id: targets.placed[job_id][0] for job_id in targets.placed if type(decisions[job_id]) is Resize}
    values: dict[str, Any] = {"policy": policy.name, "values": dict(proposal.memory)}
    values |= {"bands": learnt[0].to_json(), "arrivals": learnt[1].to_json()}
    if lengths.has_learnt:
        values["lengths"] = lengths.to_json()
    values["resizing"] = {job_id: allocation_to_json(promised[job_id]) for job_id in sorted(promised)}
    for job_id, value in values["resizing"].items():
        beside = targets.partners.get(job_id, set()) | set(scene.beside.get(job_id, ()))
        if beside:
            value["beside"] = sorted(beside)
    return PolicyMemory(values)
