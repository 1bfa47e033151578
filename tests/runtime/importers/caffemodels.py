# SPDX-License-Identifier: Apache-2.0
"""Writes caffemodels by hand, in the new form and the old one (V1): nothing of the reader under test."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.runtime.importers.wire import message

V1_TYPES = {"Convolution": 4, "InnerProduct": 14}


def blob(values: Any, *, is_old: bool = False) -> bytes:
    array = np.asarray(values, "<f4")
    if is_old:  # always four axes
        shape = [1] * (4 - array.ndim) + list(array.shape)
        return message(*zip((1, 2, 3, 4), shape, strict=True), (5, array.tobytes()))
    return message((5, array.tobytes()), (7, message(*((1, n) for n in array.shape))))


def caffemodel(weights: dict[str, list[Any]]) -> bytes:
    layers = (message((1, name), (2, "Any"), *((7, blob(b)) for b in blobs)) for name, blobs in weights.items())
    return message((1, "net"), *((100, layer) for layer in layers))


def old_caffemodel(weights: dict[str, list[Any]], types: dict[str, str]) -> bytes:
    layers = (
        message((4, name), (5, V1_TYPES[types[name]]), *((6, blob(b, is_old=True)) for b in blobs))
        for name, blobs in weights.items()
    )
    return message((1, "net"), *((2, layer) for layer in layers))
