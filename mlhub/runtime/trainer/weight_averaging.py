# SPDX-License-Identifier: Apache-2.0
"""An exponential moving average of the weights, which is evaluated and handed in instead of the last weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """Holds the average of the trained parameters; every worker holds the same one, since it has the same weights.

    decay: how much of the average stays at each step. Early averages follow faster, so that they do not remember
    the initial weights: the decay of step t is at most (1 + t) / (10 + t), as in TensorFlow's ExponentialMovingAverage.
    """

    def __init__(self, model: nn.Module, decay: float, *, saved: Mapping[str, Tensor] | None = None) -> None:
        """saved: the average of a checkpoint; None: it begins with the model's weights."""
        self._decay = decay
        self._parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._average = {
            name: (p if saved is None else saved[name]).detach().to(p.device, copy=True)
            for name, p in self._parameters.items()
        }

    def update(self, step: int) -> None:
        """Adds the weights after a step, counted from 1."""
        decay = min(self._decay, (1 + step) / (10 + step))
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                self._average[name].lerp_(parameter, 1.0 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Gives the model the averaged weights for a while."""
        with torch.no_grad():
            own = {name: p.detach().clone() for name, p in self._parameters.items()}
            self._set(self._average)
        try:
            yield
        finally:
            with torch.no_grad():
                self._set(own)

    def copy(self) -> dict[str, Tensor]:
        """A copy in main memory, for a checkpoint."""
        return {name: value.detach().cpu().clone() for name, value in self._average.items()}

    def _set(self, values: Mapping[str, Tensor]) -> None:
        for name, parameter in self._parameters.items():
            parameter.copy_(values[name])
