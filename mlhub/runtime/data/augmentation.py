# SPDX-License-Identifier: Apache-2.0
"""Image augmentation: flips, shifts, rotations, noise. The same seed gives the same images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError

SHIFT = 0.125  # of the image's size, at most
TURN = math.radians(15)  # at most
NOISE = 0.05  # standard deviation


def check(augment: Sequence[str], input_shape: Sequence[int]) -> None:
    """Raises BadInputError when images are to be augmented and examples are not (channels, height, width)."""
    if augment and len(input_shape) != 3:
        raise BadInputError(
            f"Examples have the shape {list(input_shape)}, which is no image.",
            field="hyperparameters.augment",
            remedy="Leave augment out, or give images of shape (channels, height, width).",
        )


def augmented(images: Tensor, augment: Sequence[str], generator: torch.Generator) -> Tensor:
    """images: float, shape (n, channels, height, width). Returns augmented copies; edges repeat the nearest pixel."""
    n = len(images)
    if not augment or not n:
        return images

    def uniform(limit: float) -> Tensor:
        return (torch.rand(n, generator=generator) * 2 - 1) * limit

    turn = uniform(TURN) if "rotate" in augment else torch.zeros(n)
    mirror = (torch.rand(n, generator=generator) < 0.5).float() * -2 + 1 if "flip" in augment else torch.ones(n)
    down, right = (uniform(2 * SHIFT), uniform(2 * SHIFT)) if "translate" in augment else (torch.zeros(n),) * 2
    if {"rotate", "flip", "translate"} & set(augment):
        cosine, sine = torch.cos(turn), torch.sin(turn)
        rows = [torch.stack([cosine * mirror, -sine, right], -1), torch.stack([sine * mirror, cosine, down], -1)]
        grid = nn.functional.affine_grid(torch.stack(rows, 1).to(images), list(images.shape), align_corners=False)
        images = nn.functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
    if "noise" in augment:
        images = images + NOISE * torch.randn(images.shape, generator=generator).to(images)
    return images
