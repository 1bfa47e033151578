# SPDX-License-Identifier: Apache-2.0
"""What follows from the metric of each evaluation: an early end, a lower learning rate, and which weights are best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlhub.runtime.model.hyperparameters import Settings
from mlhub.wire.report import is_better_when_low


class MetricMonitor:
    """Remembers the best value of a metric and how many evaluations have passed without a better one.

    The decisions are the same on every worker, since all have the same metrics; state() goes into checkpoints.
    """

    def __init__(self, settings: Settings, *, metric: str | None, value: float | None) -> None:
        """metric and value: the job's target, where it has one."""
        self._settings, self._target, self._value = settings, metric, value
        self.metric = settings.monitor or metric or ("eval/loss" if settings.lr_schedule == "plateau" else None)
        self._sign = -1.0 if self.metric is not None and is_minimised(settings, self.metric) else 1.0
        self.best: float | None = None
        self._n_without_improvement = self._n_on_plateau = 0
        self.rate_factor = 1.0
        self.evaluated_step: int | None = None

    @property
    def is_used(self) -> bool:
        """Whether anything depends on the evaluations, so that none may be missed."""
        settings = self._settings
        return bool(settings.patience or settings.monitor or settings.lr_schedule == "plateau")

    def observe(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Observes an evaluation after a step. Returns whether the metric is the best so far."""
        self.evaluated_step = step
        if self.metric is None or self.metric not in metrics:
            return False
        value = metrics[self.metric]
        if self.best is None or self._sign * value > self._sign * self.best:
            self.best = value
            self._n_without_improvement = self._n_on_plateau = 0
            return True
        self._n_without_improvement += 1
        self._n_on_plateau += 1
        settings = self._settings
        if settings.lr_schedule == "plateau" and self._n_on_plateau > settings.lr_patience:
            self.rate_factor = max(self.rate_factor * settings.lr_decay, settings.final_learning_rate)
            self._n_on_plateau = 0
        return False

    def reason_to_stop(self, metrics: Mapping[str, float]) -> str | None:
        """The reason to stop after the evaluation that was observed, or None."""
        if self._settings.stop_at_target and self._target is not None and self._target in metrics:
            sign = -1.0 if is_better_when_low(self._target) else 1.0
            value = metrics[self._target]
            if self._value is not None and sign * value >= sign * self._value:
                return f"{self._target} {value:.4g} has reached the target {self._value:g}"
        n = self._n_without_improvement
        if self._settings.patience and self.best is not None and n >= self._settings.patience:
            return f"{self.metric} has not improved on {self.best:.4g} in {n} evaluations"
        return None

    def state(self) -> dict[str, Any]:
        """The counters as JSON, for restore()."""
        return {
            "best": self.best,
            "without_improvement": self._n_without_improvement,
            "on_plateau": self._n_on_plateau,
            "rate_factor": self.rate_factor,
            "evaluated_step": self.evaluated_step,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continues from the counters of a checkpoint; an older version's has none."""
        self.best = state.get("best")
        self._n_without_improvement = int(state.get("without_improvement", 0))
        self._n_on_plateau = int(state.get("on_plateau", 0))
        self.rate_factor = float(state.get("rate_factor", 1.0))
        self.evaluated_step = state.get("evaluated_step")


def is_minimised(settings: Settings, metric: str) -> bool:
    """Whether a lower value of the monitored metric is better: as the job says, else by the metric's name."""
    if settings.monitor_mode is not None:
        return settings.monitor_mode == "min"
    return is_better_when_low(metric)
