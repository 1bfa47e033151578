# SPDX-License-Identifier: Apache-2.0
"""The models that MLHub ships: each a module that keeps the contract, as a user's package does."""

from __future__ import annotations

from typing import Any

# Of each model, with defaults. Declared here because the API checks them too, and must not load torch.
HYPERPARAMETERS: dict[str, dict[str, Any]] = {
    "mlp": {"width": 128, "n_layers": 2, "dropout": 0.0},
    "small_cnn": {"width": 32, "dropout": 0.1},
    "audio_cnn": {"n_mels": 64, "window_ms": 25.0, "hop_ms": 10.0, "width": 32, "dropout": 0.1},
    "text_cnn": {"width": 64, "dropout": 0.1},
    "tiny_transformer": {"width": 128, "n_layers": 2, "n_heads": 4, "dropout": 0.1},
}
BUILTINS = tuple(HYPERPARAMETERS)
