"""Loss and metrics on the held-out examples, each worker taking its part."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from mlhub.runtime.data.readers import Split
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.model.contract import Contract
from mlhub.runtime.strategies.protocol import Strategy

BATCH = 256
MAX_EXPONENT = 50.0


def evaluate(
    model: nn.Module,
    contract: Contract,
    data: Split,
    strategy: Strategy,
    *,
    rank: int,
    n_workers: int,
    pulse: Heartbeat,
) -> dict[str, float]:
    """Means over all held-out examples, keys "eval/...", the same on every worker; the model trains on afterwards."""
    strategy.average_buffers(model)
    device, predictor = strategy.device(), strategy.predictor(model)
    own = np.array_split(data.held_out, n_workers)[rank]
    # a worker without examples looks at one that does not count, so that all have the same names to sum
    looked_at, weighs = (own, 1.0) if len(own) else (data.held_out[:1], 0.0)
    sums: dict[str, float] = {}
    model.eval()
    with torch.no_grad():
        for start in range(0, len(looked_at), BATCH):
            pulse.beat("compute")
            inputs, targets = data.batch(looked_at[start : start + BATCH])
            inputs, targets = contract.preprocess(inputs.to(device)), targets.to(device)
            add_found(sums, contract, predictor(inputs), targets, weighs=weighs)
    model.train()
    names = sorted(sums)
    totals = strategy.total([float(len(own)), *(sums[name] for name in names)])
    return as_means(dict(zip(names, totals[1:], strict=True)), n=totals[0], facts=data.facts)


def add_found(
    sums: dict[str, float], contract: Contract, outputs: Any, targets: torch.Tensor, *, weighs: float = 1.0
) -> None:
    """Adds loss and metrics of a batch to the sums over examples."""
    found: dict[str, Any] = {"loss": contract.loss(outputs, targets), **contract.metrics(outputs, targets)}
    for name, value in found.items():
        sums[name] = sums.get(name, 0.0) + float(value) * len(targets) * weighs


def as_means(sums: Mapping[str, float], *, n: float, facts: Mapping[str, Any]) -> dict[str, float]:
    """Over n examples, keys "eval/..."; of texts with what follows from the loss."""
    means = {f"eval/{name}": sums[name] / n for name in sorted(sums)}
    if facts.get("task") == "language_modelling":
        means |= _of_language(means["eval/loss"], bytes_per_token=float(facts.get("bytes_per_token", 1.0)))
    return means


def _of_language(loss: float, *, bytes_per_token: float) -> dict[str, float]:
    """Perplexity is of one vocabulary; bits for each byte of the text can be compared over vocabularies."""
    found = {"eval/bits_per_byte": loss / math.log(2) / bytes_per_token}
    return found | ({"eval/perplexity": math.exp(loss)} if loss < MAX_EXPONENT else {})


def metric_names(contract: Contract, data: Split, outputs: Any, targets: torch.Tensor) -> list[str]:
    """The names that evaluate() will give, found on one batch."""
    names = {f"eval/{name}" for name in ("loss", *contract.metrics(outputs, targets))}
    if data.facts.get("task") == "language_modelling":
        names |= _of_language(0.0, bytes_per_token=1.0).keys()
    return sorted(names)
