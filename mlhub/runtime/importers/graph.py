# SPDX-License-Identifier: Apache-2.0
"""What every reader gives: torch modules wired into a graph of one input and one output, and what it was built for."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError

MAX_STEPS = 20_000


@dataclass
class Step:
    """One module of a graph. inputs, outputs: names of values; a name may be written again (Caffe works in place).

    With several outputs the module returns a tuple.
    """

    name: str
    module: nn.Module
    inputs: list[str]
    outputs: list[str]


@dataclass
class Blueprint:
    """input_shape: of one example, channels first, None for what is open; None where the file does not say.

    is_channels_last: in which order the original made images flat. notes: what was left out, for people.
    """

    format: str
    steps: list[Step]
    input: str
    output: str
    input_shape: tuple[int | None, ...] | None = None
    is_channels_last: bool = False
    takes_indices: bool = False
    notes: list[str] = field(default_factory=list)


class Graph(nn.Module):
    """Steps in an order in which each has its inputs."""

    def __init__(self, steps: Sequence[Step], *, input: str, output: str) -> None:
        super().__init__()
        self._wiring = []
        for name, step in zip(_names(steps), steps, strict=True):
            self.add_module(name, step.module)
            self._wiring.append((name, tuple(step.inputs), tuple(step.outputs)))
        self._input, self._output = input, output
        self._dead_after = self._last_uses()

    def forward(self, x: Tensor) -> Any:
        values: dict[str, Any] = {self._input: x}
        for (name, inputs, outputs), dead in zip(self._wiring, self._dead_after, strict=True):
            made = self._modules[name](*(values[i] for i in inputs))  # type: ignore[misc]
            if len(outputs) == 1:
                values[outputs[0]] = made
            else:
                values.update(zip(outputs, made, strict=False))
            for gone in dead:
                values.pop(gone, None)
        return values[self._output]

    def _last_uses(self) -> list[list[str]]:
        """After each step, the values that no later step reads: they need not be stored."""
        wanted, dead = {self._output}, []
        for _, inputs, outputs in reversed(self._wiring):
            dead.append([name for name in {*inputs, *outputs} if name not in wanted])
            wanted |= set(inputs)
        return dead[::-1]


def module_of(steps: Sequence[Step], *, input: str, output: str) -> nn.Module:
    """nn.Sequential for a chain, which pipelines can divide; else a Graph. Steps that nothing needs are left out.

    Raises BadInputError for a graph that reads a value which no step writes.
    """
    if len(steps) > MAX_STEPS:
        raise refused(f"The model has {len(steps):,} layers; {MAX_STEPS:,} are allowed.", "Export a smaller model.")
    needed = _needed(steps, output)
    known = {input}
    for step in needed:
        missing = [name for name in step.inputs if name not in known]
        if missing:
            raise refused(
                f"{step.name} reads {missing[0]!r}, which no layer before it gives.",
                "Export the model again, with one input and its layers in order.",
            )
        known.update(step.outputs)
    if output not in known:
        raise refused(f"No layer gives the output {output!r}.", "Export the model again.")
    chain, at = OrderedDict[str, nn.Module](), input
    for name, step in zip(_names(needed), needed, strict=True):
        if step.inputs != [at] or len(step.outputs) != 1:
            return Graph(needed, input=input, output=output)
        chain[name], at = step.module, step.outputs[0]
    return nn.Sequential(chain)


def _needed(steps: Sequence[Step], output: str) -> list[Step]:
    wanted, found = {output}, []
    for step in reversed(steps):
        if wanted & set(step.outputs):
            found.append(step)
            wanted = (wanted - set(step.outputs)) | set(step.inputs)
    return found[::-1]


def _names(steps: Sequence[Step]) -> list[str]:
    """The steps' own names as far as torch can use them, each once."""
    names: dict[str, None] = {}
    bare = nn.Sequential()
    for i, step in enumerate(steps):
        name = re.sub(r"\W+", "_", step.name).strip("_")[:60] or f"layer_{i}"
        if hasattr(bare, name) or name in names:
            name = f"{name}_{i}"
        names[name if name not in names else f"step_{i}_of_{len(steps)}"] = None
    return list(names)


def refused(message: str, remedy: str, *, code: str = "cannot_import") -> BadInputError:
    """The error of a file that cannot be imported."""
    return BadInputError(message, field="file", remedy=remedy, code=code)


def unknown(kind: str, name: str, where: str, *, known: Sequence[str] = ()) -> BadInputError:
    """The error about an operator or layer that no table has."""
    near = f" Known: {', '.join(sorted(known))}." if known else ""
    return refused(
        f"The {kind} {name} ({where}) cannot be imported.",
        f"Replace it before exporting, or rebuild the model as a package with model.py.{near}",
        code="unknown_layer",
    )
