# SPDX-License-Identifier: Apache-2.0
"""A few examples of a large dataset, for a dry run: what stands after the last of them is not read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlhub.runtime.data.readers.examples import Array, Examples
from mlhub.runtime.data.readers.prepared import KeptExamples, PreparedParts
from mlhub.runtime.data.sampling import Indices

if TYPE_CHECKING:
    from torch import Tensor


class FirstExamples(Examples):
    """chosen: sorted indices of the examples that batch() can give. targets() reads those of all, when it is asked."""

    def __init__(self, reader: PreparedParts, path: Path, schema: Mapping[str, Any]) -> None:
        """Nothing is chosen yet."""
        self._reader, self._path, self._schema = reader, path, schema
        self._chosen: Indices = np.empty(0, dtype=np.int64)
        self._found: Examples | None = None
        self._all_targets: Array | None = None

    def __len__(self) -> int:
        return int(self._schema["n_examples"])

    def choose(self, indices: Indices) -> None:
        """Reads these examples. Raises what the reader raises."""
        self._chosen = np.unique(indices)
        kept: list[tuple[Array, Array]] = []
        start, last = 0, int(self._chosen[-1])
        with closing(self._reader.parts(self._path, self._schema)) as parts:  # type: ignore[type-var]
            for inputs, targets in parts:
                own = self._chosen[(self._chosen >= start) & (self._chosen < start + len(inputs))] - start
                kept.append((inputs[own], targets[own]))
                start += len(inputs)
                if start > last:
                    break
        inputs, targets = (np.concatenate(each) for each in zip(*kept, strict=True))
        if isinstance(self._reader, KeptExamples):
            self._found = self._reader.examples(inputs, targets, self._schema)
        else:
            self._found = Examples(inputs, targets, scale=self._reader.scale(self._schema))

    def batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        assert self._found is not None
        return self._found.batch(np.searchsorted(self._chosen, indices))

    def targets(self, indices: Indices) -> Array:
        if self._all_targets is None:
            parts = self._reader.parts(self._path, self._schema)
            self._all_targets = np.concatenate([targets for _, targets in parts])
        found: Array = self._all_targets[indices]
        return found
