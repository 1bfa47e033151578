# SPDX-License-Identifier: Apache-2.0
"""Optimisers for servers, by MXNet's names and options, or read off one of torch's. Only names and numbers travel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from mlhub.runtime.compat.tables.updates import TableUpdate
from mlhub.runtime.optimization.ftrl import FTRL

# MXNet's names of options -> ours
NAMES = {
    "wd": "weight_decay", "rescale_grad": "rescale", "clip_gradient": "clip", "eps": "epsilon", "lamda1": "l1",
    "lamda2": "l2", "lr": "learning_rate",
}  # fmt: skip
TORCH: Mapping[type[torch.optim.Optimizer], tuple[str, Mapping[str, str]]] = {
    torch.optim.SGD: ("sgd", {"lr": "learning_rate", "momentum": "momentum", "weight_decay": "weight_decay"}),
    torch.optim.Adagrad: ("adagrad", {"lr": "learning_rate", "eps": "epsilon", "weight_decay": "weight_decay"}),
    torch.optim.Adam: ("adam", {"lr": "learning_rate", "eps": "epsilon", "weight_decay": "weight_decay"}),
    FTRL: ("ftrl", {"lr": "learning_rate", "beta": "beta", "l1": "l1", "l2": "l2"}),
}
# torch's options that servers do not have, with the values that mean nothing
ABSENT = {
    "dampening": 0, "nesterov": False, "maximize": False, "amsgrad": False, "lr_decay": 0,
    "initial_accumulator_value": 0, "decoupled_weight_decay": False,
}  # fmt: skip


@dataclass(frozen=True)
class Optimizer:
    """name, options: of tables/updates.py."""

    name: str
    options: Mapping[str, float] = field(default_factory=dict)


def optimizer(name: str, **options: float) -> Optimizer:
    """sgd, adagrad, adam or ftrl. Raises ValueError for other names, and options that they have not."""
    found = name.lower()
    if found in ("add", "assign"):
        raise ValueError(f"{name} is no optimiser: give sgd, adagrad, adam or ftrl.")
    ours = {NAMES.get(key, key): float(value) for key, value in options.items() if value is not None}
    TableUpdate(found, ours)
    return Optimizer(found, ours)


def read_off(given: Optimizer | torch.optim.Optimizer | str) -> Optimizer:
    """Raises ValueError for what servers do not have, naming what they have."""
    if isinstance(given, Optimizer):
        return given
    if isinstance(given, str):
        return optimizer(given)
    if type(given) not in TORCH:
        known = ", ".join(kind.__name__ for kind in TORCH)
        raise ValueError(f"Servers know no {type(given).__name__}: give one of {known}, or kv.optimizer(name, ...).")
    name, names = TORCH[type(given)]
    groups = [_options(name, names, group) for group in given.param_groups]
    if any(group != groups[0] for group in groups):
        raise ValueError("The optimiser's groups have different options: servers treat all keys alike.")
    return Optimizer(name, groups[0])


def _options(name: str, names: Mapping[str, str], group: Mapping[str, Any]) -> dict[str, float]:
    for key, nothing in ABSENT.items():
        if group.get(key, nothing) != nothing:
            raise ValueError(f"{name} on servers has no {key}: leave it at {nothing}.")
    out = {ours: float(group[theirs]) for theirs, ours in names.items()}
    if name == "adam":
        out["beta1"], out["beta2"] = map(float, group["betas"])
    return out
