# SPDX-License-Identifier: Apache-2.0
"""A small causal transformer over tokens."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.model import builtin

HYPERPARAMETERS = builtin.HYPERPARAMETERS["tiny_transformer"]


class TinyTransformer(nn.Module):
    """Tokens (batch, length) to logits (batch, length, vocabulary)."""

    def __init__(
        self, vocabulary_size: int, context_length: int, *, width: int, n_layers: int, n_heads: int, dropout: float
    ) -> None:
        super().__init__()
        self.token = nn.Embedding(vocabulary_size, width)
        self.position = nn.Parameter(0.02 * torch.randn(context_length, width))
        layer = nn.TransformerEncoderLayer(
            width, n_heads, 4 * width, dropout=dropout, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, n_layers, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary_size, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        length = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(length, device=tokens.device)
        hidden = self.layers(self.token(tokens) + self.position[:length], mask=mask, is_causal=True)
        logits: Tensor = self.head(hidden)
        return logits


def build_model(hyperparameters: dict[str, Any]) -> nn.Module:
    values = {**HYPERPARAMETERS, **hyperparameters}
    return TinyTransformer(
        hyperparameters["vocabulary_size"],
        hyperparameters["context_length"],
        width=int(values["width"]),
        n_layers=int(values["n_layers"]),
        n_heads=int(values["n_heads"]),
        dropout=float(values["dropout"]),
    )
