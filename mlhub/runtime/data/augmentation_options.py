# SPDX-License-Identifier: Apache-2.0
"""Which augmentations there are, and for which examples. Without torch: the API checks them too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlhub.runtime.errors import BadInputError

OF_IMAGES = ("flip", "translate", "rotate", "noise")
OF_AUDIO = ("crop", "noise")
AUGMENTATIONS = tuple(dict.fromkeys((*OF_IMAGES, *OF_AUDIO)))


def check_augment(augment: Sequence[str], facts: Mapping[str, Any]) -> None:
    """facts: of the dataset. Raises BadInputError for examples that cannot be augmented so."""
    shape = facts.get("input_shape")
    if not augment or shape is None:
        return
    if is_audio(facts):
        _refuse_others(augment, OF_AUDIO, "audio")
    elif len(shape) == 3:
        _refuse_others(augment, OF_IMAGES, "images")
    else:
        raise BadInputError(
            f"Examples have the shape {list(shape)}, which is neither image nor audio.",
            field="hyperparameters.augment",
            remedy="Leave augment out, or give images of shape (channels, height, width), or audio.",
        )


def is_audio(facts: Mapping[str, Any]) -> bool:
    return facts.get("sample_rate") is not None


def _refuse_others(augment: Sequence[str], known: Sequence[str], kind: str) -> None:
    unknown = [name for name in augment if name not in known]
    if unknown:
        raise BadInputError(
            f"There is no augmentation {unknown[0]} of {kind}.",
            field="hyperparameters.augment",
            remedy=f"Give some of {', '.join(known)}.",
        )
