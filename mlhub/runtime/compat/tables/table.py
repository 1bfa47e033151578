# SPDX-License-Identifier: Apache-2.0
"""A table over all servers, as a worker uses it: get rows, add to them, tick, run functions where they lie."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.compat.tables.calls import name_of
from mlhub.runtime.compat.tables.client import Line, Spread
from mlhub.runtime.compat.tables.functions import function
from mlhub.runtime.compat.tables.part import TablePartPlan
from mlhub.runtime.compat.tables.updates import TableUpdate

TableRows = Tensor | Sequence[int] | None


class Table:
    """Made by every worker alike, by name. Rows have `shape[1:]`; a table of one dimension has rows of one number."""

    def __init__(
        self, line: Line, name: str, shape: int | Sequence[int | None], *,
        dtype: torch.dtype = torch.float32, initial: float | Tensor | None = 0.0, staleness: int | None = None,
        optimizer: str = "add", options: Mapping[str, float] | None = None, ticks: bool = False,
        only: int | None = None,
    ) -> None:  # fmt: skip
        """shape[0]: rows; None: they are called by any whole number. initial: of every number, or worker 0's tensor;
        None: the first worker calls set(). staleness: None for ASP, 0 for BSP. optimizer, options: updates.py; what
        is added is then a gradient.

        Raises ValueError for what servers do not know, and when the table is there already and is another.
        """
        given = [shape] if isinstance(shape, int) else list(shape)
        if not given:
            raise ValueError("A table has at least one dimension: its rows.")
        n_rows, rest = given[0], tuple(int(n or 0) for n in given[1:])
        if (n_rows is not None and n_rows < 1) or any(n < 1 for n in rest):
            raise ValueError(f"A table of shape {shape} holds nothing: give at least one row of at least one number.")
        if staleness is not None and staleness < 0:
            raise ValueError(f"staleness is {staleness}: give 0 for BSP, more for SSP, or None for ASP.")
        if n_rows is None and isinstance(initial, Tensor):
            raise ValueError("TableRows by key begin with one number: give initial as a number.")
        TableUpdate(optimizer, options)
        self.name, self.n_rows, self.row_shape, self.dtype, self.staleness = name, n_rows, rest, dtype, staleness
        self._ticks, self._line, self._spread = ticks, line, Spread(line.n_servers, n_rows=n_rows, only=only)
        fill = 0.0 if initial is None or isinstance(initial, Tensor) else float(initial)
        plan = TablePartPlan(
            name, math.prod(rest), n_rows, kind=name_of(dtype), fill=fill, staleness=staleness, ticks=ticks,
            update=optimizer, options=dict(options or {}),
        )  # fmt: skip
        self.n_clocks = 0
        line.ask({s: ({"verb": "create", "plan": self._plan_of(plan, s).to_json()}, []) for s in self._spread.servers})
        if isinstance(initial, Tensor):
            if line.index == 0:
                self.set(None, initial)
        elif initial is not None:
            self._declare_ready()

    def get(self, rows: TableRows = None) -> Tensor:
        """A copy of these rows, shape (k, ...), or of all; waits until staleness allows it.

        Raises ValueError for rows that are not there, PeerLostError when a worker in lockstep is gone.
        """
        if rows is None:
            if self.n_rows is None:
                raise ValueError(f"{self.name} has rows by key: name them, or use items().")
            whole = torch.empty(self._whole_shape(), dtype=self.dtype)
            self.get_into(whole)
            return whole
        ids = _ids(rows)
        parts = self._spread.divide(ids)
        request = {"verb": "get", "table": self.name, "has_ids": True}
        found = self._line.ask({server: (request, [ids[places]]) for server, places in parts.items()})
        out = torch.empty(ids.numel(), math.prod(self.row_shape), dtype=self.dtype)
        for server, (_, tensors) in found.items():
            out[parts[server]] = tensors[0]
        return out.view(ids.numel(), *self.row_shape)

    def get_into(self, whole: Tensor) -> None:
        """All rows, into a contiguous tensor of as many numbers of the table's kind. Raises as get()."""
        flat = whole.detach().view(-1)
        rooms = dict(zip(self._spread.servers, (flat[a:b] for a, b in self.stretches), strict=True))
        request = {"verb": "get", "table": self.name}
        found = self._line.ask({server: (request, []) for server in rooms}, into=rooms)
        for server, (_, (values,)) in found.items():
            if values.data_ptr() != rooms[server].data_ptr():
                raise ValueError(f"{self.name}: {values.numel()} {values.dtype} for {rooms[server].numel()} numbers.")

    def items(self) -> tuple[Tensor, Tensor]:
        """All rows that are there: ids of shape (k,), sorted, and rows of shape (k, ...). Waits for no worker."""
        ids, rows = self._all()
        order = ids.argsort()
        return ids[order], rows[order].view(ids.numel(), *self.row_shape)

    def add(self, rows: TableRows, delta: Tensor | float) -> None:
        """Adds to these rows, or to all (None); with an optimiser, delta is their gradient. Of shape (k, ...)."""
        self._write("add", rows, delta, {})

    inc = increment = add

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """Which elements of the flat table lie on its servers, in their order."""
        width = math.prod(self.row_shape)
        cuts = [self._spread.bounds(server) for server in self._spread.servers]
        return [(begin * width, end * width) for begin, end in cuts]

    def add_encoded(self, parts: Sequence[tuple[Tensor, int]], codec: Mapping[str, Any]) -> None:
        """As add(None, ...), in fewer bytes. parts: by stretch, encoded, and of how many numbers. codec: as a strategy
        names it (compression.py)."""
        request = {"verb": "add", "table": self.name, "codec": dict(codec)}
        asked = zip(self._spread.servers, parts, strict=True)
        self._line.ask({server: ({**request, "n": n}, [payload]) for server, (payload, n) in asked})

    def set(self, rows: TableRows, values: Tensor | float) -> None:
        """What these rows hold from now on, whatever others have added."""
        self._write("set", rows, values, {})

    def clock(self) -> None:
        """This worker is done with its clock: what it has added counts for it."""
        self._line.ask({s: ({"verb": "tick", "table": self.name}, []) for s in self._spread.servers})
        self.n_clocks += 1

    def call(self, name: str, other: Table | None = None, **options: float) -> Any:
        """A function of functions.py, run by the servers. Raises ValueError for one that they do not know."""
        found = function(name)
        checked = found.checked(name, options)
        request = {"verb": "call", "table": self.name, "function": name, "options": checked}
        if other is not None:
            request["other"] = other.name
        answers = self._line.ask({s: (request, []) for s in self._spread.servers})
        return found.merge([tuple(tensors) for _, tensors in answers.values()], checked)

    def export(self) -> dict[str, Tensor]:
        """ids, rows, and state.* of the optimiser, of all servers together: what restore() takes."""
        answers = self._line.ask({s: ({"verb": "export", "table": self.name}, []) for s in self._spread.servers})
        found = [dict(zip(reply["names"], tensors, strict=True)) for reply, tensors in answers.values()]
        names = [name for name in found[0] if all(name in part for part in found)]
        return {name: torch.cat([part[name] for part in found]) for name in names}

    def restore(self, content: Mapping[str, Tensor], *, also_rows: bool = True) -> None:
        """What export() gave, maybe of another number of servers. also_rows: not only the optimiser's state."""
        parts = self._spread.divide(content["ids"])
        request = {"verb": "restore", "table": self.name, "names": list(content), "also_rows": also_rows}
        self._line.ask({s: (request, [values[places] for values in content.values()]) for s, places in parts.items()})

    def _write(self, verb: str, rows: TableRows, values: Tensor | float, more: dict[str, Any]) -> None:
        request = {"verb": verb, "table": self.name, **more}
        if rows is None:
            whole = self._shaped(values, self._whole_shape()).reshape(self.n_rows or 0, -1)
            cuts = {server: self._spread.bounds(server) for server in self._spread.servers}
            self._line.ask({s: (request, [whole[begin:end]]) for s, (begin, end) in cuts.items()})
            return
        ids = _ids(rows)
        given = self._shaped(values, (ids.numel(), *self.row_shape)).reshape(ids.numel(), -1)
        request["has_ids"] = True
        parts = self._spread.divide(ids)
        if self._ticks:  # the clock ends on every server, also where none of the rows lie
            none = torch.empty(0, dtype=torch.int64)
            parts = {server: parts.get(server, none) for server in self._spread.servers}
        self._line.ask({s: (request, [ids[places], given[places]]) for s, places in parts.items()})

    def _shaped(self, values: Tensor | float, shape: Sequence[int]) -> Tensor:
        tensor = values if isinstance(values, Tensor) else torch.tensor(values)
        if tensor.dim() and tuple(tensor.shape) != tuple(shape):
            raise ValueError(f"{self.name}: values of shape {list(tensor.shape)} for rows of {list(shape)}.")
        return tensor.detach().cpu().to(self.dtype).expand(tuple(shape))

    def _whole_shape(self) -> tuple[int, ...]:
        if self.n_rows is None:
            raise ValueError(f"{self.name} has rows by key: name them.")
        return (self.n_rows, *self.row_shape)

    def _all(self) -> tuple[Tensor, Tensor]:
        found = self.export()
        return found["ids"], found["rows"]

    def _declare_ready(self) -> None:
        empty = [torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=self.dtype)]
        request = {"verb": "set", "table": self.name, "has_ids": True}
        self._line.ask(dict.fromkeys(self._spread.servers, (request, empty)))

    def _plan_of(self, plan: TablePartPlan, server: int) -> TablePartPlan:
        if plan.n_rows is None:
            return plan
        begin, end = self._spread.bounds(server)
        return replace(plan, first_row=begin, n_rows=end - begin)


def _ids(rows: Tensor | Sequence[int]) -> Tensor:
    return torch.as_tensor(rows, dtype=torch.int64).cpu().reshape(-1)
