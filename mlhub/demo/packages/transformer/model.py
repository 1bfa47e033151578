# SPDX-License-Identifier: Apache-2.0
"""A small transformer that reads an 8 x 8 picture row by row, each row a token."""

import torch
from torch import Tensor, nn


class RowTransformer(nn.Module):
    def __init__(self, n_rows: int, row_length: int, n_classes: int, width: int, n_layers: int) -> None:
        super().__init__()
        self.shape = (n_rows, row_length)
        self.embed = nn.Linear(row_length, width)
        self.position = nn.Parameter(0.02 * torch.randn(n_rows, width))
        layer = nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=2 * width, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, n_layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, n_classes)

    def forward(self, pixels: Tensor) -> Tensor:
        tokens = self.embed(pixels.view(-1, *self.shape)) + self.position
        return self.head(self.encoder(tokens).mean(dim=1))


def build_model(hyperparameters: dict) -> nn.Module:
    (n_pixels,) = hyperparameters["input_shape"]
    n_rows = hyperparameters.get("n_rows", 8)
    return RowTransformer(
        n_rows,
        n_pixels // n_rows,
        hyperparameters["n_classes"],
        hyperparameters.get("width", 32),
        hyperparameters.get("n_layers", 2),
    )
