"""The gradient of a step's batch, summed over its micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mlhub.runtime.optimization.gradient_noise import LocalNoiseEstimator
from mlhub.runtime.strategies.protocol import Losses


def accumulate(
    losses: Losses,
    gradients: Callable[[], Sequence[Tensor | None]],
    gauge: LocalNoiseEstimator,
    *,
    n: int,
    scale: float = 1.0,
) -> tuple[float, float]:
    """Adds the gradient of every micro-batch to gradients, and shows each sum to the gauge.

    n: how many micro-batches; gradients: where backward adds them, asked after each; scale: what the gradient is
    multiplied with. Returns the sum of losses by their shares of the whole batch, without scale, and the sum of shares.
    """
    told, weight = 0.0, 0.0
    for index, (loss, share) in enumerate(losses):
        torch.autograd.backward(loss * (share * scale))
        told += float(loss.detach()) * share
        weight += share
        gauge.look(gradients(), weight=weight, scale=scale, is_first=index == 0, is_last=index == n - 1)
    return told, weight
