# SPDX-License-Identifier: Apache-2.0
"""Keeps the weights of the best evaluations by the metric that a job monitors; the best become the trained model."""

from __future__ import annotations

import time
from collections.abc import Mapping

from torch import nn

from mlhub.runtime.checkpoints import best_weights
from mlhub.runtime.checkpoints.best_weights import BestWeights
from mlhub.runtime.model.hyperparameters import Settings
from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter, reportable
from mlhub.runtime.strategies.protocol import Strategy
from mlhub.runtime.trainer.metric_monitor import is_minimised
from mlhub.runtime.trainer.training_reporter import all_weights
from mlhub.wire.report import MAX_CHECKPOINT_VALUES, CheckpointReport


class BestSelection:
    """Does nothing for a job that monitors no metric. Only rank 0 writes; it holds the whole model at barriers."""

    def __init__(self, pod: Pod, reporter: Reporter, settings: Settings) -> None:
        self._pod, self._reporter, self._settings = pod, reporter, settings
        self._metric = settings.monitor or ""
        self._is_minimised = is_minimised(settings, self._metric)

    def consider(self, model: nn.Module, strategy: Strategy, *, step: int, metrics: Mapping[str, float]) -> None:
        """Writes the model's weights if this evaluation is among the best. Called by every worker at a barrier."""
        if self._metric not in metrics:
            return
        extra = strategy.extra_weights()  # asks the other workers
        if self._pod.spec.index != 0:
            return
        began = time.perf_counter()
        kept = best_weights.keep_best(
            self._pod.checkpoints,
            all_weights(model, extra),
            attempt=self._pod.spec.attempt_number,
            step=step,
            value=metrics[self._metric],
            metrics=metrics,
            is_minimised=self._is_minimised,
            n_kept=self._settings.keep_best,
        )
        if kept is not None:
            self._report(kept, time.perf_counter() - began)

    def best(self) -> BestWeights | None:
        """The weights to hand in instead of the last ones; None: the last ones."""
        if not self._metric:
            return None
        return best_weights.best_of(self._pod.checkpoints, is_minimised=self._is_minimised)

    def _report(self, kept: BestWeights, write_s: float) -> None:
        self._reporter.send(
            CheckpointReport(
                at=time.time(),
                step=kept.step,
                name=kept.folder.name,
                size_bytes=kept.size_bytes,
                write_s=write_s,
                stall_s=write_s,
                metrics=self._reported(kept.metrics),
            )
        )

    def _reported(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """As many of the metrics as a report may have, with the one that the weights were chosen by among them."""
        first = {self._metric: metrics[self._metric]} if self._metric in metrics else {}
        return dict(list(reportable(first | dict(metrics)).items())[:MAX_CHECKPOINT_VALUES])
