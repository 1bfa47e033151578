# SPDX-License-Identifier: Apache-2.0
"""Learning-rate schedules: the rate of a step as a factor of the rate that the optimiser was built with."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SCHEDULES = ("constant", "linear", "cosine", "step", "one_cycle", "plateau")
ONE_CYCLE_RISE = 0.3  # of the steps, from 1 / ONE_CYCLE_START of the rate; both as in Smith and Topin, 2019, and torch
ONE_CYCLE_START = 25.0


@dataclass(frozen=True)
class LearningRates:
    """A schedule over `steps` steps.

    warmup_steps: the factor rises evenly from warmup_from to 1. final: the factor after the last step (linear, cosine,
    one_cycle). decay_every: steps after each of which the factor is multiplied by decay (step). one_cycle rises along a
    cosine for warmup_steps, or a part of all steps where they are 0, and falls along another one.
    """

    steps: int
    schedule: str = "constant"
    warmup_steps: int = 0
    final: float = 0.0
    warmup_from: float = 0.0
    decay_every: int = 0
    decay: float = 0.1

    def factor(self, step: int) -> float:
        """The factor of a step, counted from 0. It is a pure function, so a resumed training continues unchanged."""
        if self.schedule == "one_cycle":
            return self._one_cycle(step)
        if step < self.warmup_steps:
            return self.warmup_from + (1.0 - self.warmup_from) * (step + 1) / (self.warmup_steps + 1)
        if self.schedule in ("constant", "plateau"):
            return 1.0  # what a plateau takes away is the scheduler's scale
        if self.schedule == "step":
            return float(self.decay ** (step // max(1, self.decay_every)))
        progress = min(1.0, (step - self.warmup_steps) / max(1, self.steps - self.warmup_steps))
        remaining = 1.0 - progress if self.schedule == "linear" else (1.0 + math.cos(math.pi * progress)) / 2
        return self.final + (1.0 - self.final) * remaining

    def _one_cycle(self, step: int) -> float:
        n_rising = self.warmup_steps or int(ONE_CYCLE_RISE * self.steps)
        start = self.warmup_from or 1 / ONE_CYCLE_START
        if step < n_rising:
            return start + (1.0 - start) * (1.0 - math.cos(math.pi * (step + 1) / (n_rising + 1))) / 2
        progress = min(1.0, (step - n_rising) / max(1, self.steps - n_rising))
        return self.final + (1.0 - self.final) * (1.0 + math.cos(math.pi * progress)) / 2

    @property
    def is_constant(self) -> bool:
        return self.schedule in ("constant", "plateau") and self.warmup_steps == 0


class LearningRateScheduler:
    """Sets the rates of an optimiser's parameter groups by the step, from the rates that they were built with."""

    def __init__(self, groups: Sequence[dict[str, Any]], rates: LearningRates) -> None:
        self._groups, self._rates = groups, rates
        self._initial = [float(group["lr"]) for group in groups]
        self.scale = self._applied = 1.0  # of the whole schedule, for batches that grow

    def set(self, step: int) -> None:
        if self._rates.is_constant and self.scale == self._applied:
            return
        self._applied = self.scale
        factor = self._rates.factor(step) * self.scale
        for group, initial in zip(self._groups, self._initial, strict=True):
            group["lr"] = initial * factor


def from_json(raw: Mapping[str, Any] | None) -> LearningRates:
    """The schedule of its fields; None: a constant rate."""
    return LearningRates(steps=1) if raw is None else LearningRates(**raw)
