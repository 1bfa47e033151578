# SPDX-License-Identifier: Apache-2.0
"""Reads a Torch7 model: containers become the graph, tables of values stay names until something joins them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.importers.graph import Blueprint, Step, refused, unknown
from mlhub.runtime.importers.layers import ApplyFunction
from mlhub.runtime.importers.torch7.files import Thing, listed, value_of
from mlhub.runtime.importers.torch7.layers import LAYERS, bad

ROOMS = ("nn", "cudnn")
INPUT = "input"
JOINED: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "CAddTable": torch.add, "CMulTable": torch.mul, "CSubTable": torch.sub, "CMaxTable": torch.maximum,
}  # fmt: skip
CONTAINERS = ("Sequential", "Concat", "DepthConcat", "ConcatTable", "ParallelTable", "JoinTable", "SelectTable",
              "FlattenTable", *JOINED)  # fmt: skip
Torch7Value = str | list[Any]  # a tensor of the graph, or a table of such


def read(path: Path) -> Blueprint:
    """Raises BadInputError naming the module."""
    reading = _Torch7Reading()
    output = reading.made(_model_in(value_of(path)), INPUT, "net")
    if not isinstance(output, str):
        raise refused("The Torch7 model answers with a table.", "Save a model that ends with one tensor.")
    return Blueprint("Torch7", reading.steps, input=INPUT, output=output)


def _model_in(value: Any) -> Thing:
    """The file's model, or the only one in its table."""
    if isinstance(value, Thing):
        return value
    table = value if isinstance(value, dict) else {}
    named = [table.get("model"), *(held for held in table.values())]
    found = [held for held in named if isinstance(held, Thing) and held.kind.partition(".")[0] in ROOMS]
    if not found:
        raise refused("The Torch7 file holds no nn module.", "Save the model itself: torch.save('model.t7', model).")
    return found[0]


class _Torch7Reading:
    def __init__(self) -> None:
        self.steps: list[Step] = []

    def made(self, thing: Any, given: Torch7Value, name: str) -> Torch7Value:
        """What the module makes of a value, having added its steps."""
        if not isinstance(thing, Thing):
            raise refused(f"{name} of the Torch7 model is no module.", "Save the model again.")
        room, _, word = thing.kind.partition(".")
        if room not in ROOMS or word not in (*LAYERS, *CONTAINERS):
            raise unknown("Torch7 module", thing.kind, name, known=[*LAYERS, *CONTAINERS])
        if word in LAYERS:
            return self._layer(LAYERS[word](thing, name), thing, given, name)
        modules = listed(thing.get("modules", {}))
        if word == "Sequential":
            for i, module in enumerate(modules, 1):
                given = self.made(module, given, f"{name}_{i}")
            return given
        if word in ("Concat", "ConcatTable"):
            made: Torch7Value = [self.made(module, given, f"{name}_{i}") for i, module in enumerate(modules, 1)]
            return (
                made if word == "ConcatTable" else self._joined(thing, made, name, int(thing.get("dimension", 2)) - 1)
            )
        return self._of_table(word, thing, modules, given, name)

    def _of_table(self, word: str, thing: Thing, modules: list[Any], given: Torch7Value, name: str) -> Torch7Value:
        if word == "DepthConcat" or isinstance(given, str):
            raise bad(thing, name, "it does not get a table, or pads what it joins")
        if word == "ParallelTable":
            if len(modules) != len(given):
                raise bad(thing, name, f"it has {len(modules)} modules for {len(given)} values")
            pairs = zip(modules, given, strict=True)
            return [self.made(module, value, f"{name}_{i}") for i, (module, value) in enumerate(pairs, 1)]
        if word == "SelectTable":
            at = int(thing.get("index", 1))
            chosen: Torch7Value = given[at - 1 if at > 0 else at]
            return chosen
        if word == "FlattenTable":
            return _flat(given)
        if word == "JoinTable":
            # counted without the batch, when it declares how many axes an example has
            is_of_example = int(thing.get("nInputDims", 0) or 0) > 0
            return self._joined(thing, given, name, int(thing.get("dimension", 1)) - (0 if is_of_example else 1))
        function = JOINED[word]
        return self._layer(ApplyFunction(word, lambda *values: reduce(function, values)), thing, given, name)

    def _joined(self, thing: Thing, given: Torch7Value, name: str, axis: int) -> Torch7Value:
        return self._layer(ApplyFunction("join", lambda *values: torch.cat(values, axis)), thing, given, name)

    def _layer(self, module: nn.Module, thing: Thing, given: Torch7Value, name: str) -> Torch7Value:
        inputs = [given] if isinstance(given, str) else given
        if isinstance(module, nn.Identity) and not isinstance(given, str):
            return given
        if (not isinstance(module, ApplyFunction) and len(inputs) != 1) or not all(
            isinstance(value, str) for value in inputs
        ):
            raise bad(thing, name, "it gets a table")
        self.steps.append(Step(f"{name}_{thing.kind.partition('.')[2]}", module, list(inputs), [name]))
        return name


def _flat(table: list[Any]) -> list[Any]:
    return [leaf for value in table for leaf in ([value] if isinstance(value, str) else _flat(value))]
