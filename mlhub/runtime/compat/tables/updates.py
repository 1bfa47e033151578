# SPDX-License-Identifier: Apache-2.0
"""What a table does with what workers add: plain sums, or an optimiser's step of the rows that are named. Pure tensors.

A row's step needs nothing but its own past, so that rows may lie on any server and be named or not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mlhub.runtime.optimization.ftrl import first_z, ftrl_

# name -> options with their defaults
OPTIONS: Mapping[str, Mapping[str, float]] = {
    "add": {},
    "assign": {},
    "sgd": {"learning_rate": 0.01, "momentum": 0.0},
    "adagrad": {"learning_rate": 0.01, "epsilon": 1e-10},
    "adam": {"learning_rate": 0.001, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8},
    "ftrl": {"learning_rate": 0.1, "beta": 1.0, "l1": 0.0, "l2": 0.0},
}
COMMON: Mapping[str, float] = {"weight_decay": 0.0, "rescale": 1.0, "clip": 0.0}  # of all but add and assign


class TableUpdate:
    """Of one table's rows on one server. name: of OPTIONS. rescale: what gradients are multiplied with; clip: the
    largest element that is used, 0 for any."""

    def __init__(self, name: str = "add", options: Mapping[str, Any] | None = None) -> None:
        """Raises ValueError for a name or an option that is unknown."""
        if name not in OPTIONS:
            raise ValueError(f"There is no optimiser {name!r}; known: {', '.join(OPTIONS)}.")
        self.name, given = name, dict(options or {})
        known = OPTIONS[name] if name in ("add", "assign") else {**OPTIONS[name], **COMMON}
        unknown = given.keys() - known.keys()
        if unknown:
            has = ", ".join(known) or "no options"
            raise ValueError(f"{name} has no option {', '.join(sorted(unknown))}; it has {has}.")
        self.options = {key: float(given.get(key, default)) for key, default in known.items()}
        self.state: dict[str, Tensor] = {}  # by name, like the table's rows

    def apply(self, rows: Tensor, at: Tensor | None, pushed: Tensor) -> None:
        """rows: all, shape (n, width). at: which are meant, each once, shape (k,). pushed: shape (k, width), which may
        be written into."""
        if self.name == "add":
            if at is None:
                rows += pushed
            else:
                rows.index_add_(0, at, pushed.to(rows.dtype))
            return
        weights = rows if at is None else rows[at]
        if self.name == "assign":
            weights.copy_(pushed)
        else:
            self._step(weights, self._state(rows, at), self._gradient(weights, pushed))
        if at is not None:
            rows[at] = weights

    def grow(self, n_rows: int) -> None:
        """Tables by key get rows as keys come; new rows have no past."""
        for name, values in self.state.items():
            room = values.new_zeros(n_rows, values.shape[1])
            room[: values.shape[0]] = values
            self.state[name] = room

    def _gradient(self, weights: Tensor, pushed: Tensor) -> Tensor:
        if self.options["rescale"] != 1.0:
            pushed.mul_(self.options["rescale"])
        if self.options["clip"]:
            pushed.clamp_(-self.options["clip"], self.options["clip"])
        return pushed.add_(weights, alpha=self.options["weight_decay"]) if self.options["weight_decay"] else pushed

    def _state(self, rows: Tensor, at: Tensor | None) -> _State:
        return _State(self.state, rows, at)

    def _step(self, weights: Tensor, state: _State, gradient: Tensor) -> None:
        o, rate = self.options, self.options["learning_rate"]
        match self.name:
            case "sgd" if not o["momentum"]:
                weights.add_(gradient, alpha=-rate)
            case "sgd":
                momentum = state["momentum"] * o["momentum"] + gradient
                state["momentum"] = momentum
                weights.add_(momentum, alpha=-rate)
            case "adagrad":
                squares = state["squares"] + gradient * gradient
                state["squares"] = squares
                weights.addcdiv_(gradient, squares.sqrt() + o["epsilon"], value=-rate)
            case "adam":
                steps = state["steps"] + 1.0
                mean = state["mean"].lerp(gradient, 1.0 - o["beta1"])
                squares = state["squares"].lerp(gradient * gradient, 1.0 - o["beta2"])
                state["steps"], state["mean"], state["squares"] = steps, mean, squares
                scale = (squares / (1.0 - o["beta2"] ** steps)).sqrt() + o["epsilon"]
                weights.addcdiv_(mean / (1.0 - o["beta1"] ** steps), scale, value=-rate)
            case _:
                options = {"rate": rate, "beta": o["beta"], "l1": o["l1"], "l2": o["l2"]}
                n, z = state["n"], state["z"]
                is_new = (n == 0) & (z == 0)
                z = torch.where(is_new, first_z(weights, **options), z)
                ftrl_(weights, gradient, z, n, **options)
                state["n"], state["z"] = n, z


class _State:
    """The state of the rows that a step is about; zeros before the first."""

    def __init__(self, whole: dict[str, Tensor], rows: Tensor, at: Tensor | None) -> None:
        self._whole, self._rows, self._at = whole, rows, at

    def __getitem__(self, name: str) -> Tensor:
        found = self._whole.get(name)
        if found is None:
            found = self._whole[name] = torch.zeros_like(self._rows)
        return found if self._at is None else found[self._at]

    def __setitem__(self, name: str, values: Tensor) -> None:
        if self._at is None:
            self._whole[name] = values
        else:
            self._whole[name][self._at] = values
