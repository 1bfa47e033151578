# SPDX-License-Identifier: Apache-2.0
"""Reads a Caffe net: its layers in order, as they are in the phase TEST, with the weights of the same names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from mlhub.runtime.importers.caffe.files import input_shape_of, layers_of, net_of, weights_of
from mlhub.runtime.importers.caffe.layers import LAYERS, CaffeLayer
from mlhub.runtime.importers.graph import Blueprint, Step, refused, unknown

SOURCES = ("Data", "ImageData", "HDF5Data", "MemoryData", "WindowData", "DummyData", "Input")
LEFT_OUT = ("Accuracy", "Silence", "EuclideanLoss", "HingeLoss", "ArgMax", "HDF5Output")
LOSSES = {"SoftmaxWithLoss": "Softmax", "SigmoidCrossEntropyLoss": "Sigmoid"}  # -> what the net answers with


def read(text: Path, weights: Path) -> Blueprint:
    """Raises BadInputError naming the layer."""
    net = net_of(text)
    layers = layers_of(net)
    name, shape = input_shape_of(net, layers)
    blobs = weights_of(weights)
    steps: list[Step] = []
    notes: list[str] = []
    for layer in layers:
        if layer.type in LEFT_OUT:
            notes.append(f"{layer.name}, {layer.type}, is left out")
        elif layer.type not in SOURCES:
            steps += _steps(layer, blobs)
    read_by_others = {bottom for step in steps for bottom in step.inputs}
    last = steps[-1] if steps else None
    ends = {top for step in steps for top in step.outputs} - read_by_others
    if last is None:
        raise refused("The net has no layers.", "Send the prototxt for deployment.")
    if len(ends) > 1:
        raise refused(
            f"The net has several outputs: {', '.join(sorted(ends))}.",
            "Send the prototxt for deployment, and take the layers of auxiliary outputs out of it.",
        )
    return Blueprint(
        "Caffe", steps, input=name, output=ends.pop() if ends else last.outputs[0], input_shape=shape, notes=notes
    )


def _steps(layer: Any, blobs: dict[str, list[Any]]) -> list[Step]:
    kind = LOSSES.get(layer.type, layer.type)
    inputs, outputs = list(layer.bottom), list(layer.top) or [layer.name]
    if layer.type in LOSSES:
        inputs, outputs = inputs[:1], outputs[:1]
    if kind == "Split":
        return [Step(layer.name, _Copies(len(outputs)), inputs, outputs)]
    if kind not in LAYERS:
        raise unknown("Caffe layer", layer.type, layer.name, known=[*LAYERS, "Split", *LOSSES])
    if not inputs:
        raise refused(f"The Caffe layer {layer.type} ({layer.name}) reads nothing.", "Send the whole prototxt.")
    made = Step(layer.name, LAYERS[kind](CaffeLayer(layer, blobs.get(layer.name, []))), inputs, outputs)
    if kind != "InnerProduct":
        return [made]
    made.inputs = [f"{layer.name} flat"]  # it takes all of an example, as a row
    return [Step(f"{layer.name}_flat", nn.Flatten(), inputs, made.inputs), made]


class _Copies(nn.Module):
    """The same value under several names."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self._n = n

    def forward(self, x: Any) -> Any:
        return (x,) * self._n if self._n > 1 else x
