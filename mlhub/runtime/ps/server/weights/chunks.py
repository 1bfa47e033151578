# SPDX-License-Identifier: Apache-2.0
"""A shard cut into chunks of a megabyte, each with its own optimiser: one is updated while the next is on its way."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from mlhub.runtime.checkpoints.optimizer_state import MergedState, ParameterSlice, collect, restore
from mlhub.runtime.optimization import learning_rates
from mlhub.runtime.optimization.learning_rates import LearningRateScheduler
from mlhub.runtime.ps import rules
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS, ShardPlan
from mlhub.runtime.ps.rules import Rule
from mlhub.runtime.ps.server.weights.staleness import (
    MEAN_SQUARE_DECAY,
    SCALES,
    compensate,
    compensate_adaptively,
    gupta,
)
from mlhub.runtime.ps.server.weights.updates import AddDelta, Elastic, GradientStep, PlainStep, ShardUpdate
from mlhub.runtime.ps.wire.request_numbers import was_received

FUSED = ("SGD", "Adam", "AdamW", "Adagrad")  # torch has one kernel for their whole step


class ChunkCopy(NamedTuple):
    """tensors: weights and state, by name. used: by worker, the number of its last push that is in them."""

    tensors: Mapping[str, Tensor]
    used: Mapping[int, int]


class Chunk:
    """Elements [begin, end) of a shard. newest: every version up to it is in the weights."""

    def __init__(
        self, plan: ShardPlan, weights: Tensor, *, begin: int, end: int, update: ShardUpdate | None = None
    ) -> None:
        """update: unless what the strategy does to weights."""
        self.begin, self.end = begin, end
        self.weights = weights[begin:end]
        self.lock = threading.Lock()
        self.newest = 0
        self._beyond: set[int] = set()
        self._optimizer, self._places = plan.optimizer_for(self.weights, begin=begin, end=end)
        if plan.optimizer in FUSED:
            for group in self._optimizer.param_groups:
                group["fused"] = not (group.get("foreach") or group.get("differentiable"))
        self._scheduled = LearningRateScheduler(self._optimizer.param_groups, learning_rates.from_json(plan.rates))
        self._start = plan.start
        self._update = update or self._update_for(plan.strategy)
        self._strength = _dc_strength(plan.strategy)
        is_adaptive = plan.strategy.get("staleness_scaling") == "dc_adaptive"
        self._decay = float(plan.strategy.get("dc_decay", MEAN_SQUARE_DECAY))
        self._mean_square = torch.zeros_like(self.weights) if is_adaptive else None
        self._backups: dict[int, Tensor] = {}  # by worker: the weights that it was sent last
        self._used: dict[int, int] = {}  # by worker: the highest number of a push that is in the weights
        self._used_before: Mapping[int, int] = {}  # the same, when the server died

    @property
    def owned(self) -> list[ParameterSlice]:
        return [ParameterSlice(place.parameter, place.start, place.tensor) for place in self._places]

    @property
    def returns_pushes(self) -> bool:
        """What a worker pushed goes back to it, changed: it may not be dropped before."""
        return isinstance(self._update, Elastic)

    def collect(self) -> dict[str, Tensor]:
        with self.lock:
            return collect(self._optimizer, self.owned)

    def restore(self, saved: MergedState) -> None:
        restore(self._optimizer, self.owned, saved)

    def has_used(self, worker: int, number: int) -> bool:
        """Whether that push was applied before the server died and is repeated. Within one incarnation none is."""
        return was_received(number, self._used_before.get(worker, 0))

    def copy(self) -> ChunkCopy:
        """Returns a copy of weights and optimiser's state, between two steps."""
        with self.lock:
            tensors = {"weights": self.weights.clone()}
            for index, place in enumerate(self._places):
                for key, value in self._optimizer.state.get(place.tensor, {}).items():
                    tensors[f"{index}/{key}"] = torch.as_tensor(value).detach().clone()
            if self._mean_square is not None:
                tensors["mean square"] = self._mean_square.clone()
            return ChunkCopy(tensors, dict(self._used))

    def restore_copy(self, copy: ChunkCopy, *, version: int) -> None:
        """Continues from a copy. version: of the shard, when it began to be copied."""
        with self.lock:
            for name, value in copy.tensors.items():
                if name == "weights":
                    self.weights.copy_(value)
                elif name == "mean square":
                    self._mean_square = value
                else:
                    index, _, key = name.partition("/")
                    self._optimizer.state[self._places[int(index)].tensor][key] = value
            self._used, self._used_before, self.newest = dict(copy.used), copy.used, version

    def repeat(self, worker: int, number: int, values: Tensor) -> None:
        """Computes what is answered to a push that has_used()."""
        if isinstance(self._update, Elastic) and self.has_used(worker, number):
            with self.lock:
                self._update.repeat(values)

    def apply(self, pushed: Sequence[tuple[int, float, Tensor, int]], *, version: int) -> None:
        """pushed: (worker, scale, values, number) in the order in which they are summed; empty when all were lost.

        What was used already has no effect.
        """
        for worker, _, values, number in pushed:
            self.repeat(worker, number, values)
        with self.lock:
            pushed = [p for p in pushed if not self.has_used(p[0], p[3])]
            if self._strength is not None:
                self._compensate(pushed, strength=self._strength)
            if pushed:
                self._update.apply([(scale, values) for _, scale, values, _ in pushed], version=version)
            for worker, _, _, number in pushed:  # versions, and with them pushes, may come out of turn
                if not was_received(number, self._used.get(worker, 0)):
                    self._used[worker] = number

    def _compensate(self, pushed: Sequence[tuple[int, float, Tensor, int]], *, strength: float) -> None:
        for worker, _, gradient, _ in pushed:
            backup = self._backups.get(worker)
            if backup is None:
                continue
            if self._mean_square is None:
                compensate(gradient, weights=self.weights, backup=backup, strength=strength)
            else:
                compensate_adaptively(
                    gradient, weights=self.weights, backup=backup, strength=strength,
                    mean_square=self._mean_square, decay=self._decay,
                )  # fmt: skip

    def has(self, version: int) -> bool:
        return self.newest >= version or version in self._beyond

    def mark(self, version: int) -> None:
        """This version is in the weights; versions may come out of turn."""
        self._beyond.add(version)
        while self.newest + 1 in self._beyond:
            self.newest += 1
            self._beyond.remove(self.newest)

    def reply(self, worker: int, pushed: Tensor | None) -> Tensor:
        out = self._update.reply(self.weights, pushed)
        if self._strength is None:
            return out
        with self.lock:
            self._backups.setdefault(worker, torch.empty_like(out)).copy_(out)
        return self._backups[worker]

    def _update_for(self, strategy: Mapping[str, Any]) -> ShardUpdate:
        name = strategy["name"]
        if name in ("adag", "dynsgd"):
            return AddDelta(self.weights)
        if name == "easgd":
            return Elastic(self.weights, alpha=float(strategy["alpha"]))
        if _is_plain(self._optimizer):
            return PlainStep(self._stretches(), self._set_rate)
        return GradientStep(self._optimizer.step, self._set_gradient, self._set_rate)

    def _stretches(self) -> list[tuple[Tensor, slice, dict[str, Any]]]:
        group_of = {id(p): group for group in self._optimizer.param_groups for p in group["params"]}
        return [
            (p.data, slice(place.offset, place.offset + p.numel()), group_of[id(p)])
            for place in self._places
            for p in (place.tensor,)
        ]

    def _set_rate(self, version: int) -> None:
        self._scheduled.set(self._start + version - 1)

    def _set_gradient(self, gradient: Tensor) -> None:
        for _, _, offset, parameter in self._places:
            parameter.grad = gradient[offset : offset + parameter.numel()]


