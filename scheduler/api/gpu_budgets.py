# SPDX-License-Identifier: Apache-2.0
"""Budgets of GPU-hours per period, when the periods of UTC begin and end, and changes of quotas at known times."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

_TOLERANCE = 1e-9  # of the amount: sums of hours are not exact


class BudgetPeriod(StrEnum):
    """Names after what time a budget is full again. Periods begin at midnight UTC; a week begins on Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    ONCE = "once"  # never


class OnExhausted(StrEnum):
    """Names what happens when a budget is used up."""

    ALERT = "alert"  # people are notified, and nothing stops
    STOP_NEW = "stop_new"  # no job starts; running jobs go on
    STOP_ALL = "stop_all"  # no job starts; running jobs save a checkpoint and wait


@dataclass(frozen=True)
class GpuHourBudget:
    """Holds what a tenant and all below it may use in the present period, and what of it they have used, in GPU-hours.

    gpu_type: only GPUs of this type count; "" = all. ends_at_s: when the period ends, on the snapshot's clock; None =
    it does not end.
    """

    gpu_hours: float
    period: BudgetPeriod = BudgetPeriod.MONTH
    on_exhausted: OnExhausted = OnExhausted.ALERT
    gpu_type: str = ""
    used_gpu_hours: float = 0.0
    ends_at_s: float | None = None

    @property
    def is_hard(self) -> bool:
        """Returns whether jobs are stopped when it is used up."""
        return self.on_exhausted is not OnExhausted.ALERT

    @property
    def is_exhausted(self) -> bool:
        """Returns whether nothing of it is left."""
        return self.used_gpu_hours >= self.gpu_hours * (1.0 - _TOLERANCE)

    def counts(self, gpu_type: str) -> bool:
        """Returns whether GPUs of this type count."""
        return self.gpu_type in ("", gpu_type)


@dataclass(frozen=True)
class QuotaChange:
    """Holds what a tenant's rules have more, or less, from a time on: a boost that begins or ends, say.

    at_s: on the snapshot's clock. guarantee: of any type and of single types; guarantee_by_type: of these, as (type,
    GPUs) pairs. max_gpus, gpus_by_type: of limits that there are.
    """

    at_s: float
    tenant: str
    guarantee: int = 0
    max_gpus: int = 0
    gpus_by_type: tuple[tuple[str, int], ...] = ()
    guarantee_by_type: tuple[tuple[str, int], ...] = ()

    @property
    def lowers(self) -> bool:
        """Returns whether any amount becomes less."""
        of_types = (n for _, n in (*self.gpus_by_type, *self.guarantee_by_type))
        return min((self.guarantee, self.max_gpus, *of_types)) < 0


def period_of(period: BudgetPeriod, now_s: float) -> tuple[float | None, float | None]:
    """Returns when the period around now_s begins and ends, in seconds since 1970 UTC; None = it does not."""
    if period is BudgetPeriod.ONCE:
        return None, None
    midnight = datetime.fromtimestamp(now_s, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    if period is BudgetPeriod.DAY:
        begin, end = midnight, midnight + timedelta(days=1)
    elif period is BudgetPeriod.WEEK:
        begin = midnight - timedelta(days=midnight.weekday())
        end = begin + timedelta(days=7)
    else:
        begin = midnight.replace(day=1)
        end = (begin + timedelta(days=31)).replace(day=1)
    return begin.timestamp(), end.timestamp()
