# SPDX-License-Identifier: Apache-2.0
"""Classifiers as skl2onnx writes them: two outputs, the label and the probabilities, of which the second is the model.

Source: github.com/onnx/onnx, docs/Operators-ml.md (LinearClassifier, Normalizer, ZipMap).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from mlhub.runtime.importers import layers
from mlhub.runtime.importers.graph import Step
from mlhub.runtime.importers.onnx.nodes import OnnxNode

DOMAIN = "ai.onnx.ml"
LABEL_TYPES = (6, 7, 8)  # int32, int64 and text, as TensorProto counts types


def answer_of(graph: Any) -> str | None:
    """The value that the model answers with: its only output, or a classifier's probabilities next to the label.

    None for other outputs than these.
    """
    if len(graph.output) == 1:
        return _before_zip_map(graph, graph.output[0].name)
    labels = [value for value in graph.output if value.type.tensor_type.elem_type in LABEL_TYPES]
    others = [value for value in graph.output if value not in labels]
    if len(labels) != 1 or len(others) != 1:
        return None
    return _before_zip_map(graph, others[0].name)


def needed_nodes(graph: Any, answer: str) -> list[Any]:
    """The nodes that the answer is computed by, in the file's order: those of a label are left out."""
    wanted, found = {answer}, []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            found.append(node)
            wanted.update(node.input)
    return found[::-1]


def steps_of(node: OnnxNode) -> list[Step] | None:
    """The steps of an operator of ai.onnx.ml; None for an unknown one. Raises BadInputError."""
    make = _OPERATORS.get(node.op)
    return None if make is None else make(node)


def _before_zip_map(graph: Any, name: str) -> str:
    """A ZipMap only makes dictionaries of rows."""
    writer = next((node for node in graph.node if name in node.output), None)
    return str(writer.input[0]) if writer is not None and writer.op_type == "ZipMap" else name


def _linear_classifier(node: OnnxNode) -> list[Step]:
    """Of its two outputs the scores. The logistic function of two classes' opposite scores is a softmax of half."""
    intercepts = torch.tensor(node.attr("intercepts", []), dtype=torch.float32)
    n_classes = len(node.attr("classlabels_ints") or _words(node, "classlabels_strings"))
    coefficients = torch.tensor(node.attr("coefficients"), dtype=torch.float32)
    if n_classes < 2 or coefficients.numel() % n_classes or intercepts.numel() not in (0, n_classes):
        raise node.refused("it has no row of coefficients for each class")
    weight = coefficients.reshape(n_classes, -1)
    bias = intercepts if intercepts.numel() else torch.zeros(n_classes)
    transform = node.attr("post_transform", "NONE")
    if transform == "LOGISTIC" and n_classes == 2 and _are_opposite(weight, bias):
        weight, bias, transform = weight / 2, bias / 2, "SOFTMAX"
    output, scores = node.proto.output[1], f"{node.proto.output[1]} before {transform}"
    if transform == "NONE":
        return [Step(node.name, layers.linear(weight, bias), [node.inputs[0]], [output])]
    if transform != "SOFTMAX":
        raise node.refused(f"its post_transform {transform} of {n_classes} classes is no softmax")
    return [
        Step(node.name, layers.linear(weight, bias), [node.inputs[0]], [scores]),
        Step(f"{node.name} softmax", nn.Softmax(-1), [scores], [output]),
    ]


def _normalizer(node: OnnxNode) -> list[Step]:
    """Rows divided by their sum, which probabilities do not change by."""
    if node.attr("norm", "MAX") != "L1":
        raise node.refused("it divides by something else than the sum")
    return [Step(node.name, nn.Identity(), [node.inputs[0]], [node.proto.output[0]])]


def _are_opposite(weight: torch.Tensor, bias: torch.Tensor) -> bool:
    return torch.equal(weight[0], -weight[1]) and torch.equal(bias[0], -bias[1])


def _words(node: OnnxNode, name: str) -> Sequence[bytes]:
    return next((a.strings for a in node.proto.attribute if a.name == name), ())


_OPERATORS: Mapping[str, Callable[[OnnxNode], list[Step]]] = {
    "LinearClassifier": _linear_classifier,
    "Normalizer": _normalizer,
}
