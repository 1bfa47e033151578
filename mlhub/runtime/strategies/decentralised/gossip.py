"""Decentralised training: each worker speaks with few others, and models agree in the long run."""

from __future__ import annotations

import math
import time

import torch
import torch.distributed as dist
from torch import nn

from mlhub.runtime.checkpoints.step_folders import Checkpoint
from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.strategies.averaging import mixing
from mlhub.runtime.strategies.averaging.model_averaging import Exchange, ModelAveraging
from mlhub.runtime.strategies.decentralised import peer_selection
from mlhub.runtime.strategies.protocol import Barrier, TrainingPosition

TOLERANCE = 1e-3  # of a sum of shares in 32 bits


class _Periodic(ModelAveraging):
    @property
    def index(self) -> int | None:
        """Which exchange this step holds; None: it holds none."""
        period = self.spec.parameters["period"]
        return None if self.n_workers == 1 or (self.done + 1) % period else self.done // period

    @property
    def seed(self) -> int:
        return self.pod.spec.training.seed


class Gossip(_Periodic):
    """D-PSGD: a worker mixes with its neighbours only, then makes its step. Source: Lian et al., NIPS '17."""

    def before_step(self) -> float:
        index = self.index
        if index is None:
            return 0.0
        began = time.perf_counter()
        topology = self.spec.parameters["topology"]
        near = mixing.peers(topology, rank=self.rank, n_workers=self.n_workers, exchange=index)
        for other in self.exchange(self.weights, to=near, of=near).wait():
            self.weights += other
        self.weights /= len(near) + 1
        return time.perf_counter() - began


class RandomGossip(_Periodic):
    """AD-PSGD: each worker and a random partner meet half-way, while they compute. Source: Lian et al., ICML '18.

    Deviation: partners are drawn step by step from the job's seed, so that a worker waits for its partner, and a
    training can be repeated; in the paper a worker averages with whoever it reaches, at whatever step that one is.
    """

    def start_exchange(self) -> None:
        self._under_way: Exchange | None = None
        index = self.index
        if index is None:
            return
        partner = peer_selection.pairs(seed=self.seed, exchange=index, n_workers=self.n_workers)[self.rank]
        if partner != self.rank:
            self._under_way = self.exchange(self.weights, to=[partner], of=[partner])

    def before_step(self) -> float:
        if self._under_way is None:
            return 0.0
        began = time.perf_counter()
        (theirs,) = self._under_way.wait()
        self.weights.add_(theirs).div_(2.0)
        return time.perf_counter() - began


class PushSumGossip(_Periodic):
    """SGP: everyone sends one way only, and what it holds is weighed by y: the model is x / y. Assran et al., ICML '19.

    Each sends equal parts to workers one and more powers of two ahead, another power at every exchange. The sum of all
    y is the number of workers for ever; where it is not, something was lost on the way.
    """

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, course=course)
        self._y = 1.0
        return out

    def before_step(self) -> float:
        self.weights *= self._y  # the step is made on x, by a gradient at x / y
        return 0.0

    def after_step(self) -> float:
        began, index = time.perf_counter(), self.index
        if index is not None:
            hops = self._hops(index)
            state = mixing.PushSum(self.weights, self._y)
            x, y = state.send(len(hops))
            sent = torch.cat([x, x.new_tensor([y])])
            to, of = ([(self.rank + sign * hop) % self.n_workers for hop in hops] for sign in (1, -1))
            for theirs in self.exchange(sent, to=to, of=of).wait():
                state.receive(theirs[:-1], float(theirs[-1]))
            self.weights.copy_(state.x)
            self._y = state.y
        self.weights /= self._y
        return time.perf_counter() - began

    def gather(self, meeting: Barrier) -> None:
        """Raises PeerLostError when the sum of all y is not what it was."""
        (total,) = self.total([self._y])
        if abs(total - self.n_workers) > TOLERANCE * self.n_workers:
            raise PeerLostError(f"Weights were lost between workers: the sum of y is {total}, not {self.n_workers}.")
        self.weights *= self._y
        super().gather(meeting)
        self._y = 1.0

    def _hops(self, index: int) -> list[int]:
        n_hops = max(1, math.ceil(math.log2(self.n_workers)))
        n_peers = min(self.spec.parameters["n_peers"], n_hops)
        return [2 ** ((index + i) % n_hops) for i in range(n_peers)]


class GoSgd(ModelAveraging):
    """Now and then a worker sends its model and half of its share to a random other one. Blot et al., 2016.

    The shares' sum stays 1, and so does the mean of models by their shares, which is the model at a meeting.
    """

    def prepare(
        self, model: nn.Module, optimizer: torch.optim.Optimizer, *, resume: Checkpoint | None, course: TrainingPosition
    ) -> nn.Module:
        out = super().prepare(model, optimizer, resume=resume, course=course)
        self._state = mixing.SharedMean(self.weights, 1.0 / self.n_workers)
        return out

    def after_step(self) -> float:
        began, state = time.perf_counter(), self._state
        drawn = peer_selection.senders(
            seed=self.pod.spec.training.seed,
            exchange=self.done,
            n_workers=self.n_workers,
            probability=self.spec.parameters["probability"],
        )
        receiver = drawn[self.rank]
        of = [rank for rank, to in enumerate(drawn) if to == self.rank]
        if receiver is None and not of:
            return 0.0
        share = state.share if receiver is None else state.send()
        sent = torch.cat([self.weights, self.weights.new_tensor([share])])
        for theirs in self.exchange(sent, to=[] if receiver is None else [receiver], of=of).wait():
            state.receive(theirs[:-1], float(theirs[-1]))
        return time.perf_counter() - began

    def gather(self, meeting: Barrier) -> None:  # noqa: ARG002
        if self.n_workers == 1:
            return
        self.weights *= self._state.share
        dist.all_reduce(self.weights)
        self.weights /= self.total([self._state.share])[0]
        self._state.share = 1.0 / self.n_workers
