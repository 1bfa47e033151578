"""Step 3 of a round: the grants become allocations, now or as soon as others have left; needless victims stay."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from scheduler.admission import Scene, held_by
from scheduler.decisions import Explanation, Reason
from scheduler.gathering import Gathering
from scheduler.joining import Joining, Targets
from scheduler.leftovers import left_over
from scheduler.models.cost import restart_cost_s
from scheduler.models.speeds import Speeds
from scheduler.placement.candidates import candidate_places
from scheduler.placement.gangs import Packing, Spot, build_allocation, place_on, place_workers
from scheduler.placement.room import Room
from scheduler.policies.policy import Grant, Proposal
from scheduler.pricing import Pricing
from scheduler.snapshot import Allocation, JobSnapshot, Mode

__all__ = ["Targets", "place"]

MOST_MOVES = 4  # that are considered in one round
SCATTERED = 0.1  # a gang that is slower than it should be at its size by this share lies badly


def place(scene: Scene, proposal: Proposal, speeds: Speeds) -> Targets:
    """Allocations for the grants, within what is free now, or later.

    1. running jobs whose size is unchanged keep their places;
    2. running jobs that shrink choose first, among their own GPUs;
    3. the others in the policy's order: on what is free now, else on what will be free: then they wait for it, and it
       is kept free for them; who shares GPUs goes where those go that it is to be beside;
    4. who was to shrink or leave, but is in nobody's way, stays as it is;
    5. GPUs that were granted to who could not use them all go to claims of guarantees, then to others that wait, where
       the policy wants that (leftovers.py);
    6. where places are priced, a running job that lies badly moves to a free place, if that repays its restart;
    7. where they are not, gangs of one size that lie on several nodes are gathered on one (gathering.py).
    """
    return _Placer(scene, proposal, speeds).place()


class _Placer:
    def __init__(self, scene: Scene, proposal: Proposal, speeds: Speeds) -> None:
        self.scene, self.proposal, self.speeds = scene, proposal, speeds
        self.jobs = {job.id: job for job in scene.candidates}
        self.grants = {grant.job: grant for grant in proposal.grants}
        self.now, self.then = scene.room_now, scene.room_then
        self.targets = Targets()
        self.choices: dict[str, list[Allocation]] = {}  # that were compared last
        self.is_left_over = False  # somebody could not use all that it was granted
        shares = any(grant.beside for grant in proposal.grants)
        self.joining = Joining(scene, proposal, self.targets, self._find_exactly) if shares else None
        is_priced = any(grant.packing is Packing.PRICED for grant in proposal.grants)
        self.pricing = Pricing(scene, speeds) if is_priced else None

    def place(self) -> Targets:
        shrinking: list[JobSnapshot] = []
        growing: set[str] = set()
        for job in self.scene.running:
            held = job.held
            assert held is not None
            grant = self.grants.get(job.id)
            if grant is not None and grant.beside:
                continue
            if grant is not None and grant.n_workers == held.n_workers and self._may_keep(held, grant):
                self.then.hold(job, held)
                self.targets.kept[job.id] = self.proposal.notes.get(job.id, grant.explanations)
            elif grant is not None and self.proposal.is_final:
                growing.add(job.id)
            elif grant is not None and grant.n_workers < held.n_workers:
                shrinking.append(job)
            elif grant is not None:
                self.then.hold(job, held)
                growing.add(job.id)
            else:
                self.targets.leaving[job.id] = held
        for job in shrinking:
            self._shrink(job)
        for grant in self.proposal.grants:
            job = self.jobs[grant.job]
            if self.joining is not None and grant.beside:
                self.joining.join(job, grant)
            elif self.proposal.is_final:
                if job.id not in self.targets.kept:
                    self._settle(job, grant)
            elif held_by(job) is None:
                self._launch(job, grant)
            elif job.id in growing:
                self._grow(job, grant)
        if not self.proposal.is_final:
            self._spare_needless_victims(shrinking)
            self._fill()
        if self.pricing is not None:
            self._move(self.pricing)
        if any(grant.gathers for grant in self.proposal.grants):
            Gathering(self.scene, self.targets, self.grants, self.speeds).gather()
        return self.targets

    def _settle(self, job: JobSnapshot, grant: Grant) -> None:
        """For final proposals: the place it will have; now if it is free, else it is promised."""
        held, allocation = held_by(job), self._find(self.then, job, grant)
        if allocation is None:
            self.targets.refused[job.id] = grant
            return
        self.then.hold(job, allocation)
        if held is not None or self.now.fits(job, allocation):
            self.targets.placed[job.id] = (allocation, grant.explanations)
        else:
            self.targets.awaited[job.id] = allocation

    # 2

    def _shrink(self, job: JobSnapshot) -> None:
        held, grant = held_by(job), self.grants[job.id]
        assert held is not None
        own = self._with_own(self.now, job, held)
        allocation = self._find(own, job, grant, keep=held)
        if allocation is None or not self.then.fits(job, allocation):
            self.then.hold(job, held)
            self.targets.kept[job.id] = self.proposal.notes.get(job.id, grant.explanations)
            return
        self._settle_on(job, allocation, grant)

    # 3

    def _launch(self, job: JobSnapshot, grant: Grant) -> None:
        may_now = self.scene.ledger_now.refusal(job.tenant, gpus=grant.n_workers) is None
        allocation = self._find(self.now, job, grant) if may_now else None
        if allocation is not None and not self.then.fits(job, allocation):
            allocation = None
        later = None if self._is_good(job, allocation, grant) else self._find(self.then, job, grant)
        if allocation is not None and not self._is_worse(job, allocation, later):
            self.scene.ledger_now.take(job.tenant, gpus=allocation.n_workers)
            self._settle_on(job, allocation, grant)
            return
        if later is None:
            smaller = self._smaller(job, grant)
            if smaller is not None:
                self._launch(job, smaller)
            else:
                self.targets.refused[job.id] = grant
                self.scene.budget.give_back(job)
                self.is_left_over = True
            return
        self._await(job, later)

    def _grow(self, job: JobSnapshot, grant: Grant) -> None:
        held = held_by(job)
        assert held is not None
        more = max(0, grant.n_workers - held.n_workers)
        self.then.release(job, held)
        may_now = self.scene.ledger_now.refusal(job.tenant, gpus=more, jobs=0) is None
        allocation = self._find(self._with_own(self.now, job, held), job, grant, keep=held) if may_now else None
        least = held.n_workers + self._may_keep(held, grant)  # as many GPUs elsewhere would be a restart for nothing
        if allocation is not None and self.then.fits(job, allocation) and allocation.n_workers >= least:
            more = allocation.n_workers - held.n_workers
            self.scene.ledger_now.take(job.tenant, gpus=more, jobs=0)
            self._settle_on(job, allocation, grant)
            return
        later = self._find(self.then, job, grant, keep=held)
        if later is not None and (later.n_workers > held.n_workers or least == held.n_workers):
            self._await(job, later)
        else:
            self.then.hold(job, held)
            self.targets.refused[job.id] = grant
            self.scene.budget.take(job, held.n_workers)
            self.is_left_over = True
        self.targets.kept[job.id] = self.proposal.notes.get(job.id, ())

    def _settle_on(self, job: JobSnapshot, allocation: Allocation, grant: Grant) -> None:
        """It is placed; the budget and the reasons say what it really got."""
        self.then.hold(job, allocation)
        self.now.limit_to(self.then, allocation)
        n_workers = allocation.n_workers
        if n_workers != grant.n_workers:
            self.scene.budget.take(job, n_workers)
            self.is_left_over = True
        explanations = tuple(
            Explanation(e.reason, {**e.facts, "n_workers": n_workers}) if "n_workers" in e.facts else e
            for e in grant.explanations
        )
        self.targets.placed[job.id] = (allocation, explanations + self._why(job, grant, allocation))

    def _await(self, job: JobSnapshot, allocation: Allocation) -> None:
        self.then.hold(job, allocation)
        self.now.limit_to(self.then, allocation)
        self.targets.awaited[job.id] = allocation

    def _is_good(self, job: JobSnapshot, allocation: Allocation | None, grant: Grant) -> bool:
        """Is it there about as fast as it should be at that size, so that no place is worth waiting for?"""
        if allocation is None or allocation.n_workers < grant.n_workers:
            return False
        return self._step_s(job, allocation) <= (1 + SCATTERED) * self._expected_s(job, grant)

    def _expected_s(self, job: JobSnapshot, grant: Grant) -> float:
        """A step on an empty cluster."""
        return self.speeds.plain_step_s(job, grant.n_workers, gpu_type=grant.gpu_type, n_nodes=grant.n_nodes)

    def _is_worse(self, job: JobSnapshot, allocation: Allocation, later: Allocation | None) -> bool:
        """Is it clearly better to wait for the place that others are about to leave?"""
        if later is None or later == allocation:
            return False
        return self._step_s(job, allocation) > (1 + SCATTERED) * self._step_s(job, later)

    def _smaller(self, job: JobSnapshot, grant: Grant) -> Grant | None:
        """Half the size, where that will do."""
        n_workers = max(grant.least_workers or grant.n_workers, grant.n_workers // 2)
        if n_workers >= grant.n_workers or not self.scene.budget.take(job, n_workers):
            return None
        return replace(grant, n_workers=n_workers, n_nodes=0)

    # 4

    def _spare_needless_victims(self, shrinking: list[JobSnapshot]) -> None:
        budget = self.scene.budget
        position = {job_id: i for i, job_id in enumerate(self.proposal.order)}
        victims = [self.jobs[job_id] for job_id in self.targets.leaving]
        for job in sorted(victims, key=lambda job: (position.get(job.id, len(position)), job.id)):
            held = self.targets.leaving[job.id]
            if self.then.fits(job, held) and budget.take(job, held.n_workers):
                self.then.hold(job, held)
                del self.targets.leaving[job.id]
                self.targets.kept[job.id] = ()
        for job in shrinking:
            if job.allocation is None or job.id not in self.targets.placed:
                continue
            held = job.allocation
            smaller, _ = self.targets.placed[job.id]
            self.then.release(job, smaller)
            if self.then.fits(job, held) and budget.take(job, held.n_workers):
                self.then.hold(job, held)
                del self.targets.placed[job.id]
                self.targets.kept[job.id] = ()
            else:
                self.then.hold(job, smaller)

    # 5

    def _fill(self) -> None:
        if self.is_left_over:
            for job, grant in left_over(self.scene, self.proposal, but=self.grants):
                self.grants[job.id] = grant
                self._launch(job, grant)

    # 6

    def _move(self, pricing: Pricing) -> None:
        """The worst place first; the own GPUs count as free."""
        badly: list[tuple[float, str, Allocation]] = []
        for job_id in self.targets.kept:
            grant, held = self.grants.get(job_id), held_by(self.jobs[job_id])
            if grant is None or held is None or grant.packing is not Packing.PRICED or job_id in self.targets.awaited:
                continue
            if grant.n_workers == held.n_workers and not grant.beside and pricing.is_bad(self.jobs[job_id], held):
                badly.append((-pricing.step_s(self.jobs[job_id], held), job_id, held))
        for _, job_id, held in sorted(badly, key=lambda bad: bad[:2])[:MOST_MOVES]:
            job, grant = self.jobs[job_id], self.grants[job_id]
            self.then.release(job, held)
            found = self._find_exactly(self._with_own(self.now, job, held), job, grant)
            found = None if found == held else found
            gain_s = pricing.gain_s(job, held, found) if found is not None else 0.0
            if found is not None and self.then.fits(job, found) and pricing.pays(job, gain_s):
                facts = {"gain_s": gain_s, "cost_s": restart_cost_s(job)}
                why = replace(grant, explanations=(Explanation(Reason.MOVES, facts),))
                del self.targets.kept[job_id]
                self._settle_on(job, found, why)
            else:
                self.then.hold(job, held)

    # finding a place

    def _step_s(self, job: JobSnapshot, allocation: Allocation) -> float:
        """The price of a place; where places have none, the step there alone."""
        if self.pricing is None or self.grants[job.id].packing is not Packing.PRICED:
            return self.speeds.step_s_on(job, allocation)
        return self.pricing.step_s(job, allocation)

    def _why(self, job: JobSnapshot, grant: Grant, allocation: Allocation) -> tuple[Explanation, ...]:
        """What its links give it there, where that was asked."""
        if self.pricing is None or grant.packing is not Packing.PRICED:
            return ()
        return self.pricing.why(job, allocation, self.choices.get(job.id, ()))

    def _find(self, room: Room, job: JobSnapshot, grant: Grant, *, keep: Allocation | None = None) -> Allocation | None:
        """The best of the grant's size and, where that would be scattered, of smaller ones: less may be faster."""
        found = self._find_exactly(room, job, grant, keep=keep)
        least = grant.least_workers or grant.n_workers
        if grant.n_workers <= least:
            return found
        if found is None:
            return None
        best_s = self._step_s(job, found)
        expected_s = self._expected_s(job, grant)
        per_node = self.speeds.terrain.gpus_per_node(grant.gpu_type)
        n = grant.n_workers
        while best_s > expected_s * (1 + SCATTERED) and n > least:
            n = max(least, n - 1 if n <= per_node else n // 2)
            smaller = self._find_exactly(room, job, replace(grant, n_workers=n, n_nodes=0), keep=keep)
            if smaller is not None and (step_s := self._step_s(job, smaller)) < best_s * 1.02:
                found, best_s = smaller, min(best_s, step_s)
        return found

    def _find_exactly(
        self, room: Room, job: JobSnapshot, grant: Grant, *, keep: Allocation | None = None
    ) -> Allocation | None:
        """As wished; where there is no such room, the fastest of what is left: packed, or spread as far as it goes."""
        found = self._lay_out(room, job, grant, keep=keep)
        is_free = not grant.spots and grant.packing is Packing.TIGHT and grant.n_workers > 1
        if not is_free or self._is_as_wished(found, grant):
            return found
        if found is None and not room.has_openings(job, grant.gpu_type, grant.n_workers):
            return None
        others = [self._lay_out(room, job, replace(grant, n_nodes=n), keep=keep) for n in (0, grant.n_workers)]
        ways = [way for way in (found, *others) if way is not None]
        return min(ways, key=lambda way: self.speeds.step_s_on(job, way), default=None)

    def _is_as_wished(self, found: Allocation | None, grant: Grant) -> bool:
        """On the wished number of nodes, none of them fuller than need be."""
        if found is None:
            return False
        loads = [len(share.gpus) for share in found.shares if share.gpus]
        per_node = self.speeds.terrain.gpus_per_node(grant.gpu_type)
        n_nodes = grant.n_nodes or -(-grant.n_workers // per_node)
        return len(loads) <= n_nodes and (not grant.n_nodes or max(loads) <= -(-grant.n_workers // n_nodes))

    def _lay_out(
        self, room: Room, job: JobSnapshot, grant: Grant, *, keep: Allocation | None = None
    ) -> Allocation | None:
        """A gang's allocation in this room: workers, then the mode that is fastest there, then its servers."""
        near: Collection[str] = [share.node for share in keep.shares] if keep else ()
        if grant.spots:
            spots = place_on(room, job, grant.spots)
        elif self.pricing is not None and grant.packing is Packing.PRICED:
            busy = self.pricing.contention.busy
            places = candidate_places(
                room,
                job,
                n_workers=grant.n_workers,
                gpu_type=grant.gpu_type,
                busy=busy,
                near=near,
                n_nodes=grant.n_nodes,
            )
            built = [self._build(room, job, spots, keep) for spots in places]
            self.choices[job.id] = [choice for choice in built if choice is not None]
            best = self.pricing.best(job, self.choices[job.id])
            if best is None and self.choices[job.id]:
                self.targets.harmful.add(job.id)
            return best
        else:
            spots = place_workers(
                room,
                job,
                n_workers=grant.n_workers,
                gpu_type=grant.gpu_type,
                near=near,
                packing=grant.packing,
                n_nodes=grant.n_nodes,
            )
        return None if spots is None else self._build(room, job, spots, keep)

    def _build(
        self, room: Room, job: JobSnapshot, spots: tuple[Spot, ...], keep: Allocation | None
    ) -> Allocation | None:
        """The mode that is fastest on these spots, and as many servers as find room."""
        layout = self.speeds.terrain.layout_on({node.name: k for node, k in spots})
        mode, n_servers = self.speeds.best_mode(job, layout)
        allocation: Allocation | None
        allocation = build_allocation(room, job, spots=spots, mode=mode, n_servers=n_servers, keep=keep)
        while allocation is None and n_servers > 1:
            n_servers //= 2
            allocation = build_allocation(room, job, spots=spots, mode=mode, n_servers=n_servers, keep=keep)
        if allocation is None and job.mode is None:
            allocation = build_allocation(room, job, spots=spots, mode=Mode.ALL_REDUCE, n_servers=0, keep=keep)
        return allocation

    def _with_own(self, room: Room, job: JobSnapshot, held: Allocation) -> Room:
        """The room as it is for the job itself: what it holds is free for it, as far as nobody else was promised it."""
        own = room.copy()
        own.release(job, held)
        own.limit_to(self.then, held)
        return own

    def _may_keep(self, held: Allocation, grant: Grant) -> bool:
        """Is it on the wished type of GPU, on the wished nodes, and not with one that keeps these GPUs already?"""
        node = self.then.nodes[held.shares[0].node]
        has_type = not grant.gpu_type or node.gpu_type == grant.gpu_type
        lies_so = {share.node: len(share.gpus) for share in held.shares if share.gpus} == dict(grant.spots)
        is_taken = any(mate in self.targets.kept for mate in self.then.mates(held))
        return has_type and (lies_so or not grant.spots) and not is_taken