def _is_plain(optimizer: torch.optim.Optimizer) -> bool:
    """SGD whose step is nothing but weights - rate · gradient."""
    more = ("momentum", "weight_decay", "maximize", "differentiable")
    return isinstance(optimizer, torch.optim.SGD) and not any(g[key] for g in optimizer.param_groups for key in more)


def cut(plan: ShardPlan, weights: Tensor) -> list[Chunk]:
    size = weights.numel()
    return [
        Chunk(plan, weights, begin=begin, end=min(begin + CHUNK_ELEMENTS, size))
        for begin in range(0, size, CHUNK_ELEMENTS)
    ]


def rule_for(strategy: Mapping[str, Any], *, n_workers: int) -> Rule:
    """Returns the rule of a validated strategy that runs on parameter servers. Raises KeyError for another."""
    scaling = strategy.get("staleness_scaling", "none")
    scale = gupta(n_workers=n_workers, group=strategy.get("group", 1)) if scaling == "gupta" else SCALES[scaling]
    match strategy["name"]:
        case "bsp" | "hierarchical" | "auto":
            return rules.bulk_synchronous(n_workers)
        case "ssp":
            return rules.stale_synchronous(strategy["staleness"], scale=scale)
        case "softsync":
            return rules.soft_synchronous(strategy["group"], blocks=strategy["block"], scale=scale)
        case "k_of_n":
            return rules.first_of(strategy["k"])
        case "dynsgd":
            return rules.asynchronous(scale=SCALES["dynsgd"])
        case "asp" | "sparse_rows" | "bounded_delay" | "downpour" | "adag" | "easgd":
            return rules.asynchronous(scale=scale)
        case name:
            raise KeyError(f"the strategy {name!r} does not run on parameter servers")


def _dc_strength(strategy: Mapping[str, Any]) -> float | None:
    return float(strategy["dc_strength"]) if strategy.get("staleness_scaling") in ("dc", "dc_adaptive") else None
