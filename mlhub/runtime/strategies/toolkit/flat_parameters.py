# SPDX-License-Identifier: Apache-2.0
"""All trained parameters of a model as one flat vector, which is sent and averaged without a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError


def trainable_parameters(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """The parameters that are trained, by name, each once.

    Raises BadInputError when there are none, or one is not float32.
    """
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    for name, parameter in named:
        if parameter.dtype != torch.float32:
            raise BadInputError(
                f"The parameter {name} is {parameter.dtype}; this strategy holds float32.",
                field="build_model",
                remedy="Build the model in float32, or choose the strategy all_reduce.",
            )
    if not named:
        raise BadInputError("The model has no parameters to train.", field="build_model", remedy="Add some.")
    return named


def flatten(
    named: Sequence[tuple[str, nn.Parameter]], *, multiple: int = 1, into: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Returns vectors of weights and of gradients; the parameters and their gradients become views of them.

    Both have the shape (n,): the elements of all parameters, then zeros up to a multiple of `multiple`.
    into: two vectors of zeros to use instead of new ones.
    """
    n_elements = -(-n_elements_of(named) // multiple) * multiple
    device = named[0][1].device
    weights, gradient = into or (torch.zeros(n_elements, device=device), torch.zeros(n_elements, device=device))
    start = 0
    for _, parameter in named:
        end = start + parameter.numel()
        weights[start:end] = parameter.detach().reshape(-1)
        parameter.data = weights[start:end].view(parameter.shape)
        parameter.grad = gradient[start:end].view(parameter.shape)
        start = end
    return weights, gradient


def n_elements_of(named: Sequence[tuple[str, nn.Parameter]]) -> int:
    """The number of elements of all parameters together."""
    return sum(p.numel() for _, p in named)


def clip(gradient: Tensor, limit: float | None) -> None:
    """Scales the gradient in place so that its Euclidean norm is at most the limit; None: no limit."""
    if limit is not None:
        norm = float(gradient.norm())
        if norm > limit:
            gradient.mul_(limit / (norm + 1e-6))


def average_buffers(model: nn.Module, sum_over_workers: Callable[[Sequence[float]], list[float]], n: int) -> None:
    """Replaces running statistics by their mean over n workers. sum_over_workers: sums each of a list of numbers."""
    buffers = [b for b in model.buffers() if b.is_floating_point()]
    if not buffers or n == 1:
        return
    flat = torch.cat([b.detach().reshape(-1).double().cpu() for b in buffers])
    mean = torch.tensor(sum_over_workers(flat.tolist()), dtype=torch.float64) / n
    start = 0
    for buffer in buffers:
        buffer.copy_(mean[start : start + buffer.numel()].reshape(buffer.shape))
        start += buffer.numel()
