"""The learning rate over the steps of a training, as a factor of the rate that the optimiser was built with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SCHEDULES = ("constant", "linear", "cosine")


@dataclass(frozen=True)
class Rates:
    """warmup_steps: the factor rises evenly from warmup_from to 1. final: after the last step (linear, cosine)."""

    steps: int
    schedule: str = "constant"
    warmup_steps: int = 0
    final: float = 0.0
    warmup_from: float = 0.0

    def factor(self, step: int) -> float:
        """Of the step, counted from 0. A pure function: a resumed training goes on as if nothing had happened."""
        if step < self.warmup_steps:
            return self.warmup_from + (1.0 - self.warmup_from) * (step + 1) / (self.warmup_steps + 1)
        if self.schedule == "constant":
            return 1.0
        done = min(1.0, (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps))
        left = 1.0 - done if self.schedule == "linear" else (1.0 + math.cos(math.pi * done)) / 2
        return self.final + (1.0 - self.final) * left

    @property
    def is_constant(self) -> bool:
        return self.schedule == "constant" and self.warmup_steps == 0


class Scheduled:
    """Sets the rates of an optimiser's groups, which it was built with, by the step."""

    def __init__(self, groups: Sequence[dict[str, Any]], rates: Rates) -> None:
        self._groups, self._rates = groups, rates
        self._initial = [float(group["lr"]) for group in groups]

    def set(self, step: int) -> None:
        if self._rates.is_constant:
            return
        factor = self._rates.factor(step)
        for group, initial in zip(self._groups, self._initial, strict=True):
            group["lr"] = initial * factor


def from_json(raw: Mapping[str, Any] | None) -> Rates:
    return Rates(steps=1) if raw is None else Rates(**raw)
