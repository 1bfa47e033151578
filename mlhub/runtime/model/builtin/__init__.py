# SPDX-License-Identifier: Apache-2.0
"""The models that MLHub ships: each a module that keeps the contract, as a user's package does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from mlhub.runtime.errors import BadInputError

# Of each model, with defaults. Declared here because the API checks them too, and must not load torch.
HYPERPARAMETERS: dict[str, dict[str, Any]] = {
    "mlp": {"width": 128, "n_layers": 2, "dropout": 0.0},
    "small_cnn": {"width": 32, "dropout": 0.1},
    "audio_cnn": {"n_mels": 64, "window_ms": 25.0, "hop_ms": 10.0, "width": 32, "dropout": 0.1},
    "text_cnn": {"width": 64, "dropout": 0.1},
    "tiny_transformer": {"width": 128, "n_layers": 2, "n_heads": 4, "dropout": 0.1},
}
BUILTINS = tuple(HYPERPARAMETERS)


class ExampleKind(StrEnum):
    """What a dataset's examples are to a built-in model; the value is how people read it."""

    NUMBERS = "rows of numbers"
    IMAGES = "images"
    AUDIO = "audio"
    LABELLED_TEXTS = "texts with classes"
    TEXTS = "texts without classes"


# of each model, what it can be trained on
TAKEN: dict[str, tuple[ExampleKind, ...]] = {
    "mlp": (ExampleKind.NUMBERS, ExampleKind.IMAGES, ExampleKind.AUDIO),
    "small_cnn": (ExampleKind.IMAGES,),
    "audio_cnn": (ExampleKind.AUDIO,),
    "text_cnn": (ExampleKind.LABELLED_TEXTS,),
    "tiny_transformer": (ExampleKind.TEXTS,),
}
N_DIMENSIONS_OF_IMAGES = 3  # channels, height, width


def example_kind(facts: Mapping[str, Any]) -> ExampleKind | None:
    """By the facts of a dataset, or its schema; None where they say nothing of its examples."""
    shape = facts.get("input_shape")
    if "vocabulary_size" in facts:
        return ExampleKind.LABELLED_TEXTS if "n_classes" in facts else ExampleKind.TEXTS
    if not shape:
        return None
    if "sample_rate" in facts:
        return ExampleKind.AUDIO
    return ExampleKind.IMAGES if len(shape) == N_DIMENSIONS_OF_IMAGES else ExampleKind.NUMBERS


def check_examples(name: str, facts: Mapping[str, Any]) -> None:
    """Raises BadInputError where the built-in model cannot be trained on such a dataset, with the models that can."""
    found = example_kind(facts)
    if found is None or found in TAKEN[name]:
        return
    shape = f" of the shape {tuple(facts['input_shape'])}" if found is ExampleKind.NUMBERS else ""
    raise BadInputError(
        f"{name} is trained on {_listed(TAKEN[name])}; the examples of this dataset are {found}{shape}.",
        field="model",
        remedy=f"Use {_listed(fitting_models(found))}, or bring code of your own.",
    )


def fitting_models(kind: ExampleKind) -> list[str]:
    """The built-in models that can be trained on such examples, the one that is made for them first."""
    return sorted((name for name in BUILTINS if kind in TAKEN[name]), key=lambda name: len(TAKEN[name]))


def _listed(words: Sequence[str]) -> str:
    """Such as "a, b or c"."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
