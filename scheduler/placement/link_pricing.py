# SPDX-License-Identifier: Apache-2.0
"""What a place costs: the gang's own steps there, and what it takes from those whose links it uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scheduler.api.plan import Explanation, Reason
from scheduler.api.snapshot import ClusterSnapshot, GangAllocation, JobSnapshot, Phase
from scheduler.models.cost import restart_cost_s
from scheduler.models.link_contention import LinkContention
from scheduler.models.network.flows import Links
from scheduler.models.progress import steps_left
from scheduler.models.speed.job_speeds import JobSpeeds
from scheduler.placement.state import PlacementState

CLEARLY = 1.1  # slower by so much than it should be: a bad place
MOVE_PAYS = 2.0  # a move must gain so many times what its restart costs
CALM = 20.0  # and come so many restarts after the job's last change


class LinkPricing:
    """Prices places on the traffic that will be: of those who stay, and of those who were placed in this round.

    The price of a place is a step time: T · (1 + Σ ω · φ), with T the gang's own step there, φ the part of its speed
    that another job loses, as long as both train, and ω what a second of it counts for against one of the gang: it
    ends later, and so do those who wait for its GPUs, more of them the more GPUs it holds.
    """

    def __init__(self, state: PlacementState, speeds: JobSpeeds) -> None:
        self._state, self._speeds = state, speeds
        self._jobs = state.snapshot.by_id
        n_gpus = sum(node.n_gpus for node in state.snapshot.nodes)
        self._queue = sum(job.held is None for job in state.candidates) / max(1, n_gpus)
        self.contention = contention_of(state.snapshot, speeds, [self._jobs[job_id] for job_id in state.settled_jobs()])
        for job_id, allocation in {**state.resuming, **state.pending_resizes}.items():
            self.contention.add(self._jobs[job_id], allocation)
        state.free_later.watcher = self.contention

    def step_s(self, job: JobSnapshot, allocation: GangAllocation) -> float:
        """Returns the price, in seconds per step; infinite where others would lose more than the gang would gain
        there.
        """
        effect = self.contention.effect(job, allocation)
        own_s = effect.step_s * steps_left(job)
        harm = 0.0
        for other_id, before_s, after_s in effect.slowed:
            other = self._jobs[other_id]
            both_s = min(1.0, steps_left(other) * after_s / max(own_s, 1e-9))
            harm += self._weight(other) / self._weight(job) * (1 - before_s / after_s) * both_s
        return effect.step_s * (1 + harm) if harm < 1.0 else float("inf")

    def best(self, job: JobSnapshot, places: Sequence[GangAllocation]) -> GangAllocation | None:
        """Returns the cheapest place; of equals the first. None where all of them do more harm than good."""
        if not places:
            return None
        if len(places) == 1 and len(places[0].shares) == 1:
            return places[0]
        cheapest, found = float("inf"), -1
        bounds = [self.contention.alone_step_s(job, place) for place in places]
        for i in sorted(range(len(places)), key=bounds.__getitem__):
            if (bounds[i], i) > (cheapest, found):  # no price is below the step alone
                continue
            price = self.step_s(job, places[i])
            if price < cheapest or (price == cheapest and i < found):
                cheapest, found = price, i
        return None if cheapest == float("inf") else places[found]

    def is_bad(self, job: JobSnapshot, held: GangAllocation) -> bool:
        """Returns whether the place of the job is clearly worse than its size should give, and it is time to look for
        another one.
        """
        if len(held.shares) < 2 or job.phase is not Phase.RUNNING:
            return False
        since_s = max(job.allocated_at_s or 0.0, job.last_resized_at_s or 0.0, job.training_since_s or 0.0)
        if self._state.snapshot.now_s - since_s < CALM * restart_cost_s(job):
            return False
        usual_s = self._speeds.plain_step_s(job, held.n_workers, gpu_type=self._type_of(held))
        return self.step_s(job, held) > CLEARLY * usual_s

    def gain_s(self, job: JobSnapshot, held: GangAllocation, found: GangAllocation) -> float:
        """Returns by how much a move shortens all that it touches, in seconds of the job, without its restart."""
        now_s, then_s = self.step_s(job, held), self.step_s(job, found)
        if now_s == float("inf"):
            now_s = 2 * self.contention.effect(job, held).step_s
        return (now_s - then_s) * steps_left(job) if now_s > CLEARLY * then_s else 0.0

    def pays(self, gain_s: float, *, restart_s: float) -> bool:
        """Returns whether the move gains enough to repay the job's restart."""
        return gain_s > MOVE_PAYS * restart_s

    def why(
        self, job: JobSnapshot, chosen: GangAllocation, others: Sequence[GangAllocation]
    ) -> tuple[Explanation, ...]:
        """Returns what its gradients get there, and what they would get where they would get least; nothing inside a
        node.
        """
        rate = self.contention.effect(job, chosen).bps
        if rate == float("inf"):
            return ()
        rates = [(self.contention.effect(job, other).bps, self._where(other)) for other in others if other != chosen]
        worst = min((r for r in rates if r[1] != self._where(chosen)), default=None)
        facts = {"place": self._where(chosen), "gbps": rate / 1e9}
        if worst is None or worst[0] >= rate / CLEARLY:
            return (Explanation(Reason.LINK_BANDWIDTH, facts),)
        return (Explanation(Reason.HIGHER_LINK_BANDWIDTH, {**facts, "other": worst[1], "other_gbps": worst[0] / 1e9}),)

    def _weight(self, job: JobSnapshot) -> float:
        held = job.held
        n_workers = held.n_workers if held is not None else job.min_workers
        return (1 + n_workers * self._queue) * job.priority_weight

    def _where(self, allocation: GangAllocation) -> str:
        nodes = self._state.free_later.nodes
        racks = sorted({nodes[share.node].rack for share in allocation.shares})
        names = sorted(share.node for share in allocation.shares)
        if len(racks) > 1:
            return f"racks {', '.join(racks)}"
        return f"rack {racks[0]}" if len(names) > 1 else f"node {names[0]}"

    def _type_of(self, allocation: GangAllocation) -> str:
        return self._state.free_later.nodes[allocation.shares[0].node].gpu_type


def contention_of(snapshot: ClusterSnapshot, speeds: JobSpeeds, jobs: Iterable[JobSnapshot]) -> LinkContention:
    """Returns the traffic of those of these jobs that train or are on their way in."""
    contention = LinkContention(Links(snapshot.nodes, snapshot.racks), speeds)
    there = {node.name for node in snapshot.nodes}
    for job in jobs:
        held = job.held
        if held is None or job.phase is Phase.STOPPING:
            continue
        if all(share.node in there for share in held.shares):
            contention.add(job, held)
    return contention
