# SPDX-License-Identifier: Apache-2.0
"""Augmentation: images flipped, shifted, rotated, parts of clips, both with noise. The same seed gives the same."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mlhub.runtime.data.augmentation_options import is_audio
from mlhub.runtime.data.readers import Split
from mlhub.runtime.data.readers.examples import LongExamples
from mlhub.runtime.data.sampling import Indices

SHIFT = 0.125  # of the image's size, at most
TURN = math.radians(15)  # at most
NOISE = 0.05  # standard deviation; of audio in parts of the clip's own


def batch(data: Split, indices: Indices, augment: Sequence[str], generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """As data.batch(), augmented: random parts of clips that are longer than an example, and what augmented() does."""
    if not is_audio(data.facts):
        inputs, targets = data.batch(indices)
        return augmented(inputs, augment, generator), targets
    if "crop" in augment and isinstance(data.examples, LongExamples):
        inputs, targets = data.examples.parts(indices, torch.rand(len(indices), generator=generator).numpy())
    else:
        inputs, targets = data.batch(indices)
    return (_with_noise(inputs, generator) if "noise" in augment else inputs), targets


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


def _with_noise(clips: Tensor, generator: torch.Generator) -> Tensor:
    """clips: (n, 1, length). White noise, in proportion to how loud each clip is."""
    loudness = clips.square().mean((1, 2), keepdim=True).sqrt()
    return clips + NOISE * loudness * torch.randn(clips.shape, generator=generator)
