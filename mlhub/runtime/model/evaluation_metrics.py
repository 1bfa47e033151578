# SPDX-License-Identifier: Apache-2.0
"""Loss and metrics over examples: sums over batches, means in the end, and the names that they have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from mlhub.runtime.data.readers import Split
from mlhub.runtime.model.contract import Contract
from mlhub.wire.report import metric_name

EVALUATION_BATCH = 256  # examples
MAX_EXPONENT = 50.0


def add_to_sums(
    sums: dict[str, float], contract: Contract, outputs: Any, targets: torch.Tensor, *, weight: float = 1.0
) -> None:
    """Adds loss and metrics of a batch to the sums over examples, by name."""
    values: dict[str, Any] = {"loss": contract.loss(outputs, targets), **contract.metrics(outputs, targets)}
    for name, value in values.items():
        sums[name] = sums.get(name, 0.0) + float(value) * len(targets) * weight


def means_of(sums: Mapping[str, float], *, n: float, facts: Mapping[str, Any]) -> dict[str, float]:
    """Means over n examples under the keys "eval/..."; for texts also what follows from the loss."""
    means = {_key(name): sums[name] / n for name in sorted(sums)}
    if facts.get("task") == "language_modelling":
        means |= _language_metrics(means["eval/loss"], bytes_per_token=float(facts.get("bytes_per_token", 1.0)))
    return means


def metric_names(contract: Contract, data: Split, outputs: Any, targets: torch.Tensor) -> list[str]:
    """The keys that means_of() will have, found on one batch."""
    names = {_key(name) for name in ("loss", *contract.metrics(outputs, targets))}
    if data.facts.get("task") == "language_modelling":
        names |= _language_metrics(0.0, bytes_per_token=1.0).keys()
    return sorted(names)


def _key(name: object) -> str:
    """The name that the user's code gave, as curves, results and targets have it."""
    return metric_name(f"eval/{name}")


def _language_metrics(loss: float, *, bytes_per_token: float) -> dict[str, float]:
    """Perplexity, which depends on the vocabulary, and bits for each byte of text, which can be compared."""
    metrics = {"eval/bits_per_byte": loss / math.log(2) / bytes_per_token}
    return metrics | ({"eval/perplexity": math.exp(loss)} if loss < MAX_EXPONENT else {})
