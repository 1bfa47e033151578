# SPDX-License-Identifier: Apache-2.0
"""Weights of Keras models in HDF5: by layer, in the order in which Keras creates them.

Source: github.com/keras-team/keras, keras/src/saving/saving_lib.py and keras/src/legacy/saving/legacy_h5_format.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from mlhub.runtime.importers.graph import refused
from mlhub.runtime.importers.keras.layers import n_weights

MOST_PACKED = 100  # numbers pack no better than so much
MIN_ALLOWED_BYTES = 2**20


class KerasWeights(Protocol):
    """Of a container of layers."""

    def of(self, layer: Mapping[str, Any]) -> list[Tensor]:
        """A layer's, in Keras's order. Raises BadInputError."""

    def inside(self, layer: Mapping[str, Any]) -> KerasWeights:
        """Those of a model that is used as a layer."""


def opened(path: Path) -> Any:
    """An h5py.File. Raises BadInputError."""
    try:
        import h5py
    except ImportError as error:
        raise refused(
            "Keras files need h5py, which is not installed here.",
            "Install it (pip install h5py), or use an image of MLHub that has it; or export the model as ONNX.",
        ) from error
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise refused(f"{path.name} is no whole HDF5 file: {error}.", "Save the model again.") from error


class OfKeras3:
    """model.weights.h5: groups named by class and count, as layers/conv2d_1/vars/0."""

    def __init__(self, group: Any, layers: Sequence[Mapping[str, Any]]) -> None:
        self._group, self._places = group, dict[str, str]()
        seen: Counter[str] = Counter()
        for layer in layers:
            word = _snake(str(layer["class_name"]))
            self._places[name_of(layer)] = f"layers/{word}" + (f"_{seen[word]}" if seen[word] else "")
            seen[word] += 1

    def of(self, layer: Mapping[str, Any]) -> list[Tensor]:
        place = f"{self._places[name_of(layer)]}/vars"
        if place not in self._group:
            return []
        held = self._group[place]
        return [_tensor(held[key]) for key in sorted(held, key=int)]

    def inside(self, layer: Mapping[str, Any]) -> OfKeras3:
        group = self._group[self._places[name_of(layer)]]
        return OfKeras3(group, saved_layers(layer))


class Legacy:
    """.h5: a group for each layer of the model, with its weights' names in order."""

    def __init__(self, group: Any) -> None:
        self._group = group

    def of(self, layer: Mapping[str, Any]) -> list[Tensor]:
        name = name_of(layer)
        if name not in self._group:
            return []
        held = self._group[name]
        names = [n.decode() if isinstance(n, bytes) else str(n) for n in held.attrs.get("weight_names", [])]
        return [_tensor(held[n]) for n in names]

    def inside(self, layer: Mapping[str, Any]) -> Listed:
        return Listed(self.of(layer), list(_leaves(layer)))


class Listed:
    """A nested model's of the old format: one list, first what is trained, layer by layer, then the rest."""

    def __init__(self, values: list[Tensor], layers: Sequence[Mapping[str, Any]]) -> None:
        counts = {name_of(layer): n_weights(layer) for layer in layers}
        if sum(trained + fixed for trained, fixed in counts.values()) != len(values):
            raise refused(
                f"A nested model has {len(values)} weights, which its layers do not account for.",
                "Save the model as .keras with Keras 3.",
            )
        rest = iter(values)
        self._values = {name: [next(rest) for _ in range(trained)] for name, (trained, _) in counts.items()}
        for name, (_, fixed) in counts.items():
            self._values[name] += [next(rest) for _ in range(fixed)]

    def of(self, layer: Mapping[str, Any]) -> list[Tensor]:
        return self._values.get(name_of(layer), [])

    def inside(self, layer: Mapping[str, Any]) -> Listed:  # noqa: ARG002 (names are unique all the way down)
        return self


def name_of(layer: Mapping[str, Any]) -> str:
    config = layer.get("config")
    name = config.get("name") if isinstance(config, dict) else None
    return str(layer.get("name") or name or layer.get("class_name"))


def layers_of(model: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The layers of a Sequential or functional model's configuration."""
    config = model["config"]
    found = config if isinstance(config, list) else config.get("layers", [])
    return [layer for layer in found if isinstance(layer, dict)]


def saved_layers(model: Mapping[str, Any]) -> list[dict[str, Any]]:
    """In the order of model.layers: a Sequential leaves its input layer out of it."""
    is_row = model["class_name"] == "Sequential"
    return [layer for layer in layers_of(model) if not (is_row and layer["class_name"] == "InputLayer")]


def _leaves(model: Mapping[str, Any]) -> Any:
    for layer in layers_of(model):
        if isinstance(layer.get("config"), dict) and "layers" in layer["config"]:
            yield from _leaves(layer)
        else:
            yield layer


def _snake(name: str) -> str:
    """keras.src.utils.naming.to_snake_case."""
    name = re.sub(r"\W+", "", name)
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()


def _tensor(dataset: Any) -> Tensor:
    allowed = max(MIN_ALLOWED_BYTES, MOST_PACKED * Path(dataset.file.filename).stat().st_size)
    if dataset.nbytes > allowed:
        raise refused(f"{dataset.name} claims {dataset.nbytes:,} bytes.", "Save the model again.")
    array = np.asarray(dataset[()])
    if array.dtype.kind not in "fiu":
        raise refused(f"{dataset.name} holds {array.dtype}, not numbers.", "Save the model in float32.")
    return torch.from_numpy(array.astype(np.float32) if array.dtype.kind == "f" else array.astype(np.int64))
