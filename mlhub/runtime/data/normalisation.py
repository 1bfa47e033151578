# SPDX-License-Identifier: Apache-2.0
"""Numbers in standard units, mean 0 and deviation 1: what the usual preprocess, loss and metrics see of a dataset.

LearningRates that suit one network suit most, once neither inputs nor targets come in millimetres or millions.
Exports of models carry this module, so that it imports nothing of mlhub.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

MAX_DEVIATIONS = 10.0  # from the mean: one outlier must not outweigh a batch
Facts = Mapping[str, Any]


class Standardised:
    """The default preprocess. Integers are left as they are, since they may be categories or tokens, unless
    also_whole: for models that take measurements only.
    """

    def __init__(self, mean: list[float], std: list[float], *, also_whole: bool) -> None:
        self._mean, self._std, self._also_whole = mean, std, also_whole
        self._ready: dict[tuple[int, torch.device], tuple[Tensor, Tensor]] = {}

    @classmethod
    def of(cls, facts: Facts, *, also_whole: bool) -> Self | None:
        """None: the dataset has no moments, or its inputs are standardised already (tables)."""
        if "input_mean" not in facts or "input_std" not in facts:
            return None
        return cls(facts["input_mean"], facts["input_std"], also_whole=also_whole)

    def __call__(self, inputs: Tensor) -> Tensor:
        if not inputs.is_floating_point():
            if not self._also_whole:
                return inputs
            inputs = inputs.float()
        mean, std = self._values(inputs)
        return ((inputs - mean) / std).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)

    def _values(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        place = inputs.dim(), inputs.device
        if place not in self._ready:
            both = (_broadcastable(values, inputs.dim()) for values in (self._mean, self._std))
            mean, std = (values.to(inputs.device) for values in both)
            self._ready[place] = mean, std
        return self._ready[place]


@dataclass(frozen=True)
class ColumnScale:
    """The scale of a regression's targets. Models predict (targets - mean) / std; is_own: in the targets' own unit.

    The loss is 1 for a model that predicts the mean, 0 for a perfect one, in either case.
    """

    mean: float
    std: float
    is_own: bool

    @classmethod
    def of(cls, facts: Facts, *, is_own: bool) -> ColumnScale:
        return cls(float(facts.get("target_mean") or 0.0), float(facts.get("target_std") or 1.0), is_own)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        answers = outputs.reshape(targets.shape)
        if self.is_own:
            return nn.functional.mse_loss(answers, targets) / self.std**2
        return nn.functional.mse_loss(answers, (targets - self.mean) / self.std)

    def metrics(self, outputs: Tensor, targets: Tensor) -> dict[str, Tensor]:
        """Metrics in the targets' own unit."""
        return {"mean_absolute_error": (self.answers(outputs.reshape(targets.shape)) - targets).abs().mean()}

    def answers(self, outputs: Tensor) -> Tensor:
        """The model's outputs in the targets' own unit."""
        return outputs if self.is_own else outputs * self.std + self.mean


def _broadcastable(values: Sequence[float], n_dims: int) -> Tensor:
    """Reshapes values, one a column or channel, so that they broadcast over a batch of n_dims dimensions."""
    shape = [-1 if axis == 1 else 1 for axis in range(n_dims)]
    return torch.from_numpy(np.asarray(values, dtype=np.float32).reshape(shape))
