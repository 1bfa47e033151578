# SPDX-License-Identifier: Apache-2.0
"""What formats of pictures share: decoding, the common size, classes, moments and the preview."""

from __future__ import annotations

import io
import os
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from mlhub.runtime.data.moments import Moments, training_mask
from mlhub.runtime.data.readers.examples import Array, Examples, as_tensor
from mlhub.runtime.data.readers.previews import png
from mlhub.runtime.data.sampling import Indices
from mlhub.runtime.errors import BadInputError

if TYPE_CHECKING:
    from torch import Tensor

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp"}
KINDS = "PNG, JPEG, BMP, GIF, WebP"  # what SUFFIXES mean
HELD_OUT = {"test", "val", "valid", "validation"}  # names of folders
MAX_SIDE = 128  # unless image_size says otherwise
MAX_IMAGE_SIZE = 1024
MAX_DECODERS = 4  # threads; each holds one picture at its own size
WHEN_READ = "when_read"
SCALE = 255.0
N_PREVIEW = 20
N_FOR_MOMENTS = 2000

Image.MAX_IMAGE_PIXELS = 64_000_000


class PicturesWhenRead(Examples):
    """Pictures that stay packed: a batch decodes its own, several at a time, and nothing is kept of it afterwards."""

    def __init__(self, pixels_at: Callable[[int], Array], targets: Array, schema: Mapping[str, Any]) -> None:
        """pixels_at: of an example, shape input_shape, uint8; it is called by several threads. targets: (n,), int64."""
        self._pixels_at, self._targets, self._shape = pixels_at, targets, schema["input_shape"]
        n_threads = min(MAX_DECODERS, len(os.sched_getaffinity(0)))
        self._decoders = ThreadPoolExecutor(n_threads, thread_name_prefix="decode")

    def __len__(self) -> int:
        return len(self._targets)

    def batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        batch = np.empty((len(indices), *self._shape), dtype=np.uint8)
        for place, found in enumerate(self._decoders.map(self._pixels_at, indices)):
            batch[place] = found
        return as_tensor(batch, SCALE), as_tensor(self._targets[indices])


def decoded(raw: bytes, name: str) -> Image.Image:
    """The picture in the bytes of a file. Raises BadInputError that names it."""
    try:
        image = Image.open(io.BytesIO(raw))
        image.load()
    except (
        UnidentifiedImageError, OSError, ValueError, SyntaxError, zlib.error, Image.DecompressionBombError,
    ) as error:  # fmt: skip
        raise BadInputError(
            f"{name} cannot be read as an image: {_words_of(error)}.", field="file", remedy="Repair or remove it."
        ) from error
    return image


def _words_of(error: Exception) -> str:
    """What the library says, but where that is about its own objects and settings."""
    if isinstance(error, UnidentifiedImageError):
        return f"it is none of the kinds that are read, {KINDS}"
    if isinstance(error, Image.DecompressionBombError):
        return f"it has more than {2 * (Image.MAX_IMAGE_PIXELS or 0):,} pixels"
    return str(error).rstrip(".")


def pixels(raw: bytes, name: str, input_shape: Sequence[int]) -> Array:
    """uint8 of shape input_shape: (channels, height, width). Raises BadInputError."""
    channels, height, width = input_shape
    image = decoded(raw, name).convert("L" if channels == 1 else "RGB")
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    found = np.asarray(image, dtype=np.uint8)
    return found[None] if channels == 1 else np.moveaxis(found, -1, 0)


def size_of_all(pictures: Iterable[tuple[bytes, str]], options: Mapping[str, Any]) -> tuple[tuple[int, int], int, int]:
    """Decodes all pictures, (bytes, name) each: their common (width, height), channels, and how many sizes there are.

    Raises BadInputError for one that cannot be decoded, and for an image_size that no picture may have.
    """
    sizes: Counter[tuple[int, int]] = Counter()
    channels = 1
    for raw, name in pictures:
        image = decoded(raw, name)
        sizes[image.size] += 1
        channels = max(channels, 1 if image.mode in ("L", "1", "I;16") else 3)
    return _target_size(sizes, options), channels, len(sizes)


def described_classes(labels: Mapping[str, int], classes: Sequence[str]) -> dict[str, Any]:
    """labels: how many examples each class has. classes: their names in the order of their numbers."""
    return {
        "task": "classification",
        "n_classes": len(classes),
        "classes": list(classes),
        "class_counts": [labels[c] for c in classes],
    }


def check_labels(trained: Collection[str], held_out: Collection[str], *, layout: str, examples: str = "images") -> None:
    """Raises BadInputError for fewer than two classes, and for one that has held-out examples only."""
    together = {*trained, *held_out}
    if len(together) < 2:
        raise BadInputError(f"All {examples} are of one class, {min(together)}.", field="file", remedy=layout)
    unknown = {*held_out} - {*trained}
    if unknown:
        raise BadInputError(
            f"The class {min(unknown)} has no {examples} to train on.", field="file", remedy="Add some, or remove it."
        )


def moments_of(pixels_at: Callable[[int], Array], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Moments of each channel over a sample of the training pictures."""
    own = np.flatnonzero(training_mask(schema["n_examples"], n_held_out=schema["n_held_out"]))
    some = own[np.linspace(0, len(own) - 1, min(N_FOR_MOMENTS, len(own))).astype(int)]
    moments = Moments(schema["input_shape"], np.ones(len(some), dtype=bool))
    for i in some:
        moments.add(pixels_at(int(i))[None])
    return moments.facts(scale=SCALE)


def preview_of(pixels_at: Callable[[int], Array], labels: Sequence[str]) -> dict[str, Any]:
    """Some pictures with their labels, one label for each example."""
    chosen = np.linspace(0, len(labels) - 1, min(N_PREVIEW, len(labels))).astype(int)
    images = [{"label": labels[i], "png_base64": png(np.moveaxis(pixels_at(int(i)), 0, -1) / SCALE)} for i in chosen]
    return {"kind": "images", "images": images}


def _target_size(sizes: Counter[tuple[int, int]], options: Mapping[str, Any]) -> tuple[int, int]:
    """Width and height: the option's, the pictures' own when all are equal and small, else a square."""
    size = options.get("image_size")
    if size is not None:
        if isinstance(size, bool) or not isinstance(size, int) or not 8 <= size <= MAX_IMAGE_SIZE:
            raise BadInputError(
                f"image_size is {size!r}.",
                field="image_size",
                remedy=f"Give pixels a side, from 8 to {MAX_IMAGE_SIZE:,}.",
            )
        return size, size
    (width, height), _ = sizes.most_common(1)[0]
    if len(sizes) == 1 and max(width, height) <= MAX_SIDE:
        return width, height
    side = min(MAX_SIDE, max(8, int(np.median([min(size) for size in sizes.elements()]))))
    return side, side
