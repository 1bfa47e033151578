# SPDX-License-Identifier: Apache-2.0
"""The models that MLHub ships: names and descriptions. Their code is mlhub.runtime's; this room loads no torch."""

from typing import NamedTuple


class Builtin(NamedTuple):
    name: str
    description: str


BUILTINS = (
    Builtin("mlp", "A multi-layer perceptron for tables and small images."),
    Builtin("small_cnn", "A small convolutional network for images."),
    Builtin("audio_cnn", "A small convolutional network that classifies audio by its log-mel spectrogram."),
    Builtin("text_cnn", "A small convolutional network that classifies texts."),
    Builtin("tiny_transformer", "A small transformer that goes on with texts."),
)

# Stands for the code that a notebook does not have; no list shows it, and no training can name it.
NOTEBOOK_MODEL = Builtin("jupyterlab", "JupyterLab, of notebooks.")
