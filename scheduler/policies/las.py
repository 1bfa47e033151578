# SPDX-License-Identifier: Apache-2.0
"""Least attained service, discretised: jobs that used the fewest GPU-seconds go first; needs no knowledge of
durations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scheduler.policies.abilities import OrderRule
from scheduler.policies.toolkit.attained_service import AttainedService


@dataclass(frozen=True)
class Las(AttainedService):
    """Serves the least attained service in queues: discretised 2D-LAS (Gu et al., Tiresias, NSDI '19, sec. 3.2)."""

    name: str = "las"
    order_rule: ClassVar[OrderRule] = OrderRule.ATTAINED_SERVICE
