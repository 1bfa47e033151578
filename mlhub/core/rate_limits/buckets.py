# SPDX-License-Identifier: Apache-2.0
"""The generic cell rate algorithm (GCRA): each subject has one number, the time at which its budget is whole again.

A request of cost c moves that time on by c intervals, and is admitted while the time lies at most one window ahead. The
same arithmetic stands in gcra.lua, where all processes of the platform share the numbers; a test compares the two.
Source: ATM Forum, Traffic Management 4.0, sec. 4.4.2 (virtual scheduling).
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlhub.core.rate_limits.limits import SECOND_US, RateLimit

MAX_SUBJECTS = 100_000


@dataclass(frozen=True)
class Charge:
    """A limit, applied to one subject. Of charges with the same `alternative`, only the one with most left is made.

    weight: how many times the limit's quota the subject has, such as the number of pods of a gang.
    """

    limit: RateLimit
    subject_id: str
    alternative: str = ""
    weight: int = 1

    @property
    def key(self) -> str:
        return f"mlhub:rate:{self.limit.name}:{self.subject_id}"

    @property
    def group(self) -> str:
        return self.alternative or self.key

    @property
    def interval_us(self) -> int:
        return max(1, self.limit.interval_us // self.weight)


@dataclass(frozen=True)
class Outcome:
    """Of one charge. ahead_us: time until its budget is whole again. wait_us: until the request fits; 0: it does.

    is_chosen: False of an alternative that was not charged.
    """

    ahead_us: int
    wait_us: int
    is_chosen: bool


def evaluate(charges: Sequence[Charge], ahead_us: Sequence[int], *, cost: int) -> list[Outcome]:
    """What each charge comes to. ahead_us: per charge, how far its time lies ahead of now, 0 or more.

    Nothing is charged unless every group admits the request: then the outcomes have the new times, else the old ones.
    """
    chosen: dict[str, int] = {}
    for i, charge in enumerate(charges):
        best = chosen.get(charge.group)
        if best is None or ahead_us[i] / charge.limit.window_us < ahead_us[best] / charges[best].limit.window_us:
            chosen[charge.group] = i
    after = [ahead + cost * charge.interval_us for charge, ahead in zip(charges, ahead_us, strict=True)]
    waits = [max(0, after[i] - charge.limit.window_us) for i, charge in enumerate(charges)]
    is_admitted = not any(waits[i] for i in chosen.values())
    return [
        Outcome(
            ahead_us=after[i] if is_admitted and chosen[charge.group] == i else ahead_us[i],
            wait_us=waits[i] if chosen[charge.group] == i else 0,
            is_chosen=chosen[charge.group] == i,
        )
        for i, charge in enumerate(charges)
    ]


class LocalBuckets:
    """Counters of this process alone, for as long as the shared ones are away; the least recently used are dropped."""

    def __init__(self, *, clock_us: Callable[[], int] = lambda: time.monotonic_ns() // 1000) -> None:
        self._clock_us = clock_us
        self._times: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.Lock()

    def charge(self, charges: Sequence[Charge], *, cost: int) -> list[Outcome]:
        with self._lock:
            now = self._clock_us()
            ahead = [max(0, self._times.get(charge.key, 0) - now) for charge in charges]
            outcomes = evaluate(charges, ahead, cost=cost)
            for charge, outcome in zip(charges, outcomes, strict=True):
                if outcome.is_chosen and outcome.ahead_us:
                    self._times[charge.key] = now + outcome.ahead_us
                    self._times.move_to_end(charge.key)
            while len(self._times) > MAX_SUBJECTS:
                self._times.popitem(last=False)
        return outcomes


def seconds(us: int) -> int:
    """Rounded up, for headers."""
    return -(-us // SECOND_US)
