# SPDX-License-Identifier: Apache-2.0
"""Reads a Keras model: the graph of its configuration, nested models opened, with weights from HDF5."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from mlhub.runtime.importers.graph import Blueprint, Step, refused, unknown
from mlhub.runtime.importers.keras.layer import KerasLayer
from mlhub.runtime.importers.keras.layers import AUGMENTATIONS, converted
from mlhub.runtime.importers.keras.weights import (
    KerasWeights,
    Legacy,
    OfKeras3,
    layers_of,
    name_of,
    opened,
    saved_layers,
)

FUNCTIONAL = ("Functional", "Model")
MOST_NESTED = 20
INPUT = "input"


class KerasValue(NamedTuple):
    """A tensor of the graph: its name, and its axes with the batch."""

    name: str
    rank: int


def read(config: Path, weights: Path) -> Blueprint:
    """A .keras file, unpacked. Raises BadInputError naming the layer."""
    model = json.loads(config.read_text())
    with opened(weights) as file:
        return _read(model, OfKeras3(file, saved_layers(model)) if _is_known(model) else None)


def read_legacy(path: Path) -> Blueprint:
    """An .h5 file of Keras 2 or 3. Raises BadInputError."""
    with opened(path) as file:
        text = file.attrs.get("model_config")
        if text is None:
            raise refused(
                f"{path.name} has no model_config: weights without their architecture, or no Keras file.",
                "Save the whole model, with model.save('model.keras').",
            )
        model = json.loads(text.decode() if isinstance(text, bytes) else text)
        return _read(model, Legacy(file["model_weights"]))


def _is_known(model: Mapping[str, Any]) -> bool:
    return model.get("class_name") == "Sequential" or model.get("class_name") in FUNCTIONAL


def _read(model: Mapping[str, Any], weights: KerasWeights | None) -> Blueprint:
    if not _is_known(model) or weights is None:
        raise refused(
            f"The Keras model is a {model.get('class_name')}: its layers are code, which the file does not hold.",
            "Save a Sequential or functional model, export the model as ONNX, or bring a package with model.py.",
        )
    shape = _input_shape(model)
    if shape is None:
        raise refused("The file does not say the shape of inputs.", "Begin the model with keras.Input(shape).")
    reading = _KerasReading()
    output = reading.model(model, weights, KerasValue(INPUT, 1 + len(shape)), prefix="")
    turned = (shape[-1], *shape[:-1]) if len(shape) == 3 else tuple(shape)
    kinds = reading.first_kinds
    return Blueprint(
        "Keras",
        reading.steps,
        input=INPUT,
        output=output.name,
        input_shape=turned,
        is_channels_last=True,
        takes_indices="Embedding" in kinds,
        notes=reading.notes,
    )


class _KerasReading:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.notes: list[str] = []
        self.first_kinds: set[str] = set()  # of layers that read the input itself
        self._depth = 0

    def model(self, model: Mapping[str, Any], weights: KerasWeights, given: KerasValue, *, prefix: str) -> KerasValue:
        """The output of a model that is given a value."""
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise refused(f"Models are nested more than {MOST_NESTED} times.", "Save a flatter model.")
        if model["class_name"] == "Sequential":
            output = given
            for layer in layers_of(model):
                if layer["class_name"] != "InputLayer":
                    output = self._use(layer, weights, [output], prefix=prefix, shared={}, use=0)
        else:
            output = self._functional(model, weights, given, prefix=prefix)
        self._depth -= 1
        return output

    def _functional(
        self, model: Mapping[str, Any], weights: KerasWeights, given: KerasValue, *, prefix: str
    ) -> KerasValue:
        config = model["config"]
        ins, outs = _references(config["input_layers"]), _references(config["output_layers"])
        if len(ins) != 1 or len(outs) != 1:
            raise refused(
                f"The Keras model {config.get('name', '')} has {len(ins)} inputs and {len(outs)} outputs.",
                "Save a model with one of each.",
            )
        layers = {name_of(layer): layer for layer in layers_of(model)}
        known = {(ins[0][0], 0): given}
        shared: dict[str, list[nn.Module]] = {}
        todo = [
            (name, use, sources)
            for name, layer in layers.items()
            if name != ins[0][0]
            for use, sources in enumerate(_uses(layer))
        ]
        counts = {name: max(1, len(list(_uses(layer)))) for name, layer in layers.items()}

        def key(reference: tuple[str, int]) -> tuple[str, int]:
            name, use = reference
            return name, min(use, counts.get(name, 1) - 1)

        while todo:  # layers come in the order of their making; a shared one is used again later
            ready = [t for t in todo if all(key(s) in known for s in t[2])]
            if not ready:
                raise refused(f"The layer {todo[0][0]} reads what no layer gives.", "Save the model again.")
            for name, use, sources in ready:
                inputs = [known[key(source)] for source in sources]
                known[name, use] = self._use(layers[name], weights, inputs, prefix=prefix, shared=shared, use=use)
            todo = [t for t in todo if (t[0], t[1]) not in known]
        return known[key(outs[0])]

    def _use(
        self, layer: Mapping[str, Any], weights: KerasWeights, inputs: Sequence[KerasValue], *, prefix: str,
        shared: dict[str, list[nn.Module]], use: int,
    ) -> KerasValue:  # fmt: skip
        kind, name = str(layer["class_name"]), name_of(layer)
        full = f"{prefix}{name}"
        if _is_known(layer):
            if len(inputs) != 1 or use:
                raise unknown("Keras layer", f"{kind} used several times", full)
            return self.model(layer, weights.inside(layer), inputs[0], prefix=f"{full}_")
        if not inputs:
            raise refused(f"The Keras layer {kind} ({full}) reads nothing.", "Save the model again.")
        if any(value.name == INPUT for value in inputs):
            self.first_kinds.add(kind)
        if kind in AUGMENTATIONS:
            self.notes.append(f"{name}, {kind}, is left out: the hyperparameter augment does such things")
        built = KerasLayer(kind, full, layer.get("config", {}), weights.of(layer), [value.rank for value in inputs])
        modules = shared[name] if name in shared else converted(built)
        if name in shared:
            converted(built)  # for the rank
        shared[name] = modules
        at = [value.name for value in inputs]
        for i, module in enumerate(modules):
            made = f"{full}:{use}" if i + 1 == len(modules) else f"{full}:{use} before activation"
            self.steps.append(Step(full if not i else f"{full}_activation", module, at, [made]))
            at = [made]
        return KerasValue(at[0], built.rank)


def _input_shape(model: Mapping[str, Any]) -> list[int | None] | None:
    """Without the batch, as Keras has it."""
    config = model["config"]
    candidates = [layer.get("config", {}) for layer in layers_of(model)[:1]]
    if model["class_name"] != "Sequential":
        name = _references(config["input_layers"])[0][0]
        candidates = [layer.get("config", {}) for layer in layers_of(model) if name_of(layer) == name]
    candidates += [config] if isinstance(config, dict) else []
    for found in candidates:
        for key in ("batch_shape", "batch_input_shape", "build_input_shape"):
            if isinstance(found.get(key), list):
                return [None if n is None else int(n) for n in found[key][1:]]
        is_model = isinstance(found, dict) and "layers" in found
        nested = next((layer for layer in layers_of(model) if is_model and layer.get("config") is found), None)
        if nested is not None:
            return _input_shape(nested)
    return None


def _references(given: Any) -> list[tuple[str, int]]:
    """["name", 0, 0], or a list of such."""
    if given and isinstance(given[0], str):
        return [(given[0], int(given[1]))]
    return [(str(name), int(use)) for name, use, *_ in given]


def _uses(layer: Mapping[str, Any]) -> Iterator[list[tuple[str, int]]]:
    """For each call of the layer, what it was given."""
    for node in layer.get("inbound_nodes", []):
        if isinstance(node, dict):
            found = list(_tensors([node.get("args"), node.get("kwargs")]))
        else:  # Keras 2
            sources = [node] if node and isinstance(node[0], str) else node
            found = [(str(source[0]), int(source[1])) for source in sources]
            if any(len(source) > 3 and list(_lists(source[3])) for source in sources):
                raise refused(
                    f"The layer {name_of(layer)} is called with further tensors.", "Save the model with Keras 3."
                )
        yield found


def _tensors(value: Any) -> Iterator[tuple[str, int]]:
    """The tensors of Keras 3 among arguments, in order."""
    if isinstance(value, dict):
        if value.get("class_name") == "__keras_tensor__":
            name, use, *_ = value["config"]["keras_history"]
            yield str(name), int(use)
            return
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _tensors(item)


def _lists(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from (item for item in value.values() if isinstance(item, list))
