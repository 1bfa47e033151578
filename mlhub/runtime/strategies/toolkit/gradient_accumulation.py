# SPDX-License-Identifier: Apache-2.0
"""The gradient of a step's batch, accumulated over its micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from mlhub.runtime.optimization.gradient_noise import LocalNoiseEstimator
from mlhub.runtime.strategies.protocol import Losses


def accumulate(
    losses: Losses,
    gradients: Callable[[], Sequence[Tensor | None]],
    local_noise: LocalNoiseEstimator,
    *,
    n: int,
    scale: float = 1.0,
) -> tuple[float, float]:
    """Runs the backward pass of n micro-batches, and lets the noise estimator observe each partial sum.

    gradients: gives the tensors to which the backward pass adds; called after each micro-batch. scale: a factor of the
    gradient. Returns the sum of losses weighted by their shares of the batch, without scale, and the sum of shares.
    """
    loss_sum, weight = 0.0, 0.0
    for index, (loss, share) in enumerate(losses):
        torch.autograd.backward(loss * (share * scale))
        loss_sum += float(loss.detach()) * share
        weight += share
        local_noise.observe(gradients(), weight=weight, scale=scale, is_first=index == 0, is_last=index == n - 1)
    return loss_sum, weight
