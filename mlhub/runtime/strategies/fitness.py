"""Can this model be trained by that strategy, and on how many workers? Asked before the job may hold GPUs."""

from __future__ import annotations

import torch
from torch import nn

from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.strategies import flat
from mlhub.runtime.strategies.layers import layers_of, most_stages
from mlhub.runtime.strategies.schema import AUTO, StrategySpec
from mlhub.wire.launch import Mode

ANYTHING = (AUTO, "all_reduce")  # trained as it is, whatever it is made of


def most_workers(spec: StrategySpec, model: nn.Module, optimizer: torch.optim.Optimizer) -> int | None:
    """None: any number. Raises BadInputError when not even one could train it."""
    if spec.name in ANYTHING:
        return None
    if spec.name == "pipeline":
        return most_stages(layers_of(model))
    named = flat.trained(model)
    if spec.mode is Mode.PARAMETER_SERVER or spec.name == "sharded":
        plan_shards(named, optimizer, n_shards=1, n_workers=1, resume_from=None)
    return None
