"""What a start, a resize and a preemption cost, in seconds in which a gang holds GPUs and does not train."""

from __future__ import annotations

from scheduler.snapshot import JobSnapshot


def start_cost_s(job: JobSnapshot) -> float:
    """From launch to the first step."""
    return max(0.0, job.start_s)


def restart_cost_s(job: JobSnapshot) -> float:
    """Save and leave, then start again: what a resize costs, and a preemption in the end."""
    return max(0.0, job.checkpoint_s) + start_cost_s(job)
