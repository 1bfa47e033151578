# SPDX-License-Identifier: Apache-2.0
"""How much a gradient counts that was computed on old weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor


def unscaled(staleness: int) -> float:  # noqa: ARG001 (all rules have one signature)
    return 1.0


def zhang(staleness: int) -> float:
    """Source: Zhang, Gupta, Lian and Liu, IJCAI '16: 1 / staleness, fresh ones whole."""
    return 1.0 / max(1, staleness)


def dynsgd(staleness: int) -> float:
    """Source: Jiang et al., SIGMOD '17: 1 / (staleness + 1)."""
    return 1.0 / (staleness + 1)


def gupta(*, n_workers: int, group: int) -> Callable[[int], float]:
    """One factor for the whole training: 1 / the mean staleness, which is about n_workers / group.

    Source: Gupta, Zhang and Wang, Rudra, 2015: rate / n for n-softsync, whose groups are of n_workers / n gradients.
    """
    factor = 1.0 / max(1, n_workers // group)
    return lambda _: factor


SCALES: Mapping[str, Callable[[int], float]] = {
    "none": unscaled,
    "zhang": zhang,
    "dynsgd": dynsgd,
    "dc": unscaled,
    "dc_adaptive": unscaled,
}
MEAN_SQUARE_DECAY = 0.95


def compensate(gradient: Tensor, *, weights: Tensor, backup: Tensor, strength: float) -> None:
    """In place: what the gradient would be at `weights`, when it was computed at `backup`, to first order.

    The diagonal of the Hessian is taken as strength * gradient squared.
    Source: Zheng et al., DC-ASGD, ICML '17. strength 0, or weights that have not moved, change nothing.
    """
    gradient.addcmul_(gradient * gradient, torch.sub(weights, backup), value=strength)


def compensate_adaptively(
    gradient: Tensor, *, weights: Tensor, backup: Tensor, strength: float, mean_square: Tensor,
    decay: float = MEAN_SQUARE_DECAY,
) -> None:  # fmt: skip
    """DC-ASGD-a: strength over the root of a running mean of squared gradients, which is updated here."""
    squared = gradient * gradient
    mean_square.mul_(decay).add_(squared, alpha=1.0 - decay)
    squared.div_((mean_square + 1e-7).sqrt_())
    gradient.addcmul_(squared, torch.sub(weights, backup), value=strength)
