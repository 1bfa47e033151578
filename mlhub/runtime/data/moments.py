# SPDX-License-Identifier: Apache-2.0
"""Mean and deviation of a dataset's training inputs, gathered part by part, so that models need not learn units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlhub.runtime.data.sampling import split
from mlhub.wire.launch import TrainingSpec

MAX_COLUMNS = 4096  # wider inputs have one mean for all values
MomentArray = NDArray[Any]


class Moments:
    """Moments of each column of (n, columns), each channel of (n, channels, height, width), else of all values.

    Only training examples count: held-out ones must not influence training.
    Source: Chan, Golub, LeVeque (1979), pairwise.
    """

    def __init__(self, input_shape: Sequence[int], is_trained: MomentArray) -> None:
        """is_trained: whether each example counts, in the order in which they will be added."""
        n_dims = len(input_shape)
        is_each = n_dims == 3 or (n_dims == 1 and input_shape[0] <= MAX_COLUMNS)
        self._axes = (0, *range(2, n_dims + 1)) if is_each else tuple(range(n_dims + 1))
        self._is_trained = is_trained
        self._seen, self._n = 0, 0.0
        self._mean: MomentArray = np.zeros(())
        self._squares: MomentArray = np.zeros(())

    def add(self, inputs: MomentArray) -> None:
        """Adds the next examples, in the order of the dataset."""
        own = inputs[self._is_trained[self._seen : self._seen + len(inputs)]]
        self._seen += len(inputs)
        n = float(math.prod(own.shape[axis] for axis in self._axes)) if len(own) else 0.0
        if not n:
            return
        mean = own.mean(self._axes, dtype=np.float64)
        centred = own - mean.reshape([-1 if axis == 1 else 1 for axis in range(own.ndim)]) if mean.ndim else own - mean
        whole, step = self._n + n, mean - self._mean
        self._squares = self._squares + np.square(centred).sum(self._axes) + step**2 * self._n * n / whole
        self._mean = self._mean + step * n / whole
        self._n = whole

    def facts(self, *, scale: float = 1.0) -> dict[str, Any]:
        """input_mean and input_std of inputs divided by scale; constant inputs have a deviation of 1."""
        if not self._n:
            return {}
        std = np.sqrt(self._squares / self._n)
        std = np.where(std > 1e-9 * np.maximum(1.0, np.abs(self._mean)), std, scale)
        return {"input_mean": np.ravel(self._mean / scale).tolist(), "input_std": np.ravel(std / scale).tolist()}


def training_mask(n_examples: int, *, n_held_out: int) -> MomentArray:
    """Whether each example is trained on, shape (n_examples,), bool.

    n_held_out: the last examples, when the dataset has a test part of its own; 0: those that the runtime holds out.
    """
    found = np.ones(n_examples, dtype=bool)
    if n_held_out:
        found[n_examples - n_held_out :] = False
    elif n_examples > 1:
        found[split(n_examples, evaluation_fraction=TrainingSpec.evaluation_fraction)[1]] = False
    return found
