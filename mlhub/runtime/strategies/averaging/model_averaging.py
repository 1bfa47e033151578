"""Workers that train apart and mix their models from time to time: averaging, block momentum."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn

from mlhub.runtime.checkpoints.step_folders import Checkpoint
from mlhub.runtime.strategies.averaging.mixing import BlockMomentum, block_momentum_for
from mlhub.runtime.strategies.protocol import Barrier, Losses, StepResult, TrainingPosition
from mlhub.runtime.strategies.toolkit import flat_parameters
from mlhub.runtime.strategies.toolkit.gradient_accumulation import accumulate
from mlhub.runtime.strategies.toolkit.process_group import ProcessGroupStrategy
from mlhub.runtime.strategies.toolkit.residual import ErrorFeedbackResidual


class ModelAveraging(ProcessGroupStrategy):
    """Each worker steps by its own optimiser on its part of the batch. Before a meeting all models are averaged.

    In the first `warmup_steps`, of strategies that have them, gradients are averaged instead, as by all-reduce.
    """

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        self.join(model, optimizer, resume=resume, course=course)
        self.named, self.debt = flat_parameters.trained(model), ErrorFeedbackResidual.of(resume)
        self.weights, self.gradient = flat_parameters.flatten(self.named)
        self.n_sent, self.n_received = 0.0, 0.0
        if self.n_workers > 1:
            dist.broadcast(self.weights, 0)
        return model

    def step(self, losses: Losses, *, n: int) -> StepResult:
        self.n_sent, self.n_received = 0.0, 0.0
        self.start_exchange()
        told = self.differentiate(losses, n=n)
        self.course.pulse.beat("sync")
        self.clip()
        is_warm = self.done < self.spec.parameters.get("warmup_steps", 0)
        before_s = self.average(self.gradient) if is_warm else self.before_step()
        self.scheduled.set(self.done)
        self.optimizer.step()
        if is_warm:
            self.warmed_up()
        after_s = 0.0 if is_warm else self.after_step()
        return self.told(told, before_s + after_s, n_bytes=self.n_sent, n_received=self.n_received)

    def differentiate(self, losses: Losses, *, n: int) -> float:
        """Into self.gradient; returns the sum of losses by their shares."""
        self.gradient.zero_()
        # scaled so that averages over workers weigh by examples, as if the batch were one
        told, _ = accumulate(losses, lambda: [self.gradient], self.gauge, n=n, scale=float(self.n_workers))
        return told

    def clip(self) -> None:
        """The gradient that counts; and adds to it what an earlier attempt left out."""
        flat_parameters.clip(self.gradient, self.course.clip_norm)
        if self.debt:
            self.debt.pay((name, 0, p.grad) for name, p in self.named)
            self.debt.settle()

    def start_exchange(self) -> None:
        """Sends what can travel while the gradient is computed."""

    def warmed_up(self) -> None:
        """After a step of all-reduce: all models are alike, and what follows begins here."""

    def before_step(self) -> float:
        """Mixes before the optimiser's step; returns the seconds it took."""
        return 0.0

    def after_step(self) -> float:
        """Mixes after it."""
        return 0.0

    def gather(self, meeting: Barrier) -> None:  # noqa: ARG002 (the signature of Lockstep)
        self.average(self.weights)

    def exchange(self, vector: torch.Tensor, *, to: Sequence[int], of: Sequence[int]) -> Exchange:
        """Sends a copy of the vector to some workers, and expects as much of others."""
        self.n_sent += float(len(to) * vector.nbytes)
        self.n_received += float(len(of) * vector.nbytes)
        return Exchange(vector.clone(), to, of)

    def average(self, vector: torch.Tensor) -> float:
        if self.n_workers == 1:
            return 0.0
        began = time.perf_counter()
        dist.all_reduce(vector)
        vector /= self.n_workers
        n_bytes = 2.0 * vector.nbytes * (self.n_workers - 1) / self.n_workers
        self.n_sent, self.n_received = self.n_sent + n_bytes, self.n_received + n_bytes
        return time.perf_counter() - began


class Exchange:
    """Vectors under way: posted all at once, so that nobody waits for somebody who waits for him."""

    def __init__(self, mine: torch.Tensor, to: Sequence[int], of: Sequence[int]) -> None:
        self.mine = mine
        self._theirs = [torch.empty_like(mine) for _ in of]
        asked = [dist.P2POp(dist.isend, mine, peer) for peer in to]
        asked += [dist.P2POp(dist.irecv, room, peer) for room, peer in zip(self._theirs, of, strict=True)]
        self._works = dist.batch_isend_irecv(asked) if asked else []

    def wait(self) -> list[torch.Tensor]:
        """What came, in the order of `of`."""
        for work in self._works:
            work.wait()
        return self._theirs


class Averaging(ModelAveraging):
    """Local SGD: models are averaged every `period` steps, after `warmup_steps` of averaged gradients."""

    def after_step(self) -> float:
        is_due = (self.done + 1) % self.spec.parameters["period"] == 0
        return self._come_together() if is_due else 0.0

    def gather(self, meeting: Barrier) -> None:  # noqa: ARG002
        self._come_together()

    def _come_together(self) -> float:
        sync_s = self.average(self.weights)
        sizes = {p: p.numel() for _, p in self.named} if self.spec.parameters["average_state"] else {}
        states = [
            value
            for parameter, size in sizes.items()
            for value in self.optimizer.state.get(parameter, {}).values()
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dim() and value.numel() == size
        ]
        if states:
            together = torch.cat([state.reshape(-1) for state in states])
            sync_s += self.average(together)
            for state, part in zip(states, torch.split(together, [s.numel() for s in states]), strict=True):
                state.copy_(part.view_as(state))
        return sync_s


class BlockMomentumAveraging(ModelAveraging):
    """BMUF: what a block of `period` steps changed on average goes on with momentum."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, course=course)
        given = self.spec.parameters
        momentum = given["momentum"] if given["momentum"] >= 0 else block_momentum_for(self.n_workers)
        self._block = BlockMomentum(self.weights.clone(), momentum, given["rate"], given["nesterov"])
        self._n_steps = 0
        return out

    def warmed_up(self) -> None:
        self._block.begin(self.weights)

    def after_step(self) -> float:
        self._n_steps += 1
        if self._n_steps < self.spec.parameters["period"]:
            return 0.0
        return self._conclude()

    def gather(self, meeting: Barrier) -> None:  # noqa: ARG002
        """A meeting ends the block; it looks at the model without the leap ahead."""
        if self._n_steps:
            self._conclude()
        self.weights.copy_(self._block.land())

    def _conclude(self) -> float:
        self._n_steps = 0
        sync_s = self.average(self.weights)
        self.weights.copy_(self._block.conclude(self.weights))
        for _, parameter in self.named if self.spec.parameters["reset_momentum"] else ():
            momentum = self.optimizer.state.get(parameter, {}).get("momentum_buffer")
            if momentum is not None:  # SGD's
                momentum.zero_()
        return sync_s
