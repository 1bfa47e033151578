# SPDX-License-Identifier: Apache-2.0
"""Limits of one user within a tenant."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.api.gpu_budgets import GpuHourBudget


@dataclass(frozen=True)
class UserLimit:
    """Holds what the jobs of one user may have of a tenant, with all below it; None = no limit.

    user: as JobSnapshot.user. name: of the user, for people. max_gpus, max_running_jobs: at a time. gpus_by_type: the
    same of single types of GPU, as (type, most) pairs. max_cpus, max_memory_bytes: that pods request.
    budgets: of GPU-hours per period, of which used_gpu_hours is this user's.
    """

    user: str
    name: str = ""
    max_gpus: int | None = None
    gpus_by_type: tuple[tuple[str, int], ...] = ()
    max_running_jobs: int | None = None
    budgets: tuple[GpuHourBudget, ...] = ()
    max_cpus: int | None = None
    max_memory_bytes: int | None = None

    def most_of(self, gpu_type: str) -> int | None:
        """Returns the most GPUs of the type; None where the type has no limit of its own."""
        return next((most for name, most in self.gpus_by_type if name == gpu_type), None)
