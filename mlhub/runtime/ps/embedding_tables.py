# SPDX-License-Identifier: Apache-2.0
"""Embeddings on a server: rows that workers pull and push one by one, so that a step moves only what it touches.

Rows that no push touches do not move. Source: MXNet's row_sparse_pull; Li et al., OSDI '14 (key-value ranges).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.checkpoints.optimizer_state import MergedState
from mlhub.runtime.ps.wire.request_numbers import was_received

OPTIMIZERS = ("SGD", "Adagrad")  # a row's step needs nothing but its own past
BLOCK_ELEMENTS = 2**22  # copied at once, while pushes wait
PLAIN = {"momentum": 0, "weight_decay": 0, "lr_decay": 0, "maximize": False}  # options that would move other rows too


@dataclass(frozen=True)
class EmbeddingTablePlan:
    """Rows [first_row, first_row + n_rows) of a parameter. options: as torch.optim takes them."""

    parameter: str
    first_row: int
    n_rows: int
    width: int
    optimizer: str
    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        if self.optimizer not in OPTIMIZERS or any(self.options.get(k, v) != v for k, v in PLAIN.items()):
            raise ValueError(f"rows cannot be updated by {self.optimizer} with {dict(self.options)}")


class EmbeddingTable:
    """rows: shape (n_rows, width). Pushes of several threads are applied one after the other; none is lost."""

    def __init__(self, plan: EmbeddingTablePlan, rows: Tensor, saved: MergedState | None) -> None:
        self.plan, self.rows = plan, rows
        self._lock = threading.Lock()
        self._used: dict[int, int] = {}  # by worker: the number of its last push that is in the rows
        self._restored: list[tuple[int, int, Mapping[int, int]]] = []  # blocks of rows, and what was used there
        self._sums = torch.empty(0)
        if plan.optimizer == "Adagrad":
            self._sums = torch.full_like(rows, float(plan.options.get("initial_accumulator_value", 0.0)))
            found = None if saved is None else saved.flat.get((plan.parameter, "sum"))
            if found is not None:
                begin = plan.first_row * plan.width
                self._sums.copy_(found[begin : begin + rows.numel()].view_as(rows))

    def pull(self, ids: Tensor) -> Tensor:
        """ids: of rows here, shape (k,), int64. Returns shape (k, width). Raises ValueError for other rows."""
        self._check(ids)
        with self._lock:
            return self.rows[ids]

    def push(self, ids: Tensor, gradient: Tensor, *, factor: float, worker: int = 0, number: int = 0) -> None:
        """One step of these rows, each named once. gradient: shape (k, width). factor: of the learning rate.

        Of a push that was received before, nothing is applied twice. Raises ValueError for other rows.
        """
        self._check(ids)
        rate = -float(self.plan.options["lr"]) * factor
        with self._lock:
            if was_received(number, self._used.get(worker, 0)):
                return
            for begin, end, used in self._restored:
                if was_received(number, used.get(worker, 0)):
                    is_new = (ids < begin) | (ids >= end)
                    ids, gradient = ids[is_new], gradient[is_new]
            self._used[worker] = number
            if self.plan.optimizer == "Adagrad":
                self._sums.index_add_(0, ids, gradient * gradient)
                gradient = gradient / (self._sums[ids].sqrt_() + float(self.plan.options.get("eps", 1e-10)))
            self.rows.index_add_(0, ids, gradient, alpha=rate)

    def collect(self, *, n_steps: int) -> dict[str, Tensor]:
        """The optimiser's state, as optimizer_state.py names it."""
        if not self._sums.numel():
            return {}
        name = self.plan.parameter
        with self._lock:
            flat = self._sums.reshape(-1).clone()
        return {
            f"{name}|sum|{self.plan.first_row * self.plan.width}": flat,
            f"{name}|step|whole": torch.tensor(float(n_steps)),
        }

    def copies(self) -> Iterator[tuple[int, int, dict[str, Tensor], dict[int, int]]]:
        """Yields copies of rows, in blocks: first and last row (exclusive), tensors, and the pushes in them."""
        n_rows = max(1, BLOCK_ELEMENTS // max(1, self.plan.width))
        for begin in range(0, self.plan.n_rows, n_rows):
            end = min(begin + n_rows, self.plan.n_rows)
            with self._lock:
                tensors = {"rows": self.rows[begin:end].clone()}
                if self._sums.numel():
                    tensors["sums"] = self._sums[begin:end].clone()
                used = dict(self._used)
            yield begin, end, tensors, used

    def restore_rows(self, begin: int, end: int, tensors: Mapping[str, Tensor], used: Mapping[int, int]) -> None:
        """Restores what copies() returned for these rows."""
        self.rows[begin:end] = tensors["rows"]
        if self._sums.numel():
            self._sums[begin:end] = tensors["sums"]
        self._restored.append((begin, end, used))

    def _check(self, ids: Tensor) -> None:
        if ids.numel() and (int(ids.min()) < 0 or int(ids.max()) >= self.plan.n_rows):
            raise ValueError(f"a row outside of the {self.plan.n_rows} rows of {self.plan.parameter} here")
