# SPDX-License-Identifier: Apache-2.0
"""Images of a preview, as browsers show them."""

from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from mlhub.runtime.data.readers.examples import Array

MAX_SIDE = 64  # a page shows them all at once


def png(pixels: Array) -> str:
    """pixels: (height, width, 1 or 3) in 0..1. A PNG of at most MAX_SIDE pixels a side, in base64."""
    shades = (np.clip(pixels, 0, 1) * 255).astype(np.uint8)
    image = Image.fromarray(shades[..., 0] if shades.shape[-1] == 1 else shades)
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    out = io.BytesIO()
    image.save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()
