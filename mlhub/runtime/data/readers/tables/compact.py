# SPDX-License-Identifier: Apache-2.0
"""Rows of a table as they are kept: of a text the numbers of its words, from which a batch makes the model's inputs.

A million rows with 2,000 words in the vocabulary would be 8 GB of inputs; what is kept has at most 256 numbers a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlhub.runtime.data.readers.examples import Array, Examples, as_tensor
from mlhub.runtime.data.readers.tables import encoding
from mlhub.runtime.data.readers.tables.rows import Specs
from mlhub.runtime.data.sampling import Indices

if TYPE_CHECKING:
    from torch import Tensor


def compact(specs: Specs, values: Sequence[Array], *, is_learnt: bool) -> Array:
    """float32, shape (rows, what is kept). values: one array a column. Raises KeyError as encoding.encode() does."""
    blocks = [_compact(spec, found, is_learnt=is_learnt) for spec, found in zip(specs, values, strict=True)]
    return np.concatenate(blocks, axis=1).astype(np.float32)


def inputs_of(specs: Specs, kept: Array) -> Array:
    """float32, shape (rows, inputs), from what compact() gave."""
    blocks, start = [], 0
    for spec in specs:
        end = start + _width(spec)
        if spec["kind"] == "text":
            length = start + spec["length"]
            blocks += [encoding.weighted_words(spec, kept[:, start:length]), kept[:, length:end]]
        else:
            blocks.append(kept[:, start:end])
        start = end
    return np.concatenate(blocks, axis=1).astype(np.float32)


class CompactExamples(Examples):
    """Rows of a table with texts, whose inputs are made when they are needed."""

    def __init__(self, kept: Array, targets: Array, specs: Specs) -> None:
        super().__init__(kept, targets)
        self._specs = specs

    def batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        return as_tensor(inputs_of(self._specs, self._inputs[indices])), as_tensor(self._targets[indices])


def has_texts(specs: Specs) -> bool:
    """Whether rows are kept in another form than that of the inputs."""
    return any(spec["kind"] == "text" for spec in specs)


def _compact(spec: Mapping[str, Any], values: Array, *, is_learnt: bool) -> Array:
    if spec["kind"] != "text":
        return encoding.encode(spec, values, is_learnt=is_learnt)
    numbers = encoding.word_numbers(spec, values)
    return np.concatenate([numbers, (values == "")[:, None]], axis=1) if spec.get("indicator") else numbers


def _width(spec: Mapping[str, Any]) -> int:
    return spec["length"] + bool(spec.get("indicator")) if spec["kind"] == "text" else encoding.width(spec)
