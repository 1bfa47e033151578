"""What others gain when a job gives GPUs back: two plans, played forward and compared. For explanations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scheduler.models.cost import restart_cost_s, start_cost_s
from scheduler.models.forecast import Course, Forecast
from scheduler.policies.policy import View, n_held
from scheduler.snapshot import JobSnapshot

MOST_JOBS = 60  # above so many jobs, playing forward costs more than the sentence is worth


def gains_of_others(
    leaver: JobSnapshot,
    plan: Mapping[str, int],
    *,
    view: View,
    sizes: Mapping[str, Sequence[int]],
    capacity: int,
) -> float | None:
    """Seconds by which all others end earlier in sum under the plan than if everybody who runs stayed as they are.

    plan: workers by job. None if there are too many jobs, or some would never run.
    """
    if len(view.jobs) > MOST_JOBS:
        return None
    stay = {job.id: n_held(job) for job in view.jobs}
    before = _courses(stay, view=view, sizes=sizes, capacity=capacity)
    after = _courses(plan, view=view, sizes=sizes, capacity=capacity)
    if set(before) != set(after):
        return None
    return sum(before[j].finish_s - after[j].finish_s for j in before if j != leaver.id)


def _courses(
    plan: Mapping[str, int], *, view: View, sizes: Mapping[str, Sequence[int]], capacity: int
) -> dict[str, Course]:
    room_s = max((job.checkpoint_s for job in view.jobs if plan[job.id] < n_held(job)), default=0.0)
    running = []
    for job in view.jobs:
        n, had = plan[job.id], n_held(job)
        if n:
            delay_s = 0.0 if n == had else restart_cost_s(job) if had else room_s + start_cost_s(job)
            running.append((job, n, delay_s))
    queue = sorted(
        (job for job in view.jobs if not plan[job.id]),
        key=lambda job: (view.speeds.remaining_s(job, job.min_workers) * job.min_workers, job.id),
    )
    forecast = Forecast(view.speeds, sizes=lambda job: sizes[job.id])
    return forecast.courses(running, queue, free=capacity - sum(plan.values()))
