# SPDX-License-Identifier: Apache-2.0
"""Step 6 of placement: a badly placed running job moves to a free place, if that repays its restart."""

from __future__ import annotations

from dataclasses import replace

from scheduler.api.plan import Explanation, Reason
from scheduler.api.proposal import Packing
from scheduler.api.snapshot import GangAllocation
from scheduler.placement.link_pricing import LinkPricing
from scheduler.round.placement.progress import PlacementProgress

MOST_MOVES = 4  # that are considered in one round


def move(progress: PlacementProgress, pricing: LinkPricing) -> None:
    """Moves the worst placed jobs first; a job's own GPUs count as free for it."""
    badly: list[tuple[float, str, GangAllocation]] = []
    for job_id in progress.targets.kept:
        grant, held = progress.grants.get(job_id), progress.jobs[job_id].held
        if grant is None or held is None or grant.packing is not Packing.PRICED or job_id in progress.targets.awaited:
            continue
        if (
            grant.n_workers == held.n_workers
            and not grant.colocated_with
            and pricing.is_bad(progress.jobs[job_id], held)
        ):
            badly.append((-pricing.step_s(progress.jobs[job_id], held), job_id, held))
    for _, job_id, held in sorted(badly, key=lambda bad: bad[:2])[:MOST_MOVES]:
        job, grant = progress.jobs[job_id], progress.grants[job_id]
        progress.free_later.release(job, held)
        found = progress.finder.find_exactly(progress.with_own(progress.free_now, job, held), job, grant)
        found = None if found == held else found
        gain_s = pricing.gain_s(job, held, found) if found is not None else 0.0
        cost_s = 0.0 if found is None else progress.state.startup.restart_s(job, found)
        if found is not None and progress.free_later.fits(job, found) and pricing.pays(gain_s, restart_s=cost_s):
            facts = {"gain_s": gain_s, "cost_s": cost_s}
            why = replace(grant, explanations=(Explanation(Reason.MIGRATES, facts),))
            del progress.targets.kept[job_id]
            progress.place(job, found, why)
        else:
            progress.free_later.reserve(job, held)
