# SPDX-License-Identifier: Apache-2.0
"""What a GPU-hour costs, by GPU type: the setting MLHUB_GPU_PRICES."""

from __future__ import annotations

import math
from collections.abc import Mapping

ANY_TYPE = "*"


def read_prices(text: str) -> dict[str, float]:
    """Reads "A100=2.5,T4=0.4,*=1": prices by GPU type, "*" for all others. Raises ValueError naming the wrong part."""
    prices: dict[str, float] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, separator, value = part.partition("=")
        try:
            price = float(value)
        except ValueError:
            price = math.nan
        if not separator or not name.strip() or not math.isfinite(price) or price < 0:
            raise ValueError(f"MLHUB_GPU_PRICES: {part!r} is no price; write TYPE=PRICE, such as A100=2.5,*=1.")
        prices[name.strip()] = price
    return prices


def price_of(gpu_type: str, prices: Mapping[str, float]) -> float | None:
    """Returns the price of a GPU-hour; None where none is set."""
    return prices.get(gpu_type, prices.get(ANY_TYPE))
