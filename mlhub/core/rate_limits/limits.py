# SPDX-License-Identifier: Apache-2.0
"""Rate limits as the settings declare them: a quota per window, for a kind of subject and a budget of requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

SECOND_US = 1_000_000
ENTRY = re.compile(r"(?P<subject>[a-z]+)=(?P<quota>[1-9]\d{0,8})/(?P<window_s>[1-9]\d{0,5})")
SUBJECTS = ("token", "user", "organisation", "address", "pod", "name")
DEFAULTS = {
    "reads": "token=1200/60,user=2400/60,organisation=12000/60",
    "writes": "token=300/60,user=600/60,organisation=3000/60",
    "submissions": "user=30/15,organisation=90/15",
    "uploads": "user=60/60,organisation=300/60",
    "pieces": "user=3000/60,organisation=12000/60",
    "reports": "pod=1200/60",
    "tracking": "pod=1200/60,token=2400/60,user=4800/60,organisation=24000/60",
    "unauthenticated": "address=300/60",
    "password_links": "address=10/900,name=3/900",
}
RateLimits = Mapping[str, tuple["RateLimit", ...]]


@dataclass(frozen=True)
class RateLimit:
    """At most `quota` requests of one subject in `window_s` seconds; all of them may come at once."""

    budget: str
    subject: str
    quota: int
    window_s: int

    @property
    def name(self) -> str:
        """The name of the policy in the headers of answers, such as reads-user."""
        return f"{self.budget}-{self.subject}"

    @property
    def window_us(self) -> int:
        return self.window_s * SECOND_US

    @property
    def interval_us(self) -> int:
        """Microseconds in which the budget of one request comes back."""
        return max(1, self.window_us // self.quota)


def read_rate_limits(texts: Mapping[str, str]) -> RateLimits:
    """The limits of each budget. texts: by budget, such as {"reads": "user=2400/60,organisation=12000/60"}; "" = none.

    Raises ValueError naming the setting that cannot be read.
    """
    return {budget: tuple(_read(budget, entry) for entry in _entries(text)) for budget, text in texts.items()}


def setting_of(budget: str) -> str:
    return f"MLHUB_RATE_LIMITS_{budget.upper()}"


def _entries(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]


def _read(budget: str, entry: str) -> RateLimit:
    found = ENTRY.fullmatch(entry)
    if found is None or found["subject"] not in SUBJECTS:
        raise ValueError(
            f"{setting_of(budget)} has {entry!r}; write subject=requests/seconds, with a subject of "
            f"{', '.join(SUBJECTS)}, such as user=600/60."
        )
    return RateLimit(budget, found["subject"], int(found["quota"]), int(found["window_s"]))
