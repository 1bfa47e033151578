# SPDX-License-Identifier: Apache-2.0
"""A convolutional network that classifies texts. Source: Kim, EMNLP '14."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.model import builtin

HYPERPARAMETERS = builtin.HYPERPARAMETERS["text_cnn"]
SPANS = (3, 4, 5)  # tokens that a filter sees


class TextCnn(nn.Module):
    """Tokens (batch, length) to logits (batch, n_classes)."""

    def __init__(self, vocabulary_size: int, n_classes: int, *, width: int, dropout: float) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary_size, width)
        self.filters = nn.ModuleList(nn.Conv1d(width, width, span) for span in SPANS)
        self.head = nn.Sequential(nn.Dropout(dropout), nn.Linear(width * len(SPANS), n_classes))

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = self.token(tokens).transpose(1, 2)
        strongest = [torch.relu(each(embedded)).amax(-1) for each in self.filters]
        logits: Tensor = self.head(torch.cat(strongest, 1))
        return logits


def build_model(hyperparameters: dict[str, Any]) -> nn.Module:
    values = {**HYPERPARAMETERS, **hyperparameters}
    return TextCnn(
        hyperparameters["vocabulary_size"],
        hyperparameters["n_classes"],
        width=int(values["width"]),
        dropout=float(values["dropout"]),
    )
