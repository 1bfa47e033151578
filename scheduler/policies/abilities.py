# SPDX-License-Identifier: Apache-2.0
"""What a policy can do and what it knows, as its class declares it: environments and the round act on these flags."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum


@dataclass(frozen=True)
class Abilities:
    """Declares what a policy can do and needs.

    is_elastic: it makes jobs smaller and larger. adapts_batch_size: its jobs change their batch with their size.
    slices_time: jobs have the GPUs in turn, for a slice or a lease each, whatever the turns cost.
    In simulations: knows_true_speeds: its authors gave it exact step times. knows_own_job_only: measurements of a job
    are not used for others of its family. is_opportunistic: jobs of low priority train on what others leave of GPUs.
    """

    is_elastic: bool = False
    adapts_batch_size: bool = False
    slices_time: bool = False
    knows_true_speeds: bool = False
    knows_own_job_only: bool = False
    is_opportunistic: bool = False


class OrderRule(StrEnum):
    """Names by what a policy orders jobs of one priority; explanations of the queue compare jobs by it."""

    SUBMISSION = "submission"
    REMAINING_TIME = "remaining_time"
    REMAINING_SERVICE = "remaining_service"  # GPU-seconds to go
    ATTAINED_SERVICE = "attained_service"  # GPU-seconds had
    OTHER = "other"  # of several jobs at once, so that no two of them can be compared


def order_rule_of(policy: object) -> OrderRule:
    """Returns the policy's attribute order_rule; OTHER where it declares none."""
    return OrderRule(getattr(policy, "order_rule", OrderRule.OTHER))


def abilities_of(policy: object) -> Abilities:
    """Returns the abilities of a policy or its class: attributes by these names, False where there is none."""
    return Abilities(**{f.name: bool(getattr(policy, f.name, False)) for f in fields(Abilities)})
