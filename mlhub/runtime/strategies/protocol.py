"""What the training loop asks of a strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints import Checkpoint


@dataclass(frozen=True)
class Wishes:
    """What one worker, or the gang together, wants to do before the next step."""

    stop: bool = False
    checkpoint: bool = False


@dataclass(frozen=True)
class StepResult:
    """agreed: the same on every worker after the same step. loss: mean over the global batch, None when not shared
    at this step. sync_s: seconds that the step waited for others. bytes: what this worker sent and received."""

    agreed: Wishes
    loss: float | None
    sync_s: float
    bytes_sent: float = 0.0
    bytes_received: float = 0.0


class Strategy(Protocol):
    """One worker's side. Calls come in the same order on every worker."""

    def device(self) -> torch.device: ...

    def prepare(self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None) -> nn.Module:
        """Joins the gang; afterwards all workers have the same weights. Returns the module to call.

        Raises GangTimeoutError, PeerLostError, BadInputError (an optimiser that this strategy cannot run).
        """

    def step(self, loss: Tensor, *, share: float, wishes: Wishes) -> StepResult:
        """Gradient of the global batch's mean loss, and one optimiser step everywhere.

        loss: mean over this worker's examples. share: their number over the global batch's.
        Raises PeerLostError.
        """

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over all workers, the same everywhere."""

    def average_buffers(self, model: nn.Module) -> None:
        """Makes running statistics alike; called before evaluations and checkpoints."""

    def save_optimizer(self, folder: Path) -> Saving:
        """Rank 0 only: copies the optimiser's state now, writes it when asked."""

    def close(self) -> None:
        """Leaves the gang in good order."""


class Saving(Protocol):
    def write(self) -> None:
        """Writes what was copied; may run in another thread while training goes on. Raises PeerLostError, OSError."""
