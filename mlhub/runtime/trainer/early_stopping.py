# SPDX-License-Identifier: Apache-2.0
"""Early stopping: training ends when the target is reached, or when evaluations no longer improve."""

from __future__ import annotations

from collections.abc import Mapping

from mlhub.runtime.model.hyperparameters import Settings, is_better_when_low


class EarlyStopping:
    """Decides by the target metric of each evaluation whether training ends early."""

    def __init__(self, settings: Settings, *, metric: str | None, value: float | None) -> None:
        self._settings, self._metric, self._value = settings, metric, value
        self._best: float | None = None
        self._n_without_improvement = 0

    def reason_to_stop(self, metrics: Mapping[str, float]) -> str | None:
        """The reason to stop, or None. It is the same on every worker, since all have the same metrics."""
        if self._metric is None or self._metric not in metrics:
            return None
        sign = -1.0 if is_better_when_low(self._metric) else 1.0
        value = metrics[self._metric]
        if self._settings.stop_at_target and self._value is not None and sign * value >= sign * self._value:
            return f"{self._metric} {value:.4g} has reached the target {self._value:g}"
        if self._best is None or sign * value > sign * self._best:
            self._best, self._n_without_improvement = value, 0
            return None
        self._n_without_improvement += 1
        if self._settings.patience and self._n_without_improvement >= self._settings.patience:
            return f"{self._metric} has not improved on {self._best:.4g} in {self._n_without_improvement} evaluations"
        return None
