# SPDX-License-Identifier: Apache-2.0
"""FTRL-Proximal: rates by coordinate, and weights that are exactly zero until their gradients are worth it.

    n' = n + g²        z' = z + g - (sqrt(n') - sqrt(n)) / rate · w
    w' = 0 where |z'| <= l1, else -(z' - sign(z') l1) / ((beta + sqrt(n')) / rate + l2)

Source: McMahan et al., "Ad click prediction: a view from the trenches", KDD '13, algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


def ftrl_(
    weights: Tensor, gradient: Tensor, z: Tensor, n: Tensor, *, rate: float, beta: float, l1: float, l2: float
) -> None:
    """One step in place. All of one shape."""
    more = n + gradient * gradient
    z += gradient - (more.sqrt() - n.sqrt()) / rate * weights
    n.copy_(more)
    new = -(z - z.sign() * l1) / ((beta + n.sqrt()) / rate + l2)
    weights.copy_(torch.where(z.abs() <= l1, torch.zeros_like(new), new))


class FTRL(torch.optim.Optimizer):
    """Elementwise, so that its weights may be cut over parameter servers.

    lr: alpha of the paper. At the first step z is chosen so that the weights that were there are its weights.
    Raises ValueError for a rate that is not above 0, or negative penalties.
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 0.1, beta: float = 1.0, l1: float = 0.0, l2: float = 0.0
    ) -> None:
        if not lr > 0 or min(beta, l1, l2) < 0:
            raise ValueError(f"FTRL takes lr > 0 and beta, l1, l2 >= 0, not {lr}, {beta}, {l1}, {l2}.")
        super().__init__(params, {"lr": lr, "beta": beta, "l1": l1, "l2": l2})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            options = {"rate": group["lr"], "beta": group["beta"], "l1": group["l1"], "l2": group["l2"]}
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["n"] = torch.zeros_like(parameter)
                    state["z"] = first_z(parameter, **options)
                ftrl_(parameter, parameter.grad, state["z"], state["n"], **options)
        return loss


def first_z(weights: Tensor, *, rate: float, beta: float, l1: float, l2: float) -> Tensor:
    """The z, with n = 0, whose weights are these: a start from weights that are not zero is no jump."""
    return -(weights * (beta / rate + l2) + weights.sign() * l1)
