# SPDX-License-Identifier: Apache-2.0
"""Loss and metrics on the held-out examples, a part on each worker."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from mlhub.runtime.data.readers import Split
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.model.contract import Contract
from mlhub.runtime.model.evaluation_metrics import EVALUATION_BATCH, add_to_sums, means_of
from mlhub.runtime.strategies.protocol import Strategy


def evaluate(
    model: nn.Module,
    contract: Contract,
    data: Split,
    strategy: Strategy,
    *,
    rank: int,
    n_workers: int,
    heartbeat: Heartbeat,
) -> dict[str, float]:
    """Means over all held-out examples under the keys "eval/...", the same on every worker.

    The model is left in training mode.
    """
    strategy.average_buffers(model)
    device, predictor = strategy.device(), strategy.predictor(model)
    own = np.array_split(data.held_out, n_workers)[rank]
    # a worker without examples evaluates one of weight 0, so that all have the same names to sum
    examples, weight = (own, 1.0) if len(own) else (data.held_out[:1], 0.0)
    sums: dict[str, float] = {}
    model.eval()
    with torch.no_grad():
        for start in range(0, len(examples), EVALUATION_BATCH):
            heartbeat.record("compute")
            inputs, targets = data.batch(examples[start : start + EVALUATION_BATCH])
            inputs, targets = contract.preprocess(inputs.to(device)), targets.to(device)
            add_to_sums(sums, contract, predictor(inputs), targets, weight=weight)
    model.train()
    names = sorted(sums)
    n_examples, *totals = strategy.sum_over_workers([float(len(own)), *(sums[name] for name in names)])
    return means_of(dict(zip(names, totals, strict=True)), n=n_examples, facts=data.facts)
