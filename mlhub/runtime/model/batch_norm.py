# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation over the whole batch of a gang, also on processors, where torch's own layer for it does not run.

Mean and variance are those of all workers' examples. The state has the names of torch's own layers.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import batch_norm
from torch.nn.modules.batchnorm import _BatchNorm

from mlhub.runtime.option_values import invalid


class _SumOverWorkers(torch.autograd.Function):
    """The gradient of a sum over workers is the sum of their gradients.

    Torch's own, in torch.distributed.nn, takes long to import.
    """

    @staticmethod
    def forward(_: Any, values: Tensor) -> Tensor:
        total = values.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tensor:
        total = gradient.clone()
        dist.all_reduce(total)
        return total


def _sum_over_workers(values: Tensor) -> Tensor:
    total: Tensor = _SumOverWorkers.apply(values)  # type: ignore[no-untyped-call]
    return total


class GangBatchNorm(_BatchNorm):
    """All workers of the gang call it equally often, each with one example at least."""

    def forward(self, input: Tensor) -> Tensor:
        if not (self.training and dist.is_initialized() and dist.get_world_size() > 1):
            return self._normalised_alone(input)
        wide = input.float()
        over = [0, *range(2, input.dim())]
        shape = [1, input.shape[1], *[1] * (input.dim() - 2)]
        count = wide.new_full((1,), input.numel() / input.shape[1])
        total = _sum_over_workers(torch.cat([wide.sum(over), count]))
        n, mean = total[-1].detach(), total[:-1] / total[-1].detach()
        # about the mean of all: a mean of squares, less the square of the mean, loses all digits of a large mean
        centred = wide - mean.view(shape)
        variance = _sum_over_workers(centred.square().sum(over)) / n
        self._remember(mean.detach(), variance.detach() * n / (n - 1).clamp_min(1.0))
        normal = centred * (variance + self.eps).rsqrt().view(shape)
        if self.affine:
            normal = normal * self.weight.view(shape) + self.bias.view(shape)
        result: Tensor = normal.to(input.dtype)
        return result

    def _normalised_alone(self, input: Tensor) -> Tensor:
        if self.training:
            self._count()
        is_of_batch = self.training or self.running_mean is None
        tracked = not self.training or self.track_running_stats
        return batch_norm(
            input,
            self.running_mean if tracked else None,
            self.running_var if tracked else None,
            self.weight,
            self.bias,
            is_of_batch,
            self._factor() if self.training else 0.0,
            self.eps,
        )

    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        if self.running_mean is None or self.running_var is None:
            return
        self._count()
        with torch.no_grad():
            self.running_mean.lerp_(mean, self._factor())
            self.running_var.lerp_(variance, self._factor())

    def _count(self) -> None:
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)

    def _factor(self) -> float:
        """Without a momentum it is a mean of all batches so far."""
        if self.momentum is not None:
            return self.momentum
        return 1.0 / float(self.num_batches_tracked) if self.num_batches_tracked is not None else 0.0

    def _check_input_dim(self, input: Tensor) -> None:
        """Any number of dimensions from two on, as of the layer that it takes the place of."""


def require_batch_norm(model: nn.Module) -> None:
    """Raises BadInputError for a model without a layer of batch normalisation."""
    if not any(isinstance(module, _BatchNorm) for module in model.modules()):
        message = "The model has no layer of batch normalisation, which sync_batch_norm is for."
        raise invalid("sync_batch_norm", message, "Leave sync_batch_norm out.")


def with_gang_batch_norm(module: nn.Module) -> nn.Module:
    """The model, whose layers of batch normalisation take the mean and variance of all workers' examples.

    Parameters and statistics are those of the model, under the same names.
    """
    if isinstance(module, _BatchNorm):
        made = GangBatchNorm(
            module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats
        )
        if module.affine:
            made.weight, made.bias = module.weight, module.bias
        made.running_mean, made.running_var = module.running_mean, module.running_var
        made.num_batches_tracked = module.num_batches_tracked
        made.training = module.training
        return made
    for name, child in module.named_children():
        found = with_gang_batch_norm(child)
        if found is not child:
            setattr(module, name, found)
    return module
