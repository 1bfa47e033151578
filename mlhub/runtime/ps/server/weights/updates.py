# SPDX-License-Identifier: Apache-2.0
"""What a version does to a stretch of weights: an optimiser's step, a sum of deltas, or an elastic pull. Pure tensors.

Each works on any stretch alone, so that a shard can be updated chunk by chunk while the rest is still under way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor


class ShardUpdate(Protocol):
    """Updates one chunk. pushed: (scale, values of shape (length,)), in the order in which they are summed."""

    def apply(self, pushed: Sequence[tuple[float, Tensor]], *, version: int) -> None:
        """Makes the weights of `version` (from 1). May write into the pushed tensors."""

    def reply(self, weights: Tensor, pushed: Tensor | None) -> Tensor:
        """What the worker is sent for its push; None when it only asked."""


class GradientStep:
    """One step of a torch optimiser. set_gradient: makes this tensor the gradient of the optimiser's parameters."""

    def __init__(
        self, step: Callable[[], object], set_gradient: Callable[[Tensor], None], set_version: Callable[[int], None]
    ) -> None:
        self._step, self._set_gradient, self._set_version = step, set_gradient, set_version

    def apply(self, pushed: Sequence[tuple[float, Tensor]], *, version: int) -> None:
        self._set_gradient(summed(pushed))
        self._set_version(version)
        self._step()

    def reply(self, weights: Tensor, pushed: Tensor | None) -> Tensor:  # noqa: ARG002 (the protocol's signature)
        return weights


class PlainStep:
    """SGD without momentum or decay: one multiply-add, where calling an optimiser costs more than a small shard's sum.

    stretches: parts of the weights, each with its place in what is pushed and the optimiser's group that it is in.
    """

    def __init__(
        self, stretches: Sequence[tuple[Tensor, slice, Mapping[str, Any]]], set_version: Callable[[int], None]
    ) -> None:
        self._stretches, self._set_version = stretches, set_version

    def apply(self, pushed: Sequence[tuple[float, Tensor]], *, version: int) -> None:
        gradient = summed(pushed)
        self._set_version(version)
        for weights, place, group in self._stretches:
            weights.add_(gradient[place], alpha=-float(group["lr"]))

    def reply(self, weights: Tensor, pushed: Tensor | None) -> Tensor:  # noqa: ARG002 (the protocol's signature)
        return weights


class AddDelta:
    """Workers train alone for a while and push how far they came (Downpour's deltas, ADAG, DynSGD)."""

    def __init__(self, weights: Tensor) -> None:
        self._weights = weights

    def apply(self, pushed: Sequence[tuple[float, Tensor]], *, version: int) -> None:  # noqa: ARG002
        for scale, delta in pushed:
            self._weights.add_(delta, alpha=scale)

    def reply(self, weights: Tensor, pushed: Tensor | None) -> Tensor:  # noqa: ARG002
        return weights


class Gather:
    """Writes the sum for another process, which makes the weights: a leaf's part for the roots."""

    def __init__(self, into: Tensor) -> None:
        self._into = into

    def apply(self, pushed: Sequence[tuple[float, Tensor]], *, version: int) -> None:  # noqa: ARG002
        self._into.copy_(summed(pushed))

    def reply(self, weights: Tensor, pushed: Tensor | None) -> Tensor:  # noqa: ARG002
        return weights


class Elastic:
    """The weights here are a centre; a worker pushes its own and gets them back, pulled a little towards the centre.

    The centre moves by the same amount the other way: worker + centre is conserved.
    Source: Zhang, Choromanska and LeCun, EASGD, NIPS '15.
    """

    def __init__(self, centre: Tensor, *, alpha: float) -> None:
        """alpha in (0, 1]; more is not stable."""
        self._centre, self._alpha = centre, alpha

    def apply(self, pushed: Sequence[tuple[float, Tensor]], *, version: int) -> None:  # noqa: ARG002
        for _, theirs in pushed:
            pull = (theirs - self._centre).mul_(self._alpha)
            self._centre.add_(pull)
            theirs.sub_(pull)

    def repeat(self, theirs: Tensor) -> None:
        """The worker's half of an exchange whose other half the centre has had: only the worker moves."""
        theirs.sub_((theirs - self._centre).mul_(self._alpha))

    def reply(self, weights: Tensor, pushed: Tensor | None) -> Tensor:
        return weights if pushed is None else pushed


def summed(pushed: Sequence[tuple[float, Tensor]]) -> Tensor:
    """The scaled sum, in the first tensor's memory."""
    (scale, total), *rest = pushed
    if scale != 1.0:
        total.mul_(scale)
    for scale, other in rest:
        total.add_(other, alpha=scale)
    return total
