"""What the training loop asks of a strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints.step_folders import Checkpoint
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.optimization.gradient_noise import Sample
from mlhub.runtime.optimization.learning_rates import Rates


@dataclass(frozen=True)
class ControlFlags:
    """What one worker, or the gang together, wants to do before the next step."""

    stop: bool = False
    checkpoint: bool = False


@dataclass(frozen=True)
class Batch:
    """Train on part `part` of `parts` of the batch of step `step`."""

    step: int
    part: int
    parts: int


@dataclass(frozen=True)
class Barrier:
    """All workers are here with the same weights, and every step below `step` is done.

    rank and n_members: of this worker among those who are left.
    """

    step: int
    agreed: ControlFlags
    rank: int
    n_members: int

    @property
    def saves(self) -> bool:
        """Whether a checkpoint may be written here."""
        return self.agreed.checkpoint or self.agreed.stop


@dataclass(frozen=True)
class TrainingPosition:
    """The training ahead. Clipping is done once, by whoever holds the gradient that counts."""

    steps: int
    steps_per_epoch: int
    start: int = 0
    rates: Rates = field(default_factory=lambda: Rates(steps=1))
    clip_norm: float | None = None
    scales_loss: bool = False  # half precision has no small numbers: gradients are computed enlarged
    pulse: Heartbeat = field(default_factory=lambda: Heartbeat(None))  # to be told "sync" before waiting for others


@dataclass(frozen=True)
class StepResult:
    """loss: mean over the batch, None when not shared at this step. sync_s: seconds that the step waited for others;
    wait_s: of these, before anything came from them, or of steps before, too, where it is found out now and then.
    bytes: what this worker sent and received. noise: at some steps."""

    loss: float | None
    sync_s: float
    bytes_sent: float = 0.0
    bytes_received: float = 0.0
    wait_s: float = 0.0
    noise: Sample | None = None


class Losses(Protocol):
    """Of the micro-batches, each computed when asked for, with its share of the step's batch (microbatches.py)."""

    def __iter__(self) -> Iterator[tuple[Tensor, float]]: ...

    def __next__(self) -> tuple[Tensor, float]: ...

    def whole(self) -> tuple[Any, Tensor]:
        """Instead: inputs and targets of all of them together."""

    @property
    def share(self) -> float:
        """Of all of them together in the step's batch."""

    @property
    def loss(self) -> Callable[[Any, Tensor], Tensor]:
        """Outputs and targets to the mean loss."""

    def precision(self) -> AbstractContextManager[object]:
        """In which the model computes."""


class Strategy(Protocol):
    """One worker's side."""

    @property
    def is_lockstep(self) -> bool:
        """Whether calls come in the same order on every worker, none of which may be missing."""

    def device(self) -> torch.device: ...

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        """Joins the gang; afterwards all workers have the same weights. Returns the module to call.

        Raises GangTimeoutError, PeerLostError, BadInputError (an optimiser that this strategy cannot run).
        """

    def next(self, wishes: ControlFlags) -> Batch | Barrier:
        """What to do now. Raises PeerLostError."""

    def step(self, losses: Losses, *, n: int) -> StepResult:
        """Learns from the batch of the last next(): n micro-batches. Raises PeerLostError."""

    def total(self, values: Sequence[float]) -> list[float]:
        """Sums over all workers of the meeting, the same everywhere."""

    def average_buffers(self, model: nn.Module) -> None:
        """Makes running statistics alike; called in meetings."""

    @property
    def member(self) -> int:
        """Which of several models this worker trains; 0: the one. Added to the seed of weights and dropout."""

    @property
    def order(self) -> int:
        """Added to the seed of the order of examples."""

    def predictor(self, model: nn.Module) -> Callable[..., Any]:
        """What is evaluated, with inputs to outputs: the model, mostly. Called in meetings, by all."""

    def further_weights(self) -> dict[str, Tensor]:
        """What belongs to the trained model beside the state of rank 0's."""

    @property
    def n_parts(self) -> int:
        """How many workers, from rank 0 on, hold a part of what a checkpoint needs beside the weights."""

    def save_optimizer(self) -> Saving:
        """Of each that holds a part, in a meeting: copies the optimiser's state now, writes it when asked."""

    def close(self) -> None:
        """Leaves the gang in good order."""


class Saving(Protocol):
    def write(self, folder: Path) -> None:
        """Writes what was copied into the folder; may run in another thread while training goes on.

        Raises PeerLostError, OSError.
        """


class OneModel:
    """What most strategies say: there is one model, and it is held by rank 0."""

    member = order = 0
    n_parts = 1

    def predictor(self, model: nn.Module) -> Callable[..., Any]:
        return model

    def further_weights(self) -> dict[str, Tensor]:
        return {}


class Lockstep(OneModel):
    """next() for strategies whose workers make every step together: a part of each batch for each worker."""

    is_lockstep = True

    def __init__(self, *, rank: int, n_workers: int) -> None:
        self.rank, self.n_workers = rank, n_workers
        self.wishes = ControlFlags()
        self._meeting: Barrier | None = None

    def begin(self, course: TrainingPosition) -> None:
        self.course, self.done = course, course.start

    def next(self, wishes: ControlFlags) -> Batch | Barrier:
        self.wishes = wishes
        if self._meeting is not None:
            meeting, self._meeting = self._meeting, None
            self.gather(meeting)
            return meeting
        return Batch(self.done, self.rank, self.n_workers)

    def gather(self, meeting: Barrier) -> None:
        """Before a meeting: brings replicas together that have trained apart."""

    def advance(self, agreed: ControlFlags) -> None:
        """A step is done; all workers know the same wishes."""
        self.done += 1
        is_end = self.done % self.course.steps_per_epoch == 0 or self.done == self.course.steps
        if agreed.stop or agreed.checkpoint or is_end:
            self._meeting = Barrier(self.done, agreed, self.rank, self.n_workers)
