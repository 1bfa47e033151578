# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network for images of any size."""

from __future__ import annotations

from typing import Any

from torch import nn

from mlhub.runtime.model import builtin

HYPERPARAMETERS = builtin.HYPERPARAMETERS["small_cnn"]


def build_model(hyperparameters: dict[str, Any]) -> nn.Module:
    shape = hyperparameters["input_shape"]
    values = {**HYPERPARAMETERS, **hyperparameters}
    width, dropout = int(values["width"]), float(values["dropout"])

    def block(n_in: int, n_out: int) -> list[nn.Module]:
        norm = nn.GroupNorm(
            min(8, n_out), n_out
        )  # has no running statistics, so it is the same on any number of workers
        return [nn.Conv2d(n_in, n_out, 3, padding=1, bias=False), norm, nn.ReLU()]

    return nn.Sequential(
        *block(shape[0], width),
        nn.MaxPool2d(2, ceil_mode=True),
        *block(width, 2 * width),
        nn.MaxPool2d(2, ceil_mode=True),
        *block(2 * width, 4 * width),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(16 * width, hyperparameters.get("n_classes", 1)),
    )
