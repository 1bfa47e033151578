# SPDX-License-Identifier: Apache-2.0
"""One use of a Keras layer: what its table is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.importers.graph import refused


@dataclass
class KerasLayer:
    """One use of a layer. ranks: axes of its inputs, the batch among them; rank: of its output."""

    kind: str
    name: str
    config: Mapping[str, Any]
    weights: list[Tensor]
    ranks: list[int]

    def __post_init__(self) -> None:
        self.rank = self.ranks[0]

    def take(self, n: int) -> list[Tensor]:
        if len(self.weights) != n:
            raise self.refused(f"it has {len(self.weights)} weights in the file, and needs {n}")
        return self.weights

    def refused(self, why: str) -> BadInputError:
        return refused(
            f"The Keras layer {self.kind} ({self.name}) cannot be imported: {why}.",
            "Change the layer and save the model again, or bring it as a package with model.py.",
            code="unknown_layer",
        )

    def each(self, name: str, default: Any = 1) -> list[int]:
        """A number for each axis of a window; one number counts for all."""
        given = self.config.get(name, default)
        return [int(given)] * (self.rank - 2) if isinstance(given, int) else [int(n) for n in given]
