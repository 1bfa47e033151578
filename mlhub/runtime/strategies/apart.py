"""Workers that train apart and mix their models from time to time: averaging, block momentum, gossip."""

from __future__ import annotations

import time

import torch
import torch.distributed as dist
from torch import nn

from mlhub.runtime.checkpoints import Checkpoint
from mlhub.runtime.strategies import flat
from mlhub.runtime.strategies.grouped import Grouped
from mlhub.runtime.strategies.mixing import BlockMomentum, block_momentum_for, peers
from mlhub.runtime.strategies.protocol import Course, Losses, Meeting, StepResult


class Apart(Grouped):
    """Each worker steps by its own optimiser on its part of the batch. Before a meeting all models are averaged."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: Course
    ) -> nn.Module:
        self.join(model, optimizer, resume=resume, course=course)
        self.weights, self.gradient = flat.flatten(flat.trained(model))
        self.n_bytes = 0.0
        if self.n_workers > 1:
            dist.broadcast(self.weights, 0)
        return model

    def step(self, losses: Losses, *, n: int) -> StepResult:  # noqa: ARG002 (the protocol's signature)
        self.gradient.zero_()
        told = 0.0
        for loss, share in losses:
            # so that averages over workers weigh by examples, as if the batch were one
            torch.autograd.backward(loss * (share * self.n_workers))
            told += float(loss.detach()) * share
        flat.clip(self.gradient, self.course.clip_norm)
        self.n_bytes = 0.0
        before_s = self.before_step()
        self.scheduled.set(self.done)
        self.optimizer.step()
        return self.told(told, before_s + self.after_step(), n_bytes=self.n_bytes)

    def before_step(self) -> float:
        """Mixes before the optimiser's step; returns the seconds it took."""
        return 0.0

    def after_step(self) -> float:
        """Mixes after it."""
        return 0.0

    def gather(self, meeting: Meeting) -> None:  # noqa: ARG002 (the signature of Lockstep)
        self.average(self.weights)

    def average(self, vector: torch.Tensor) -> float:
        if self.n_workers == 1:
            return 0.0
        began = time.perf_counter()
        dist.all_reduce(vector)
        vector /= self.n_workers
        self.n_bytes += 2.0 * vector.nbytes * (self.n_workers - 1) / self.n_workers
        return time.perf_counter() - began


class Averaging(Apart):
    """Local SGD: models are averaged every `period` steps, after `warmup_steps` of averaged gradients."""

    def before_step(self) -> float:
        return self.average(self.gradient) if self.done < self.spec.parameters["warmup_steps"] else 0.0

    def after_step(self) -> float:
        is_due = (self.done + 1) % self.spec.parameters["period"] == 0
        return self.average(self.weights) if is_due and self.done >= self.spec.parameters["warmup_steps"] else 0.0


class BlockMomentumAveraging(Apart):
    """BMUF: what a block of `period` steps changed on average goes on with momentum."""

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: Course
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, course=course)
        given = self.spec.parameters
        momentum = given["momentum"] if given["momentum"] >= 0 else block_momentum_for(self.n_workers)
        self._block = BlockMomentum(self.weights.clone(), momentum, given["rate"], given["nesterov"])
        self._n_steps = 0
        return out

    def after_step(self) -> float:
        self._n_steps += 1
        if self._n_steps < self.spec.parameters["period"]:
            return 0.0
        return self._conclude()

    def gather(self, meeting: Meeting) -> None:  # noqa: ARG002
        """A meeting ends the block; it looks at the model without the leap ahead."""
        if self._n_steps:
            self._conclude()
        self.weights.copy_(self._block.land())

    def _conclude(self) -> float:
        self._n_steps = 0
        sync_s = self.average(self.weights)
        self.weights.copy_(self._block.conclude(self.weights))
        return sync_s


class Gossip(Apart):
    """D-PSGD: a worker mixes with its neighbours only, then makes its step. Source: Lian et al., NIPS '17."""

    def before_step(self) -> float:
        period = self.spec.parameters["period"]
        if self.n_workers == 1 or (self.done + 1) % period:
            return 0.0
        began = time.perf_counter()
        topology, exchange = self.spec.parameters["topology"], self.done // period
        near = peers(topology, rank=self.rank, n_workers=self.n_workers, exchange=exchange)
        theirs = [torch.empty_like(self.weights) for _ in near]
        mine = self.weights.clone()
        asked = [dist.P2POp(dist.isend, mine, peer) for peer in near]
        asked += [dist.P2POp(dist.irecv, room, peer) for room, peer in zip(theirs, near, strict=True)]
        for work in dist.batch_isend_irecv(asked):
            work.wait()
        for other in theirs:
            self.weights += other
        self.weights /= len(near) + 1
        self.n_bytes += float(len(near) * mine.nbytes)
        return time.perf_counter() - began
