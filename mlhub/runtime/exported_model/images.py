# SPDX-License-Identifier: Apache-2.0
"""Images as the model was trained on them: its number of channels and its size, values from 0 to 1. Needs Pillow."""

from __future__ import annotations

import base64
import binascii
import io
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .errors import UnusableRowError

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp")
MAX_PIXELS = 64_000_000


def is_image_shape(shape: Sequence[int]) -> bool:
    """Whether examples of this shape are images: channels first, of grey or of colours."""
    return len(shape) == 3 and shape[0] in (1, 3)


def encoded_image(number: int, image: Any, shape: Sequence[int]) -> Tensor:
    """Returns float32 of the shape. image: the bytes of an image file, or these in base64, also as a data: address.

    Raises UnusableRowError.
    """
    from PIL import Image, UnidentifiedImageError  # only models of images need it

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    channels, height, width = shape
    try:
        opened = Image.open(io.BytesIO(image if isinstance(image, bytes) else bytes_of(image)))
        picture = opened.convert("L" if channels == 1 else "RGB")
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as error:
        raise UnusableRowError(
            f"Row {number} cannot be read as an image: {_reason(error)}.",
            field="image",
            remedy="Give a PNG or JPEG file, in JSON its bytes in base64.",
        ) from error
    if picture.size != (width, height):
        picture = picture.resize((width, height), Image.Resampling.BILINEAR)
    pixels = torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8).float() / 255.0
    return pixels.reshape(height, width, channels).movedim(-1, 0)


def _reason(error: Exception) -> str:
    """Pillow names an unknown format by the object in memory that it read from."""
    return "its format is not known" if "cannot identify image file" in str(error) else str(error).rstrip(".")


def bytes_of(text: Any) -> bytes:
    """Of base64, also as a data: address. Raises ValueError."""
    try:
        plain = str(text)
        return base64.b64decode(plain.partition(",")[2] if plain.startswith("data:") else plain, validate=True)
    except binascii.Error as error:
        raise ValueError(f"it is no base64 ({error})") from error
