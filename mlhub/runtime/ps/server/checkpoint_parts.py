# SPDX-License-Identifier: Apache-2.0
"""A shard's part of a checkpoint: its optimiser's state, copied between two steps and written during training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from mlhub.runtime.checkpoints.optimizer_state import EMPTY_STATE, RESIDUAL_STATE
from mlhub.runtime.checkpoints.step_folders import write_tensors
from mlhub.runtime.ps.embedding_tables import EmbeddingTable
from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.server.weights.chunks import Chunk


class Snapshots:
    """residuals: by worker, what its compressed pushes left out so far; goes into the next snapshot."""

    def __init__(self) -> None:
        self.residuals: dict[int, Tensor] = {}
        self._taken: dict[str, Tensor] = {}

    def take(self, plan: ShardPlan, chunks: Sequence[Chunk], tables: Sequence[EmbeddingTable], *, version: int) -> None:
        """Copies; call it between steps."""
        taken: dict[str, Tensor] = {}
        for chunk in chunks:
            taken |= chunk.collect()
        for table in tables:
            taken |= table.collect(n_steps=version)
        for worker, values in self.residuals.items():
            for s in plan.segments:
                taken[f"{s.parameter}|{RESIDUAL_STATE}{worker}|{s.start}"] = values[s.offset : s.offset + s.length]
        self.residuals = {}
        self._taken = taken

    def write(self, path: Path) -> None:
        """What was taken last."""
        taken, self._taken = self._taken, {}
        write_tensors(path, taken or {EMPTY_STATE: torch.zeros(1)})
