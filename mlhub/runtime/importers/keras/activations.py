# SPDX-License-Identifier: Apache-2.0
"""Keras's activations by name, as torch modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from mlhub.runtime.importers.graph import unknown
from mlhub.runtime.importers.layers import ApplyFunction

ACTIVATIONS: Mapping[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "relu6": nn.ReLU6,
    "leaky_relu": lambda: nn.LeakyReLU(0.2),
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "elu": nn.ELU,
    "selu": nn.SELU,
    "gelu": nn.GELU,
    "swish": nn.SiLU,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "softsign": nn.Softsign,
    "mish": nn.Mish,
    "hard_sigmoid": lambda: ApplyFunction("hard_sigmoid", lambda x: F.relu6(x + 3) / 6),
    "hard_swish": nn.Hardswish,
    "hard_silu": nn.Hardswish,
    "exponential": lambda: ApplyFunction("exponential", torch.exp),
}


def activation(given: Any, *, rank: int, name: str) -> nn.Module | None:
    """given: a name, or Keras's description of a function or a layer. None: linear. Raises BadInputError."""
    word = given
    if isinstance(given, dict):
        config = given.get("config")
        word = config if isinstance(config, str) else given.get("class_name")
    word = str(word)
    if word == "linear":
        return None
    axis = 1 if rank == 4 else -1  # Keras means the last: of images, the channels
    if word in ("softmax", "log_softmax"):
        return nn.Softmax(axis) if word == "softmax" else nn.LogSoftmax(axis)
    if word not in ACTIVATIONS:
        raise unknown("Keras activation", word, name, known=["linear", "softmax", "log_softmax", *ACTIVATIONS])
    return ACTIVATIONS[word]()
