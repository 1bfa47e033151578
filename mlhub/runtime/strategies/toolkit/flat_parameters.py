"""All trained parameters of a model as one flat vector, so that nothing is copied to send them or to average them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError


def trained(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Names and parameters, each once. Raises BadInputError when there are none, or one is not float32."""
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
    """Weights and gradient; the parameters and their gradients become views of them.

    Shape (n,): as many as the parameters have elements, and zeros up to a multiple. into: two such vectors, of zeros.
    """
    n_elements = -(-n_trained(named) // multiple) * multiple
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


def n_trained(named: Sequence[tuple[str, nn.Parameter]]) -> int:
    """Elements of all of them."""
    return sum(p.numel() for _, p in named)


def clip(gradient: Tensor, limit: float | None) -> None:
    """In place: no longer than the limit, in the Euclidean norm."""
    if limit is not None:
        norm = float(gradient.norm())
        if norm > limit:
            gradient.mul_(limit / (norm + 1e-6))


def average_buffers(model: nn.Module, total: Callable[[Sequence[float]], list[float]], n: int) -> None:
    """Running statistics become their mean over n workers. total: sums a list of numbers over them."""
    buffers = [b for b in model.buffers() if b.is_floating_point()]
    if not buffers or n == 1:
        return
    together = torch.cat([b.detach().reshape(-1).double().cpu() for b in buffers])
    mean = torch.tensor(total(together.tolist()), dtype=torch.float64) / n
    start = 0
    for buffer in buffers:
        buffer.copy_(mean[start : start + buffer.numel()].reshape(buffer.shape))
        start += buffer.numel()
