"""Workers at their own pace: each takes whole batches (or parts) from a common queue, and nobody waits but to meet."""

from __future__ import annotations

import time
from dataclasses import asdict

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints.step_folders import Checkpoint
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.optimization.learning_rates import Scheduled
from mlhub.runtime.pod import Pod
from mlhub.runtime.ps.client.bounded_delay import BoundedDelayQueue
from mlhub.runtime.ps.leases import Backoff, BatchLease, LeasedWork, WaitAtBarrier
from mlhub.runtime.ps.wire.frames import CHECKPOINT, STOP
from mlhub.runtime.strategies.catalogue.schema import StrategySpec
from mlhub.runtime.strategies.protocol import Barrier, Batch, ControlFlags, Losses, StepResult, TrainingPosition
from mlhub.runtime.strategies.synchronous.parameter_server import Connected


class Asynchronous(Connected):
    """ASP, SSP, soft-sync, first k of n: every gradient is pushed at once; the servers' rule does the rest."""

    is_lockstep = False

    def __init__(self, pod: Pod, spec: StrategySpec) -> None:
        super().__init__(pod, spec)
        self.parts = int(spec.parameters.get("group", spec.parameters.get("k", 1)))

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        warmup = int(self.spec.parameters.get("warmup_steps", 0))
        work = BatchLease(course.steps, course.steps_per_epoch, self.parts, start=course.start, warmup_steps=warmup)
        self.connect(model, optimizer, resume=resume, course=course, work=asdict(work))
        self.optimizer = optimizer
        return model

    def next(self, wishes: ControlFlags) -> Batch | Barrier:
        self.course.pulse.beat("sync")
        flags = STOP * wishes.stop | CHECKPOINT * wishes.checkpoint
        order: LeasedWork | Backoff | WaitAtBarrier = self.client.ask(flags=flags, n_under_way=self.n_under_way)
        if isinstance(order, Backoff):
            self.flush()
            order = self.client.attend()
        if isinstance(order, LeasedWork):
            self.current = order.step
            return Batch(order.step, order.part, self.parts)
        assert isinstance(order, WaitAtBarrier)
        self.n_members = len(order.members)
        rank = order.members.index(self.pod.spec.index)
        meeting = Barrier(order.step, ControlFlags(order.stop, order.checkpoint), rank, self.n_members)
        self.gather(meeting)
        return meeting

    def step(self, losses: Losses, *, n: int) -> StepResult:
        loss, weight = self.differentiate(losses, n=n)
        began = time.perf_counter()
        self.client.exchange(weight=weight)
        return self.exchanged(loss / weight if weight else None, began)

    @property
    def n_under_way(self) -> int:
        """Pushes that this worker does not know to have arrived."""
        return 0

    def flush(self) -> None:
        """Before this worker rests: pushes what it has not pushed yet."""

    def gather(self, meeting: Barrier) -> None:
        """Everybody has flushed: the servers' weights are the model."""
        self.client.pull()
        self.settle(meeting)


class BoundedDelay(Asynchronous):
    """ASP whose workers compute while their last exchanges are under way, `max_outstanding` of them at most.

    Source: Li et al., OSDI '14, sec. 3.4.
    """

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, course=course)
        self._pipeline = BoundedDelayQueue(
            self.client, self.weights, max_outstanding=self.spec.parameters["max_outstanding"]
        )
        return out

    @property
    def n_under_way(self) -> int:
        return self._pipeline.n_under_way

    def step(self, losses: Losses, *, n: int) -> StepResult:
        loss, weight = self.differentiate(losses, n=n)
        began = time.perf_counter()
        self._pipeline.push(self.gradient, weight=weight)
        return self.exchanged(loss / weight if weight else None, began)

    def flush(self) -> None:
        self._pipeline.drain()

    def close(self) -> None:
        if hasattr(self, "_pipeline"):
            self._pipeline.close()
        super().close()


class Downpour(Asynchronous):
    """Gradients are summed over n_push steps and weights fetched every n_fetch; in between a local step of plain SGD.

    Source: Dean et al., NIPS '12.
    """

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, course=course)
        self._sum, self._n_summed, self._n_steps = torch.zeros_like(self.gradient), 0, 0
        groups = [{"params": g["params"], "lr": float(g["lr"])} for g in optimizer.param_groups]
        self._local = torch.optim.SGD(groups)
        return out

    def step(self, losses: Losses, *, n: int) -> StepResult:
        loss, _ = self.differentiate(losses, n=n)
        began = time.perf_counter()
        self._n_steps += 1
        self._n_summed += 1
        self._sum.add_(self.gradient)
        pushes = self._n_steps % self.spec.parameters["n_push"] == 0
        fetches = self._n_steps % self.spec.parameters["n_fetch"] == 0
        if pushes and fetches:
            self.client.exchange(self._sum)
            self._forget()
        elif fetches:
            self.client.pull()
        else:
            if pushes:
                self.flush()
            self._local.step()
        return self.exchanged(loss, began, pushes=int(pushes), pulls=int(fetches))

    def flush(self) -> None:
        if self._n_summed:
            self.client.push(self._sum)
            self._forget()

    def _forget(self) -> None:
        self._sum.zero_()
        self._n_summed = 0


class Windowed(Asynchronous):
    """Workers train alone, by the user's optimiser, and exchange every `window` steps: ADAG, DynSGD, EASGD.

    Sources: Hermans, 2017 (ADAG); Jiang et al., SIGMOD '17; Zhang, Choromanska and LeCun, NIPS '15 (EASGD).
    """

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, course=course)
        self._began_at, self._n_steps = self.weights.clone(), 0
        self._own: Tensor | None = None
        self._scheduled = Scheduled(optimizer.param_groups, course.rates)
        _with_momentum(optimizer, self.spec.parameters.get("momentum", 0.0))
        return out

    def next(self, wishes: ControlFlags) -> Batch | Barrier:
        if self._own is not None:
            self.weights.copy_(self._own)
            self._own = None
        return super().next(wishes)

    def step(self, losses: Losses, *, n: int) -> StepResult:
        loss, _ = self.differentiate(losses, n=n)
        began = time.perf_counter()
        self._scheduled.set(self.current)
        self.optimizer.step()
        self._n_steps += 1
        if self._n_steps < self.spec.parameters["window"]:
            return self.exchanged(loss, began, pushes=0, pulls=0)
        began = time.perf_counter()
        self.flush()
        return self.exchanged(loss, began)

    def flush(self) -> None:
        if not self._n_steps:
            return
        if self.spec.name == "easgd":
            self.client.exchange(self.weights)
        else:
            way = self.weights - self._began_at
            if self.spec.name == "adag":
                way /= self._n_steps
            self.client.exchange(way)
            self._began_at.copy_(self.weights)
        self._n_steps = 0

    def gather(self, meeting: Barrier) -> None:
        """An elastic worker keeps its own weights for after the meeting, which is about the centre."""
        if self.spec.name == "easgd":
            self._own = self.weights.clone()
        super().gather(meeting)
        self._began_at.copy_(self.weights)


def _with_momentum(optimizer: torch.optim.Optimizer, momentum: float) -> None:
    """EAMSGD is EASGD with Nesterov momentum in each worker."""
    if not momentum:
        return
    if not isinstance(optimizer, torch.optim.SGD):
        raise BadInputError(
            f"The optimiser {type(optimizer).__name__} cannot be given Nesterov momentum.",
            field="strategy.momentum",
            remedy='Train with the hyperparameter "optimizer": "sgd", or leave momentum out.',
        )
    for group in optimizer.param_groups:
        group["momentum"], group["nesterov"] = momentum, True
