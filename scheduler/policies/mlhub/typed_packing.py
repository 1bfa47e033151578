# SPDX-License-Identifier: Apache-2.0
"""GPU sharing where there are several GPU types: each type whose GPUs take several jobs has a market of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scheduler.api.snapshot import JobSnapshot
from scheduler.policies.mlhub.job_values import JobValues
from scheduler.policies.mlhub.packing import PackingSearch
from scheduler.policies.toolkit.policy import View, n_held
from scheduler.quota.budget import Budget


def packing_searches(view: View, *, memory: Mapping[str, Any], is_on: bool) -> list[PackingSearch]:
    """Returns a search for each GPU type that may be shared; one for all GPUs where there is one type."""
    most: dict[str, int] = {}
    for node in view.nodes:
        if node.n_gpus and node.is_schedulable:
            most[node.gpu_type] = max(most.get(node.gpu_type, 1), node.max_jobs_per_gpu)
    if len(most) < 2:
        return [PackingSearch(view, memory=memory, is_on=is_on)]
    return [
        PackingSearch(_view_of(view, gpu_type, n), memory=memory, is_on=is_on, gpu_type=gpu_type, key=_key(gpu_type))
        for gpu_type, n in sorted(most.items())
        if n > 1
    ]


def sharers(search: PackingSearch, values: JobValues, budget: Budget) -> Sequence[JobSnapshot]:
    """Returns the jobs that a search may rearrange: of its type, and not about to move there from another one."""
    if not search.gpu_type:
        return values.view.jobs
    return [
        job
        for job in values.view.jobs
        if values.gpu_type[job.id] == search.gpu_type
        and (not n_held(job) or values.held_type(job) == search.gpu_type)
        and (not budget.granted(job) or budget.gpu_type(job) == search.gpu_type)
    ]


def _view_of(view: View, gpu_type: str, max_jobs_per_gpu: int) -> View:
    """The view with the running jobs of that type, and all that wait."""
    type_of = {node.name: node.gpu_type for node in view.nodes}

    def is_elsewhere(job: JobSnapshot) -> bool:
        shares = job.held.shares if job.held is not None else ()
        return any(type_of.get(share.node) != gpu_type for share in shares if share.gpus)

    jobs = tuple(job for job in view.jobs if not is_elsewhere(job))
    return replace(view, jobs=jobs, max_jobs_per_gpu=max_jobs_per_gpu)


def _key(gpu_type: str) -> str:
    return f"pairing on {gpu_type}"
