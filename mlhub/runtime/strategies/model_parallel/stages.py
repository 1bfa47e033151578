# SPDX-License-Identifier: Apache-2.0
"""Divides a sequential model into the stages of a pipeline."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import NamedTuple

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from mlhub.runtime.errors import BadInputError


class StageLayer(NamedTuple):
    name: str  # in the model, as named_parameters() has it
    module: nn.Module

    @property
    def weight(self) -> int:
        """The number of its trained elements."""
        return sum(p.numel() for p in self.module.parameters())


def layers_of(model: nn.Module) -> list[StageLayer]:
    """The layers in order. Raises BadInputError for a model that is no sequence, or whose layers share parameters."""
    found = list(_layers(model, ""))
    if not found:
        raise _refused(f"The model is a {type(model).__name__}, not a sequence of layers.")
    normalises = [layer.name for layer in found for m in layer.module.modules() if isinstance(m, _BatchNorm)]
    if normalises:
        raise BadInputError(
            f"Layer {normalises[0]} normalises over a batch, and a pipeline sees its parts only.",
            field="build_model",
            remedy="Use GroupNorm or LayerNorm, or the strategy all_reduce.",
        )
    seen: dict[int, str] = {}
    for layer in found:
        for parameter in layer.module.parameters():
            other = seen.setdefault(id(parameter), layer.name)
            if other != layer.name:
                raise _refused(f"The layers {other} and {layer.name} share a parameter.")
    return found


def _layers(module: nn.Module, name: str) -> list[StageLayer]:
    if type(module).forward is not nn.Sequential.forward:
        return [StageLayer(name, module)] if name else []
    found = []
    for key, child in module._modules.items():  # named_children() leaves out what comes twice
        assert child is not None
        found += _layers(child, f"{name}.{key}" if name else key)
    return found


def _refused(message: str) -> BadInputError:
    return BadInputError(
        message,
        field="build_model",
        remedy="Return a torch.nn.Sequential of layers, or choose the strategy sharded, which divides any model.",
    )


def most_stages(layers: list[StageLayer]) -> int:
    """The most stages with parameters of their own: one a layer that has some."""
    return max(1, sum(layer.weight > 0 for layer in layers))


def stages(layers: list[StageLayer], n: int) -> list[list[StageLayer]]:
    """Cuts into n stages, each with parameters, so that the heaviest is as light as possible. n <= most_stages()."""
    blocks: list[list[StageLayer]] = []
    for layer in layers:
        # layers without parameters join the layer before them
        if blocks and (layer.weight == 0 or all(known.weight == 0 for known in blocks[-1])):
            blocks[-1].append(layer)
        else:
            blocks.append([layer])
    cuts = _cuts([sum(layer.weight for layer in block) for block in blocks], n)
    return [[layer for block in blocks[a:b] for layer in block] for a, b in pairwise(cuts)]


def _cuts(weights: list[int], n: int) -> list[int]:
    """Bounds of n non-empty stretches with the least largest sum, by dynamic programming over ends and counts."""
    ends = [0, *accumulate(weights)]
    cost: list[float] = [0.0] + [math.inf] * len(weights)
    chosen = []
    for _ in range(n):
        best = [(math.inf, 0)] + [
            min((max(cost[i], ends[j] - ends[i]), i) for i in range(j)) for j in range(1, len(ends))
        ]
        cost = [found for found, _ in best]
        chosen.append([i for _, i in best])
    cuts = [len(weights)]
    for starts in reversed(chosen):
        cuts.append(starts[cuts[-1]])
    return cuts[::-1]
