# SPDX-License-Identifier: Apache-2.0
"""Means and deviations of a table's numbers over its training rows, gathered batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from mlhub.runtime.data.moments import training_mask
from mlhub.runtime.data.readers import columns
from mlhub.runtime.data.readers.examples import Array


class ColumnMoments:
    """Mean and deviation of one column. Source: Chan, Golub, LeVeque (1979), pairwise."""

    def __init__(self) -> None:
        self.n, self.mean, self._squares = 0, 0.0, 0.0

    def add(self, values: Array) -> None:
        """values: shape (n,), finite."""
        if not len(values):
            return
        mean, before = float(values.mean()), self.n
        self.n += len(values)
        step = mean - self.mean
        self._squares += float(np.square(values - mean).sum()) + step * step * before * len(values) / self.n
        self.mean = mean if not before else self.mean + step * len(values) / self.n

    @property
    def std(self) -> float:
        """0.0 of a column without values."""
        return math.sqrt(self._squares / self.n) if self.n else 0.0


def add_training_moments(schema: dict[str, Any], batches: Iterator[pa.RecordBatch]) -> None:
    """Adds mean and std to every column of numbers, and target_mean and target_std to a regression, in place.

    Rows that training holds out do not count. A feature that is constant in the training rows has a std of 1.
    """
    features = {column["name"]: column for column in schema["columns"] if column["kind"] == "number"}
    names = [*features, *([schema["target"]] if schema["task"] == "regression" else [])]
    moments = {name: ColumnMoments() for name in names}
    is_trained, start = training_mask(schema["n_examples"], n_held_out=0), 0
    for batch in batches:
        own = is_trained[start : start + batch.num_rows]
        start += batch.num_rows
        for name in names:
            values = columns.numbers(batch[name])[own]
            moments[name].add(values[np.isfinite(values)])
    for name, column in features.items():
        column |= {"mean": moments[name].mean, "std": moments[name].std or 1.0}
    if schema["task"] == "regression":
        target = moments[schema["target"]]
        schema |= {"target_mean": target.mean, "target_std": target.std}
