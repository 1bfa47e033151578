# SPDX-License-Identifier: Apache-2.0
"""A table's rows on one server: who may read when, and what a worker's addition does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.compat.tables.calls import KINDS
from mlhub.runtime.compat.tables.clocks import Clocks
from mlhub.runtime.compat.tables.functions import Answer, function
from mlhub.runtime.compat.tables.updates import TableUpdate

Added = tuple[Tensor | None, Tensor]  # ids, or None for all rows; what is added to them


@dataclass(frozen=True)
class TablePartPlan:
    """What a table is; the same for all its parts but for first_row and n_rows.

    n_rows: here, from first_row on; None: rows are called by any whole number, and are there once they are named.
    staleness: None for ASP, 0 for BSP. ticks: every addition ends its worker's clock (kv's push).
    """

    name: str
    width: int
    n_rows: int | None = None
    first_row: int = 0
    kind: str = "float32"
    fill: float = 0.0
    staleness: int | None = None
    ticks: bool = False
    update: str = "add"
    options: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class TablePart:
    """Not thread-safe: the server's lock is held. Under BSP what a worker adds waits for the end of its clock, and is
    then summed in the order of ranks: every worker reads the same, however fast the others are."""

    def __init__(self, plan: TablePartPlan, *, n_workers: int) -> None:
        """Raises ValueError, KeyError, TypeError for a plan that means nothing."""
        self.plan = plan
        self.clocks = Clocks(n_workers, staleness=plan.staleness)
        self.update = TableUpdate(plan.update, plan.options)
        self.is_ready = False  # a worker has set its initial values
        self.failure: str | None = None
        n = plan.n_rows or 0
        self._room = torch.full((n, plan.width), plan.fill, dtype=KINDS[plan.kind])
        self._places: dict[int, int] = {}  # by key, where rows are not numbered
        self._waiting: dict[int, dict[int, list[Added]]] = {}  # by clock and worker

    @property
    def rows(self) -> Tensor:
        return self._room if self.plan.n_rows is not None else self._room[: len(self._places)]

    @property
    def ids(self) -> Tensor:
        if self.plan.n_rows is not None:
            return torch.arange(self.plan.first_row, self.plan.first_row + self.plan.n_rows)
        return torch.tensor(list(self._places), dtype=torch.int64)

    def get(self, ids: Tensor | None) -> Tensor:
        """Raises ValueError for rows that are not here."""
        if ids is None:
            return self.rows.clone()
        if self.plan.n_rows is not None:
            return self._room[self._at(ids)]
        out = torch.full((ids.numel(), self.plan.width), self.plan.fill, dtype=self._room.dtype)
        known = [(i, self._places[key]) for i, key in enumerate(ids.tolist()) if key in self._places]
        if known:
            here, there = torch.tensor(known).T
            out[here] = self._room[there]
        return out

    def set(self, ids: Tensor | None, values: Tensor) -> None:
        if ids is None:
            self._check_whole(values)
            self._room.copy_(values.view(self._room.shape))
        else:
            self._room[self._at(ids)] = values.view(-1, self.plan.width).to(self._room.dtype)
        self.is_ready = True

    def add(self, worker: int, ids: Tensor | None, values: Tensor) -> None:
        """Raises ValueError for rows that are not here."""
        if ids is None:
            self._check_whole(values)
            values = values.view(self._room.shape)
        else:
            values = values.view(-1, self.plan.width)
            if ids.numel() != values.shape[0]:
                raise ValueError(f"{ids.numel()} rows are named, and {values.shape[0]} are given.")
            ids = self._at(ids)
        if self.plan.staleness == 0:
            at = self.clocks.at.get(worker, 0)
            self._waiting.setdefault(at, {}).setdefault(worker, []).append((ids, values))
        else:
            self._apply([(ids, values)])
        if self.plan.ticks:
            self.tick(worker)

    def tick(self, worker: int) -> None:
        self.clocks.tick(worker)
        self._conclude()

    def leave(self, worker: int, reason: str | None) -> None:
        """reason: None for a goodbye. A lockstep cannot do without a worker that was lost."""
        self.clocks.leave(worker)
        if reason is not None and self.plan.staleness == 0:
            self.failure = self.failure or reason
            return
        self._conclude()

    def call(self, name: str, given: Mapping[str, float], other: Tensor | None) -> Answer:
        """A function of functions.py. Raises ValueError when the other table is divided otherwise."""
        if other is not None and other.shape != self.rows.shape:
            raise ValueError(f"{name} takes two tables of one shape; here they are {self.rows.shape}, {other.shape}.")
        return function(name).part(self.rows, self.ids, given, other)

    def export(self) -> tuple[list[str], list[Tensor]]:
        """Names and values: ids, rows, and the optimiser's state, row by row."""
        n = self.rows.shape[0]
        state = {f"state.{name}": values[:n].clone() for name, values in self.update.state.items()}
        content = {"ids": self.ids, "rows": self.rows.clone(), **state}
        return list(content), list(content.values())

    def restore(self, content: Mapping[str, Tensor], *, also_rows: bool) -> None:
        """What export() gave, of these rows."""
        at = self._at(content["ids"])
        if also_rows:
            self._room[at] = content["rows"].to(self._room.dtype)
            self.is_ready = True
        for name, values in content.items():
            if name.startswith("state."):
                key = name.removeprefix("state.")
                self.update.state.setdefault(key, torch.zeros_like(self._room))[at] = values

    def _conclude(self) -> None:
        for clock in sorted(c for c in self._waiting if c < self.clocks.slowest):
            by_worker = self._waiting.pop(clock)
            self._apply([added for worker in sorted(by_worker) for added in by_worker[worker]])

    def _apply(self, added: list[Added]) -> None:
        if any(ids is None for ids, _ in added):
            first = next(i for i, (ids, _) in enumerate(added) if ids is None)
            total = added.pop(first)[1].to(self._room.dtype)  # what was received is ours to write into
            for ids, values in added:
                if ids is None:
                    total += values
                else:
                    total.index_add_(0, ids, values.to(total.dtype))
            self.update.apply(self._room, None, total)
            return
        ids = torch.cat([ids for ids, _ in added if ids is not None])
        values = torch.cat([values for _, values in added]).to(self._room.dtype)
        each, where = torch.unique(ids, return_inverse=True)
        if each.numel() < ids.numel():
            values = torch.zeros(each.numel(), self.plan.width, dtype=values.dtype).index_add_(0, where, values)
            ids = each
        self.update.apply(self._room, ids, values)

    def _at(self, ids: Tensor) -> Tensor:
        """Where rows lie; makes those that are new to a table by key."""
        if self.plan.n_rows is not None:
            at = ids - self.plan.first_row
            if at.numel() and (int(at.min()) < 0 or int(at.max()) >= self.plan.n_rows):
                raise ValueError(f"{self.plan.name}: a row outside of the {self.plan.n_rows} rows of this server.")
            return at
        keys = ids.tolist()
        for key in keys:
            self._places.setdefault(key, len(self._places))
        if len(self._places) > self._room.shape[0]:
            room = torch.full((max(64, 2 * len(self._places)), self.plan.width), self.plan.fill, dtype=self._room.dtype)
            room[: self._room.shape[0]] = self._room
            self._room = room
            self.update.grow(room.shape[0])
        return torch.tensor([self._places[key] for key in keys], dtype=torch.int64)

    def _check_whole(self, values: Tensor) -> None:
        if self.plan.n_rows is None or values.numel() != self._room.numel():
            raise ValueError(f"{self.plan.name}: {values.numel()} numbers for rows of shape {list(self._room.shape)}.")
