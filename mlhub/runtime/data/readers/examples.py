# SPDX-License-Identifier: Apache-2.0
"""What every reader gives: examples held in memory as arrays, and what inspection found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlhub.runtime.data.sampling import Indices

if TYPE_CHECKING:
    from torch import Tensor

Array = NDArray[Any]


@dataclass(frozen=True)
class InspectionResult:
    """schema: what the runtime needs again (JSON). preview: a small sample for people (JSON).

    statistics: distributions for people (JSON). problems: {column, message, remedy}, each of which another choice of
    columns repairs; with any, the schema is empty.
    """

    schema: dict[str, Any]
    preview: dict[str, Any]
    statistics: dict[str, Any] = field(default_factory=dict)
    problems: list[dict[str, str]] = field(default_factory=list)


class Examples:
    """inputs: (n, ...), targets: (n, ...). Integer images come out as float32 in 0..1 when scale is 255."""

    def __init__(self, inputs: Array, targets: Array, *, scale: float = 1.0) -> None:
        self._inputs, self._targets, self._scale = inputs, targets, scale

    def __len__(self) -> int:
        return len(self._inputs)

    def batch(self, indices: Indices) -> tuple[Tensor, Tensor]:
        """float32 or int64 inputs and targets of shape (len(indices), ...)."""
        return as_tensor(self._inputs[indices], self._scale), as_tensor(self._targets[indices])

    def targets(self, indices: Indices) -> Array:
        """The targets alone, shape (len(indices), ...)."""
        found: Array = np.asarray(self._targets[indices])
        return found


class LongExamples(Examples, ABC):
    """Examples of which the file may hold more than fits: batch() gives the middle of each."""

    @abstractmethod
    def parts(self, indices: Indices, places: Array) -> tuple[Tensor, Tensor]:
        """As batch(), but the part of each that begins at places, in [0, 1): 0 is at its begin."""


def wants_targets(options: Mapping[str, Any]) -> bool:
    """Whether inspection looks for targets: not when the upload declares that there are none."""
    return options.get("targets") != "none"


def no_targets(n: int) -> Array:
    """In the place of targets that are not there, or not wanted."""
    return np.zeros(n, dtype=np.int64)


def as_tensor(values: Array, scale: float = 1.0) -> Tensor:
    """float32 or int64; divided by scale."""
    import torch  # inspection describes files without it, and it takes more than a second to import

    if scale != 1.0:
        return torch.from_numpy(values.astype(np.float32) / np.float32(scale))
    if np.issubdtype(values.dtype, np.floating):
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))
    return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int64))
