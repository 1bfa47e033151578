# SPDX-License-Identifier: Apache-2.0
"""Whether a strategy can train a model, and on how many workers; checked before the job may hold GPUs."""

from __future__ import annotations

import torch
from torch import nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.strategies.catalogue.schema import AUTO, StrategySpec, stages_per_worker
from mlhub.runtime.strategies.model_parallel.linear_pairs import pairs_of
from mlhub.runtime.strategies.model_parallel.stages import layers_of, most_stages
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.wire.launch import SyncMode

UNRESTRICTED = (AUTO, "all_reduce", "single", "ensemble", "fully_sharded")  # these train any model

MAX_WORKERS = 64


def possible_workers(spec: StrategySpec, model: nn.Module, optimizer: torch.optim.Optimizer) -> list[int] | None:
    """Possible numbers of workers, ascending; None: any. Raises BadInputError when there is none."""
    if spec.name in UNRESTRICTED:
        return None
    if spec.name == "pipeline":
        most = most_stages(layers_of(model)) // stages_per_worker(spec)
        if spec.parameters["replicas"] > 1:
            return None  # any number works: at worst each is a replica of one worker
        return list(range(1, max(1, min(most, spec.max_workers or most)) + 1))
    if spec.name in ("tensor", "hybrid"):
        widths = [pair.width for pair in pairs_of(model)]
        parts = spec.parameters.get("parts")
        if parts is None:
            return [n for n in range(1, MAX_WORKERS + 1) if any(width % n == 0 for width in widths)]
        if all(width % parts for width in widths):
            raise BadInputError(
                f"No pair of linear layers has a width between them that {parts} divides.",
                field="strategy.parts",
                remedy=f"Give parts that divide one of {', '.join(map(str, sorted(set(widths))))}.",
            )
        return list(range(parts, MAX_WORKERS + 1, parts))
    named = flat_parameters.trainable_parameters(model)
    if spec.mode is SyncMode.PARAMETER_SERVER or spec.name == "sharded":
        plan_shards(named, optimizer, n_shards=1, n_workers=1, resume_from=None)
    return None
