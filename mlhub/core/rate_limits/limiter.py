# SPDX-License-Identifier: Apache-2.0
"""Charging requests: in Valkey for all processes together; while it is away, in this process alone (it fails open)."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from mlhub.core.errors import RateLimitedError
from mlhub.core.rate_limits.buckets import Charge, LocalBuckets, Outcome, seconds
from mlhub.core.rate_limits.limits import RateLimit

logger = structlog.stdlib.get_logger(__name__)
SCRIPT = Path(__file__).with_name("gcra.lua").read_text()
TIMEOUT_S = 0.25
PAUSE_S = 3.0  # after a failure, no request waits for Valkey again before this


@dataclass(frozen=True)
class LimitState:
    """What is left to one subject. remaining: requests. reset_s: seconds until the quota is whole again."""

    limit: RateLimit
    quota: int
    remaining: int
    reset_s: int


@dataclass(frozen=True)
class RateLimitVerdict:
    """states: of each limit that counted. refused: the limit to wait for longest, retry_after_s; None: admitted."""

    states: tuple[LimitState, ...]
    refused: LimitState | None = None
    retry_after_s: int = 0

    def error(self) -> RateLimitedError:
        """The error of a refused request."""
        assert self.refused is not None
        limit, wait_s = self.refused.limit, self.retry_after_s
        return RateLimitedError(
            f"Too many requests: one {limit.subject} may send {self.refused.quota:,} {limit.budget} requests in "
            f"{limit.window_s} s.",
            remedy=f"Wait {wait_s} s, then send it again.",
            retry_after_s=wait_s,
            limit=limit.name,
            quota=self.refused.quota,
            window_s=limit.window_s,
        )


class RateLimiter:
    """Shared counters first; after a failure the local ones for PAUSE_S, so that requests stay quick."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.local = LocalBuckets()
        client = redis.Redis.from_url(
            url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, retry=Retry(NoBackoff(), 0)
        )
        self._script = client.register_script(SCRIPT)
        self._not_before = 0.0

    def charge(self, charges: Sequence[Charge], *, cost: int = 1) -> RateLimitVerdict:
        """Charges every subject, or none when one of them has too little left. Never raises."""
        if not charges:
            return RateLimitVerdict(())
        return _verdict(charges, self._shared(charges, cost) or self.local.charge(charges, cost=cost))

    def _shared(self, charges: Sequence[Charge], cost: int) -> list[Outcome] | None:
        if time.monotonic() < self._not_before:
            return None
        arguments: list[str | int] = [cost]
        for charge in charges:
            arguments += [charge.interval_us, charge.limit.window_us, charge.group]
        try:
            rows = self._script(keys=[charge.key for charge in charges], args=arguments)
        except (redis.RedisError, OSError) as error:
            self._not_before = time.monotonic() + PAUSE_S
            logger.warning("rate_limits.shared_counters_away", error=error, remedy="each process counts alone")
            return None
        return [Outcome(int(ahead), int(wait), bool(chosen)) for ahead, wait, chosen in rows]


def _verdict(charges: Sequence[Charge], outcomes: Sequence[Outcome]) -> RateLimitVerdict:
    made = [(c, o) for c, o in zip(charges, outcomes, strict=True) if o.is_chosen]
    states = tuple(_state(charge, outcome) for charge, outcome in made)
    i = max(range(len(made)), key=lambda i: made[i][1].wait_us)
    if not made[i][1].wait_us:
        return RateLimitVerdict(states)
    return RateLimitVerdict(states, refused=states[i], retry_after_s=max(1, seconds(made[i][1].wait_us)))


def _state(charge: Charge, outcome: Outcome) -> LimitState:
    left_us = max(0, charge.limit.window_us - outcome.ahead_us)
    quota = charge.limit.quota * charge.weight
    return LimitState(charge.limit, quota, min(quota, left_us // charge.interval_us), seconds(outcome.ahead_us))


_lock = threading.Lock()
_current: RateLimiter | None = None


def rate_limiter() -> RateLimiter:
    """The process's limiter."""
    global _current
    with _lock:
        if _current is None or _current.url != settings.REDIS_URL:
            _current = RateLimiter(settings.REDIS_URL)
        return _current
