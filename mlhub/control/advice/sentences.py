# SPDX-License-Identifier: Apache-2.0
"""What a waiting job lacks and what would help it, in sentences."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.api.gpu_budgets import BudgetPeriod, GpuHourBudget
from scheduler.api.reasons import figure
from scheduler.counterfactuals import ActionKind, Blocker, BlockerKind

BLOCKERS: Mapping[BlockerKind, str] = {
    BlockerKind.FREE_GPUS: "Free GPUs{types}: {have} of {total}; it needs {need}.",
    BlockerKind.PLACEMENT: "Free GPUs, CPUs and memory have room for {have} workers as one gang; it needs {need}.",
    BlockerKind.QUOTA_GPUS: "{tenant} may use {have} more of its {total} GPUs{types}; it needs {need}.",
    BlockerKind.QUOTA_RUNNING_JOBS: "{tenant} may run {have} more of its {total} jobs.",
    BlockerKind.QUOTA_CPUS: "CPUs of the quota of {tenant} are enough for {have} more of its workers; it needs {need}.",
    BlockerKind.QUOTA_MEMORY: "Memory of the quota of {tenant} is enough for {have} more of its workers; it needs "
    "{need}.",
    BlockerKind.USER_GPUS: "{user} may use {have} more of {total} GPUs{types} in {tenant}, as one person; it needs "
    "{need}.",
    BlockerKind.USER_RUNNING_JOBS: "{user} may run {have} more of {total} jobs in {tenant}, as one person.",
    BlockerKind.USER_CPUS: "CPUs that {user} may have in {tenant}, as one person, are enough for {have} more of its "
    "workers; it needs {need}.",
    BlockerKind.USER_MEMORY: "Memory that {user} may have in {tenant}, as one person, is enough for {have} more of its "
    "workers; it needs {need}.",
    BlockerKind.BORROW_LIMIT: "{tenant} may have {have} more of {total} GPUs, {guarantee} guaranteed and the others "
    "borrowed; it needs {need}.",
    BlockerKind.BORROW_LIMIT_OF_TYPE: "{tenant} may have {have} more of {total} GPUs{types}, {guarantee} guaranteed "
    "and the others borrowed; it needs {need}.",
    BlockerKind.BUDGET: "{tenant} has used {used:#} of its {hours:#} GPU-hours{types}{period}.",
    BlockerKind.USER_BUDGET: "{user} has used {used:#} of {hours:#} GPU-hours{types}{period} in {tenant}, as "
    "one person.",
    BlockerKind.BORROWING: "{tenant} may use {have} more GPUs now, borrowed ones included; it needs {need}.",
}
ACTIONS: Mapping[ActionKind, str] = {
    ActionKind.FEWER_WORKERS: "Start with {min_workers} GPUs instead of {need}.",
    ActionKind.MORE_WORKERS: "Allow up to {max_workers} GPUs.",
    ActionKind.ANY_GPU_TYPE: "Allow every type of GPU.",
    ActionKind.HIGHER_PRIORITY: "Raise its priority to {priority}.",
    ActionKind.LARGER_QUOTA: "Raise the quota of {tenant} to {max_gpus} GPUs; {raised_by} can.",
    ActionKind.LARGER_QUOTA_OF_TYPE: "Raise the quota of {tenant} to {of_types}; {raised_by} can.",
    ActionKind.LARGER_GUARANTEE: "Raise the guarantee of {tenant} to {guarantee} GPUs; {raised_by} can.",
    ActionKind.LARGER_BORROW_LIMIT: "Raise the borrowing limit of {tenant} to {borrow_limit} GPUs; {raised_by} can.",
    ActionKind.LARGER_BORROW_LIMIT_OF_TYPE: "Raise the borrowing limit of {tenant} to {of_types}; {raised_by} can.",
    ActionKind.LARGER_QUOTA_OF_CPUS: "Raise the quota of {tenant} to {max_cpus:,} CPUs; {raised_by} can.",
    ActionKind.LARGER_QUOTA_OF_MEMORY: "Raise the quota of {tenant} to {memory_gib:,.12g} GiB of memory; {raised_by} "
    "can.",
    ActionKind.MORE_RUNNING_JOBS: "Let {tenant} run {max_running_jobs} jobs at once; {raised_by} can.",
    ActionKind.LARGER_USER_LIMIT: "Raise the limit of {user} in {tenant} to {max_gpus} GPUs; {raised_by} can.",
    ActionKind.LARGER_USER_LIMIT_OF_TYPE: "Raise the limit of {user} in {tenant} to {of_types}; {raised_by} can.",
    ActionKind.LARGER_USER_LIMIT_OF_CPUS: "Raise the limit of {user} in {tenant} to {max_cpus:,} CPUs; "
    "{raised_by} can.",
    ActionKind.LARGER_USER_LIMIT_OF_MEMORY: "Raise the limit of {user} in {tenant} to {memory_gib:,.12g} GiB of "
    "memory; {raised_by} can.",
    ActionKind.MORE_USER_RUNNING_JOBS: "Let {user} run {max_running_jobs} jobs at once in {tenant}; {raised_by} can.",
    ActionKind.LARGER_BUDGET: "Raise the budget of {tenant} to {budget}; {raised_by} can.",
    ActionKind.LARGER_USER_BUDGET: "Raise the budget of {user} in {tenant} to {budget}; {raised_by} can.",
    ActionKind.SEVERAL_LIMITS: "Raise several limits.",  # the sentences of the limits follow
    ActionKind.PAUSE_JOB: "Pause {job}.",
}
SEVERAL = "All of this, as nothing less helps:"
NOT_READY = "{node} is not ready: {message}"
FIRST_GUARANTEE = "Guarantee {tenant} {guarantee} of the GPUs of {above}; {raised_by} can."
PERIODS = {
    BudgetPeriod.DAY: " of today",
    BudgetPeriod.WEEK: " of this week",
    BudgetPeriod.MONTH: " of this month",
    BudgetPeriod.ONCE: "",
}


def budget_in_words(budget: GpuHourBudget) -> str:
    """As in: 40 GPU-hours on a100 a month."""
    scope = f" on {budget.gpu_type}" if budget.gpu_type else ""
    each = "" if budget.period is BudgetPeriod.ONCE else f" a {budget.period.value}"
    return f"{figure(budget.gpu_hours)} GPU-hours{scope}{each}"


def closed_in_words(blocker: Blocker) -> str:
    """That nodes are drained, cordoned or away explains why a cluster with enough GPUs has too few for the job."""
    if not (blocker.closed and blocker.is_blocking):
        return ""
    more = "1 more GPU is" if blocker.closed == 1 else f"{blocker.closed} more GPUs are"
    return f" {more} on nodes that take no new jobs: cordoned, drained, excluded or not ready."
