# SPDX-License-Identifier: Apache-2.0
"""Asynchronous training whose embeddings stay on the servers: a step pulls and pushes the rows that its batch names."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.ps.client.rows import RowClient, row_bounds
from mlhub.runtime.ps.embedding_tables import OPTIMIZERS, PLAIN, EmbeddingTablePlan
from mlhub.runtime.strategies.asynchronous.asynchronous import Asynchronous
from mlhub.runtime.strategies.protocol import Barrier, Losses, StepResult
from mlhub.runtime.strategies.toolkit import flat_parameters


@dataclass
class EmbeddedRows:
    """An embedding table of the model, whose rows are pulled before they are used."""

    name: str
    module: nn.Embedding
    client: RowClient | None = None

    def before(self, _: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """Forward hook: pulls the current values of the rows that the batch uses."""
        if self.client is not None and self.module.training:
            ids = torch.unique(inputs[0].detach())
            with torch.no_grad():
                self.client.pull(ids, self.module.weight)

    def gradient(self) -> tuple[Tensor, Tensor]:
        """Returns the used rows, each once, and their gradients, and clears them."""
        gradient, self.module.weight.grad = self.module.weight.grad, None
        if gradient is None:
            return torch.empty(0, dtype=torch.int64), torch.empty(0, self.module.embedding_dim)
        merged = gradient.coalesce()
        return merged.indices()[0], merged.values()


def tables_of(model: nn.Module, optimizer: torch.optim.Optimizer) -> list[EmbeddedRows]:
    """The model's embedding tables. Raises BadInputError when there is none, or one that cannot be trained by rows."""
    names = {id(p): name for name, p in model.named_parameters() if p.requires_grad}
    modules = [m for m in model.modules() if isinstance(m, nn.Embedding) and id(m.weight) in names]
    if not modules:
        raise _bad("The model has no nn.Embedding to train.", "Use the strategy asp.")
    for module in modules:
        n_users = sum(module.weight is p for m in model.modules() for p in m._parameters.values())
        name = names[id(module.weight)]
        if n_users > 1:
            raise _bad(f"{name} is also a weight of another layer, which needs all rows.", "Untie them, or use asp.")
        if module.max_norm is not None or module.scale_grad_by_freq or module.weight.dtype != torch.float32:
            raise _bad(f"{name} has max_norm or scale_grad_by_freq, or is not float32.", "Leave that out, or use asp.")
    kind, options = type(optimizer).__name__, optimizer.param_groups
    if kind not in OPTIMIZERS or any(g.get(key, plain) != plain for g in options for key, plain in PLAIN.items()):
        raise _bad(
            f"The optimiser {kind} moves rows that a batch does not name, too.",
            'Train with "optimizer": "sgd", "momentum": 0 and "weight_decay": 0, with Adagrad, or by asp.',
        )
    return [EmbeddedRows(names[id(m.weight)], m) for m in modules]


class SparseRows(Asynchronous):
    """Embedding tables stay on the servers; the rest of the model is one dense vector, as under asp."""

    def select_parameters(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> list[tuple[str, nn.Parameter]]:
        self.tables = tables_of(model, optimizer)
        held = {table.name for table in self.tables}
        for table in self.tables:
            table.module.sparse = True  # gradients then have the used rows only
            table.module.weight.grad = None
            table.module.register_forward_pre_hook(table.before)
        rest = [(name, p) for name, p in flat_parameters.trainable_parameters(model) if name not in held]
        if not rest:
            raise _bad("The model is nothing but embeddings.", "Use the strategy asp.")
        return rest

    def table_plans(self, optimizer: torch.optim.Optimizer, *, n_shards: int) -> list[tuple[EmbeddingTablePlan, ...]]:
        """The embedding tables of each shard."""
        group_of = {id(p): group for group in optimizer.param_groups for p in group["params"]}
        kind, plans = type(optimizer).__name__, [list[EmbeddingTablePlan]() for _ in range(n_shards)]
        for table in self.tables:
            weight = table.module.weight
            group = group_of[id(weight)]
            options: dict[str, Any] = {
                key: group[key] for key in ("lr", "eps", "initial_accumulator_value") if key in group
            }
            for shard, (begin, end) in enumerate(row_bounds(weight.shape[0], n_shards)):
                plans[shard].append(EmbeddingTablePlan(table.name, begin, end - begin, weight.shape[1], kind, options))
        return [tuple(own) for own in plans]

    def table_weights(self) -> Sequence[Tensor]:
        return [table.module.weight.detach().cpu() for table in self.tables]

    def on_connected(self) -> None:
        for index, table in enumerate(self.tables):
            table.client = self.client.rows(index, n_rows=table.module.num_embeddings)

    def step(self, losses: Losses, *, n: int) -> StepResult:
        loss, weight = self.compute_gradient(losses, n=n)
        began = time.perf_counter()
        for table in self.tables:
            ids, values = table.gradient()
            assert table.client is not None
            table.client.push(ids, values * self._clipped)
        self.client.exchange(weight=weight)
        return self.exchange_result(loss / weight if weight else None, began)

    def clip(self, limit: float | None) -> None:
        """Clips by the norm of all gradients, rows included."""
        self._clipped = 1.0
        if limit is None:
            return
        squares = [float(self.gradient.norm()) ** 2]
        found = [t.module.weight.grad for t in self.tables if t.module.weight.grad is not None]
        squares += [float(gradient.coalesce().values().norm()) ** 2 for gradient in found]
        norm = math.sqrt(sum(squares))
        if norm > limit:
            self._clipped = limit / (norm + 1e-6)
            self.gradient.mul_(self._clipped)

    def before_barrier(self, barrier: Barrier) -> None:
        super().before_barrier(barrier)
        with torch.no_grad():
            for table in self.tables:
                assert table.client is not None
                table.client.pull(torch.arange(table.module.num_embeddings), table.module.weight)


def _bad(message: str, remedy: str) -> BadInputError:
    return BadInputError(message, field="strategy.name", remedy=remedy)
