# SPDX-License-Identifier: Apache-2.0
"""What contenders for shared GPUs used lately: it decays by a half-life, and starts are charged for at once.

Pure: it travels in the plan's memory from round to round. Uses are parts of what the cohort could have (0 to 1), not
yet by weight, as averages over the half-life: who always held a tenth has 0.1.
Source: Kueue's admission fair sharing (usage, half-life, entry penalty). Deviation: use is integrated exactly between
rounds instead of sampled, and what is charged at the start is not charged again while the job earns it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scheduler.quota.fair_sharing import ContenderKey

ENTRY_S = 300.0  # a start is charged for so many seconds at once: what a sample each five minutes would have missed


def decayed(use: float, *, held: float, for_s: float, half_life_s: float) -> float:
    """Returns the average after for_s more seconds, in which so much was held."""
    left = math.exp2(-for_s / half_life_s)
    return left * use + (1 - left) * held


def entry_penalty(held: float, *, half_life_s: float, entry_s: float = ENTRY_S) -> float:
    """Returns what a start adds at once: as if it had held that already for entry_s."""
    return (1 - math.exp2(-entry_s / half_life_s)) * held


@dataclass
class _Use:
    """charged: the average. held: since the last round. prepaid: share-seconds charged before they were held."""

    charged: float = 0.0
    held: float = 0.0
    prepaid: float = 0.0


class DecayedUsage:
    """Averages the usage of each contender with decay. memory: what to_json() returned after the round before."""

    def __init__(self, memory: Mapping[str, Any], *, now_s: float) -> None:
        self._at_s = now_s
        self._before_s: float = memory.get("at_s", now_s)
        self._by: dict[ContenderKey, _Use] = {
            (cohort, contender): _Use(*numbers) for cohort, contender, *numbers in memory.get("by", ())
        }

    def age(self, key: ContenderKey, half_life_s: float) -> float:
        """Returns the contender's usage, brought up to now; it is called once in a round."""
        use = self._by.setdefault(key, _Use())
        for_s = max(0.0, self._at_s - self._before_s)
        if for_s > 0:
            paid = min(use.prepaid, use.held * for_s)
            use.prepaid -= paid
            use.charged = decayed(use.charged, held=use.held - paid / for_s, for_s=for_s, half_life_s=half_life_s)
        return use.charged

    def record(self, key: ContenderKey, *, held: float, started: float, half_life_s: float) -> None:
        """Records after the round the share of the contender from now on, and the part of it that starts now."""
        use = self._by.setdefault(key, _Use())
        use.held = held
        if started > 0:
            use.charged += entry_penalty(started, half_life_s=half_life_s)
            use.prepaid += started * ENTRY_S

    def to_json(self) -> dict[str, Any]:
        """Returns the usage as JSON values, for the next round."""
        rows = sorted(self._by.items(), key=lambda item: (str(item[0][0]), item[0][1]))
        return {
            "at_s": self._at_s,
            "by": [[*key, use.charged, use.held, use.prepaid] for key, use in rows if use.charged or use.held],
        }
