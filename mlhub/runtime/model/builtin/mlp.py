# SPDX-License-Identifier: Apache-2.0
"""A multi-layer perceptron for tables and small images."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.model import builtin

HYPERPARAMETERS = builtin.HYPERPARAMETERS["mlp"]
ANSWERS_IN_OWN_UNIT = True  # of a regression: see Rescaled


class Rescaled(nn.Module):
    """Converts standardised targets (mean 0, deviation 1), which are learned easily, to the dataset's own unit."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: float, std: float) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean))
        self.register_buffer("std", torch.tensor(std))

    def forward(self, standard: Tensor) -> Tensor:
        return standard * self.std + self.mean


def build_model(hyperparameters: dict[str, Any]) -> nn.Module:
    values = {**HYPERPARAMETERS, **hyperparameters}
    n_inputs = math.prod(hyperparameters["input_shape"])
    n_outputs = hyperparameters.get("n_classes", 1)
    width, n_layers, dropout = int(values["width"]), int(values["n_layers"]), float(values["dropout"])
    layers: list[nn.Module] = [nn.Flatten()]
    for i in range(n_layers):
        layers += [nn.Linear(n_inputs if i == 0 else width, width), nn.ReLU()]
        if dropout:
            layers.append(nn.Dropout(dropout))
    layers.append(nn.Linear(width if n_layers else n_inputs, n_outputs))
    if "target_std" in hyperparameters:
        layers.append(Rescaled(hyperparameters["target_mean"], hyperparameters["target_std"] or 1.0))
    return nn.Sequential(*layers)
