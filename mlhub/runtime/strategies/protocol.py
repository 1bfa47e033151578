# SPDX-License-Identifier: Apache-2.0
"""The interface between the training loop and a strategy, and what most strategies share of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints.step_folders import StepCheckpoint
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.optimization.gradient_noise import NoiseSample
from mlhub.runtime.optimization.learning_rates import LearningRates


@dataclass(frozen=True)
class ControlFlags:
    """What one worker, or the gang by agreement, is to do before the next step."""

    stop: bool = False
    checkpoint: bool = False


@dataclass(frozen=True)
class Batch:
    """An order to train on part `part` of `parts` of the batch of step `step`.

    length: how many declared batches are this one, from that of the step on. passes: in how many its part is computed.
    """

    step: int
    part: int
    parts: int
    length: int = 1
    passes: int = 1


@dataclass(frozen=True)
class Barrier:
    """All workers are here with the same weights, and every step below `step` is done.

    agreed: the flags on which the gang agreed. rank and n_members: of this worker among those who are left.
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
class TrainingPlan:
    """The steps ahead, from `start` (included) to `steps`, and how each is made.

    clip_norm: the longest gradient; clipping is done once, where the gradient of the whole batch is known.
    scales_loss: losses are scaled up, since half precision has no small numbers.
    heartbeat: to be set to "sync" before a worker waits for others.
    """

    steps: int
    steps_per_epoch: int
    start: int = 0
    rates: LearningRates = field(default_factory=lambda: LearningRates(steps=1))
    clip_norm: float | None = None
    scales_loss: bool = False
    heartbeat: Heartbeat = field(default_factory=lambda: Heartbeat(None))


@dataclass(frozen=True)
class StepResult:
    """What a step gave and what it cost.

    loss: mean over the batch; None when it was not shared at this step. sync_s: seconds that the step spent on the
    exchange with others; wait_s: those of them before the others were ready (of several steps, where it is measured
    now and then). bytes_*: of this worker. noise: a sample for the gradient noise scale, at some steps.
    """

    loss: float | None
    sync_s: float
    bytes_sent: float = 0.0
    bytes_received: float = 0.0
    wait_s: float = 0.0
    noise: NoiseSample | None = None


class Losses(Protocol):
    """The losses of a step's micro-batches with their shares of the batch, each computed when it is asked for."""

    def __iter__(self) -> Iterator[tuple[Tensor, float]]: ...

    def __next__(self) -> tuple[Tensor, float]: ...

    def whole(self) -> tuple[Any, Tensor]:
        """Inputs and targets of all micro-batches together, for strategies that compute the loss themselves."""

    @property
    def share(self) -> float:
        """The fraction of the step's batch that all these micro-batches are."""

    @property
    def loss(self) -> Callable[[Any, Tensor], Tensor]:
        """The function of outputs and targets that gives the mean loss."""

    def precision(self) -> AbstractContextManager[object]:
        """The precision in which the model computes."""


class OptimizerSnapshot(Protocol):
    """A copy of an optimiser's state that can be written while training continues."""

    def write(self, folder: Path) -> None:
        """Writes the copy into the folder; may run in another thread. Raises PeerLostError, OSError."""


class Strategy(Protocol):
    """One worker's side of a strategy. The loop calls prepare() once, then next() and step() in turn."""

    @property
    def is_lockstep(self) -> bool:
        """Whether every worker makes the same calls in the same order, so that none may be missing."""

    def device(self) -> torch.device: ...

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: StepCheckpoint | None, plan: TrainingPlan
    ) -> nn.Module:
        """Joins the gang; afterwards all workers have the same weights. Returns the module to call.

        Raises GangTimeoutError, PeerLostError, BadInputError (an optimiser that this strategy cannot run).
        """

    def next(self, flags: ControlFlags) -> Batch | Barrier:
        """Returns what to do now. Raises PeerLostError."""

    def length_at(self, step: int) -> int:
        """How many declared batches make the batch of a step."""

    def step(self, losses: Losses, *, n: int) -> StepResult:
        """Trains on the batch of the last next(), which has n micro-batches. Raises PeerLostError."""

    def sum_over_workers(self, values: Sequence[float]) -> list[float]:
        """Sums each value over all workers at a barrier; the result is the same on all of them."""

    def average_buffers(self, model: nn.Module) -> None:
        """Averages running statistics over the workers; called at barriers."""

    @property
    def member(self) -> int:
        """The index of this worker's model where there are several, else 0; added to the seed of weights."""

    @property
    def order(self) -> int:
        """A number added to the seed of the order of examples."""

    def predictor(self, model: nn.Module) -> Callable[..., Any]:
        """The function to evaluate, from inputs to outputs; mostly the model itself. Called at barriers, by all."""

    def extra_weights(self) -> dict[str, Tensor]:
        """Tensors that belong to the trained model in addition to the state of rank 0's."""

    @property
    def n_parts(self) -> int:
        """How many workers, from rank 0 on, hold a part of what a checkpoint needs in addition to the weights."""

    def save_optimizer(self) -> OptimizerSnapshot:
        """Copies the optimiser's state at a barrier; called by each worker that holds a part."""

    def close(self) -> None:
        """Leaves the gang in good order."""


class SingleModel:
    """Defaults for strategies that train one model, which rank 0 holds whole."""

    member = order = 0
    n_parts = 1

    def length_at(self, step: int) -> int:  # noqa: ARG002 (some strategies' batches grow)
        return 1

    def predictor(self, model: nn.Module) -> Callable[..., Any]:
        return model

    def extra_weights(self) -> dict[str, Tensor]:
        return {}


class LockstepStrategy(SingleModel):
    """Implements next() for strategies whose workers make every step together, each on a part of the batch."""

    is_lockstep = True

    def __init__(self, *, rank: int, n_workers: int) -> None:
        self.rank, self.n_workers = rank, n_workers
        self.flags = ControlFlags()
        self.length = self.passes = 1  # as of a Batch; the length is cut at the end of an epoch
        self._barrier: Barrier | None = None

    def begin(self, plan: TrainingPlan) -> None:
        self.plan, self.done = plan, plan.start

    def next(self, flags: ControlFlags) -> Batch | Barrier:
        self.flags = flags
        if self._barrier is not None:
            barrier, self._barrier = self._barrier, None
            self.before_barrier(barrier)
            return barrier
        return Batch(self.done, self.rank, self.n_workers, self.length_at(self.done), self.passes)

    def length_at(self, step: int) -> int:
        return min(self.length, self.plan.steps_per_epoch - step % self.plan.steps_per_epoch)

    def before_barrier(self, barrier: Barrier) -> None:
        """Makes replicas alike that differ between barriers."""

    def finish_step(self, agreed: ControlFlags) -> None:
        """Counts the declared steps that were made.

        A barrier follows where the gang agreed on one, after each epoch, and at the end.
        """
        self.done += self.length_at(self.done)
        is_end = self.done % self.plan.steps_per_epoch == 0 or self.done == self.plan.steps
        if agreed.stop or agreed.checkpoint or is_end:
            self._barrier = Barrier(self.done, agreed, self.rank, self.n_workers)
