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
from mlhub.runtime.model.requested_metrics import metrics_of
from mlhub.runtime.model.whole_set_metrics import WholeSetMetrics
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
    metrics: tuple[str, ...] | None = None,
) -> dict[str, float]:
    """Means and other metrics of all held-out examples under the keys "eval/...", the same on every worker.

    metrics: of requested_metrics.py; None: the defaults of the task. The model is left in training mode.
    """
    strategy.average_buffers(model)
    device, predictor = strategy.device(), strategy.predictor(model)
    parts = np.array_split(data.held_out, n_workers)
    own, first = parts[rank], sum(len(part) for part in parts[:rank])
    names = metrics_of(metrics, data.facts, has_usual_form=contract.has_usual_loss and contract.has_usual_metrics)
    whole = WholeSetMetrics(names, data.facts, n_held_out=len(data.held_out), answers=contract.answers)
    # a worker without examples evaluates one of weight 0, so that all have the same names to sum
    examples, weight = (own, 1.0) if len(own) else (data.held_out[:1], 0.0)
    sums: dict[str, float] = {}
    model.eval()
    with torch.no_grad():
        for start in range(0, len(examples), EVALUATION_BATCH):
            heartbeat.record("compute")
            inputs, targets = data.batch(examples[start : start + EVALUATION_BATCH])
            inputs, targets = contract.preprocess(inputs.to(device)), targets.to(device)
            outputs = predictor(inputs)
            add_to_sums(sums, contract, outputs, targets, weight=weight)
            if len(own):
                whole.add(outputs, targets, start=first + start)
    model.train()
    names_of_sums = sorted(sums)
    own_sums = [float(len(own)), *(sums[name] for name in names_of_sums), *whole.vector()]
    n_examples, *totals = strategy.sum_over_workers(own_sums)
    n_sums = len(names_of_sums)
    means = means_of(dict(zip(names_of_sums, totals[:n_sums], strict=True)), n=n_examples, facts=data.facts)
    return means | whole.values(totals[n_sums:])
