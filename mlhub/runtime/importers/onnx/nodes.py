# SPDX-License-Identifier: Apache-2.0
"""One ONNX node as the operators' table sees it: attributes, constants, and which of its inputs come at run time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.importers.graph import refused
from mlhub.runtime.importers.layers import With
from mlhub.runtime.importers.onnx.files import tensor_of

Made = tuple[nn.Module, list[str]]  # a module, and the inputs that it is called with


@dataclass
class OnnxNode:
    """constants: all values that are known. trained: names of those that are weights. fixed_batch: the batch size that
    the file was exported for, when it names one; it is not meant."""

    proto: Any
    opset: int
    constants: dict[str, Tensor]
    trained: set[str]
    folder: Path
    fixed_batch: int | None = None

    @property
    def op(self) -> str:
        return str(self.proto.op_type)

    @property
    def inputs(self) -> list[str]:
        names = list(self.proto.input)
        while names and not names[-1]:
            names.pop()
        return names

    @property
    def name(self) -> str:
        return str(self.proto.name or self.proto.output[0])

    def attr(self, name: str, default: Any = None) -> Any:
        """A number, a list of numbers, a word or a tensor, by what it is."""
        for attribute in self.proto.attribute:
            if attribute.name == name:
                return self._value(attribute)
        return default

    def _value(self, attribute: Any) -> Any:
        kinds: dict[int, Callable[[], Any]] = {
            1: lambda: attribute.f,
            2: lambda: attribute.i,
            3: lambda: attribute.s.decode(errors="replace"),
            4: lambda: tensor_of(attribute.t, self.folder),
            6: lambda: list(attribute.floats),
            7: lambda: list(attribute.ints),
        }
        if attribute.type not in kinds:
            raise self.refused(f"its attribute {attribute.name} is of a kind that is not read")
        return kinds[attribute.type]()

    def has(self, place: int) -> bool:
        return place < len(self.inputs) and bool(self.inputs[place])

    def is_constant(self, place: int) -> bool:
        return self.has(place) and self.inputs[place] in self.constants

    def constant(self, place: int) -> Tensor:
        """Raises BadInputError when it is computed from the inputs."""
        if not self.is_constant(place):
            raise self.refused(f"its input {place + 1} is not a constant of the file")
        return self.constants[self.inputs[place]]

    def maybe(self, place: int) -> Tensor | None:
        return self.constant(place) if self.has(place) else None

    def numbers(self, name: str, place: int) -> list[int] | None:
        """Whole numbers that older operator sets keep in an attribute, newer ones in an input."""
        value = self.attr(name)
        if value is not None:
            return [int(n) for n in value]
        return [int(n) for n in self.constant(place).flatten().tolist()] if self.has(place) else None

    def functional(self, function: Callable[..., Any], *, n: int | None = None) -> Made:
        """A function of the first n inputs, those that are constant already in place; absent ones are None."""
        names = self.inputs[:n]
        values = {i: self.constants[name] for i, name in enumerate(names) if name in self.constants}
        trained = [i for i in values if names[i] in self.trained]
        absent = [i for i, name in enumerate(names) if not name]

        def call(*given: Any) -> Any:
            arguments = list(given)
            for place in absent:
                arguments.insert(place, None)
            return function(*arguments)

        if absent:  # With counts places among the inputs that are there
            present = [i for i in range(len(names)) if i not in absent]
            values = {present.index(i): value for i, value in values.items()}
            trained = [present.index(i) for i in trained]
        dynamic = [name for name in names if name and name not in self.constants]
        return With(self.op, call, values, trained), dynamic

    def refused(self, why: str) -> BadInputError:
        return refused(
            f"The ONNX operator {self.op} ({self.name}) cannot be imported: {why}.",
            "Export the model for inference in float32, with constant weights (torch.onnx.export in eval mode), "
            "or bring it as a package with model.py.",
            code="unknown_layer",
        )
