# SPDX-License-Identifier: Apache-2.0
"""Pairs of linear layers that can be divided by columns, then rows, so that a pair costs one sum over workers."""

from __future__ import annotations

from typing import NamedTuple

from torch import nn

from mlhub.runtime.errors import BadInputError

# element by element, and the same for every column
BETWEEN = (nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.LeakyReLU, nn.ELU, nn.Softplus, nn.Identity)


class Pair(NamedTuple):
    first: str
    second: str
    width: int  # of what is between them: what is divided


def pairs_of(model: nn.Module) -> list[Pair]:
    """In a torch.nn.Sequential, and the feed-forward part of torch's transformer layers. Each layer in one pair.

    Raises BadInputError when there are none.
    """
    found = []
    for name, module in model.named_modules():
        prefix = f"{name}." if name else ""
        if isinstance(module, nn.Sequential):
            found += _in_row(module, prefix)
        elif isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) and module.dropout.p == 0:
            found.append(Pair(f"{prefix}linear1", f"{prefix}linear2", module.linear1.out_features))
    if not found:
        raise BadInputError(
            f"The {type(model).__name__} has no pair of linear layers to divide.",
            field="build_model",
            remedy="Write Linear, activation, Linear in a torch.nn.Sequential, without dropout in between; "
            "or choose the strategy fully_sharded, which divides any model.",
        )
    return found


def _in_row(row: nn.Sequential, prefix: str) -> list[Pair]:
    found: list[Pair] = []
    first: tuple[str, nn.Linear] | None = None
    for key, layer in row.named_children():
        if isinstance(layer, nn.Linear):
            if first is not None and first[1].out_features == layer.in_features:
                found.append(Pair(prefix + first[0], prefix + key, layer.in_features))
                first = None
            else:
                first = key, layer
        elif not isinstance(layer, BETWEEN):
            first = None
    return found
