# SPDX-License-Identifier: Apache-2.0
"""Reads an ONNX graph: what is known is computed once, the rest becomes steps in the file's order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.importers import layers
from mlhub.runtime.importers.graph import Blueprint, Step, refused, unknown
from mlhub.runtime.importers.onnx import classifiers
from mlhub.runtime.importers.onnx.files import model_of, tensor_of
from mlhub.runtime.importers.onnx.functions import FUNCTIONS
from mlhub.runtime.importers.onnx.layers import LAYERS
from mlhub.runtime.importers.onnx.nodes import Made, OnnxNode

OPERATORS: Mapping[str, Callable[[OnnxNode], Made]] = {**FUNCTIONS, **LAYERS}
LEAST_OPSET = 7  # before, arithmetic did not broadcast as it does now
FLOATS = (1, 10, 11, 16)
OWN_DOMAINS = ("", "ai.onnx")


def read(path: Path) -> Blueprint:
    """Raises BadInputError naming the operator, or what is not of one input and one output."""
    model = model_of(path)
    opset = max((o.version for o in model.opset_import if o.domain in OWN_DOMAINS), default=0)
    if opset < LEAST_OPSET:
        raise refused(
            f"The model is of operator set {opset}; {LEAST_OPSET} and later are read.",
            "Export it again with a newer opset_version, such as 17.",
        )
    graph = model.graph
    if graph.sparse_initializer:
        raise refused("The model has sparse weights.", "Export it with dense weights.")
    constants = {tensor.name: tensor_of(tensor, path.parent) for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in constants]
    answer = classifiers.answer_of(graph)
    if len(inputs) != 1 or answer is None:
        names = ", ".join(value.name for value in [*inputs, *graph.output])
        raise refused(
            f"The model has {len(inputs)} inputs and {len(graph.output)} outputs ({names}).",
            "Export it with one of each: the batch, and the answers. A classifier may have its label besides.",
        )
    given = inputs[0]
    dims = [_size(dim) for dim in given.type.tensor_type.shape.dim]
    reading = _OnnxReading(opset, constants, path.parent, dims[0] if dims else None, _uses(graph))
    for proto in classifiers.needed_nodes(graph, answer):
        reading.take(proto)
    return Blueprint(
        "ONNX",
        reading.steps,
        input=given.name,
        output=answer,
        input_shape=tuple(dims[1:]) if dims else None,
        takes_indices=given.type.tensor_type.elem_type not in (*FLOATS, 0),
    )


class _OnnxReading:
    """trained: initializers of more than one floating number; single numbers and constants of nodes are settings."""

    def __init__(
        self, opset: int, constants: dict[str, Tensor], folder: Path, batch: int | None, uses: Counter[str]
    ) -> None:
        self.steps: list[Step] = []
        self._opset, self._constants, self._folder, self._batch, self._uses = opset, constants, folder, batch, uses
        self._trained = {name for name, t in constants.items() if t.is_floating_point() and t.numel() > 1}

    def take(self, proto: Any) -> None:
        node = OnnxNode(proto, self._opset, self._constants, self._trained, self._folder, self._batch)
        if proto.domain == classifiers.DOMAIN and (steps := classifiers.steps_of(node)) is not None:
            self.steps += steps
            return
        if proto.domain not in OWN_DOMAINS:
            raise unknown("ONNX operator", f"{proto.domain}.{node.op}", node.name)
        if node.op == "Constant":
            self._constants[proto.output[0]] = self._constant(node)
            return
        if node.op not in OPERATORS:
            raise unknown("ONNX operator", node.op, node.name, known=sorted(OPERATORS))
        if node.inputs and all(name in self._constants or not name for name in node.inputs):
            self._fold(node)
        elif not self._fuse(node):
            module, inputs = OPERATORS[node.op](node)
            self.steps.append(Step(node.name, module, inputs, [name for name in proto.output if name]))

    def _constant(self, node: OnnxNode) -> Tensor:
        for name, kind in (("value_float", torch.float32), ("value_int", torch.int64), ("value_floats", torch.float32),
                           ("value_ints", torch.int64)):  # fmt: skip
            value = node.attr(name)
            if value is not None:
                return torch.tensor(value, dtype=kind)
        value = node.attr("value")
        if not isinstance(value, Tensor):
            raise node.refused("it holds no numbers")
        return value

    def _fold(self, node: OnnxNode) -> None:
        """All inputs are known: so is the output. What is computed of weights is a weight."""
        module, inputs = OPERATORS[node.op](node)
        with torch.no_grad():
            made = module(*(self._constants[name] for name in inputs))
        outputs = [name for name in node.proto.output if name]
        for name, value in zip(outputs, [made] if len(outputs) == 1 else made, strict=False):
            self._constants[name] = value
            if self._trained.intersection(node.inputs) and value.is_floating_point() and value.numel() > 1:
                self._trained.add(name)

    def _fuse(self, node: OnnxNode) -> bool:
        """A vector added to a product with weights is that linear layer's bias."""
        if node.op != "Add" or len(node.inputs) != 2 or node.is_constant(0) == node.is_constant(1):
            return False
        place = 0 if node.is_constant(0) else 1
        bias, read = node.constant(place), node.inputs[1 - place]
        last = self.steps[-1] if self.steps else None
        if last is None or last.outputs != [read] or self._uses[read] != 1 or not isinstance(last.module, nn.Linear):
            return False
        if last.module.bias is not None or bias.shape != (last.module.out_features,):
            return False
        last.module, last.outputs = layers.linear(last.module.weight.detach(), bias), [node.proto.output[0]]
        return True


def _uses(graph: Any) -> Counter[str]:
    """How often each value is read."""
    uses = Counter(name for node in graph.node for name in node.input)
    uses.update(value.name for value in graph.output)
    return uses


def _size(dim: Any) -> int | None:
    return int(dim.dim_value) if dim.dim_value > 0 and not dim.dim_param else None
