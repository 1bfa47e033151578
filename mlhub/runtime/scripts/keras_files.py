# SPDX-License-Identifier: Apache-2.0
"""Weights in the files that Keras 3 saves: .keras, a zip of a configuration and HDF5, and .weights.h5. Needs h5py.

Only numbers are read. The configuration names the class of the model and is not made into one.
Source: github.com/keras-team/keras, keras/src/saving/saving_lib.py.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

SUFFIXES = (".keras", ".h5")
CONFIG, WEIGHTS, ABOUT = "config.json", "model.weights.h5", "metadata.json"
MAX_CONFIG_BYTES = 2**24
NOT_WEIGHTS = ("optimizer", "compile_metrics", "compile_loss", "metrics", "seed_generator")  # groups of a file


def read_keras_weights(path: Path) -> dict[str, Tensor]:
    """Tensors by layer and place, such as dense.0 and dense.1 of layers/dense/vars/0 and 1; empty without weights.

    Raises OSError, ValueError or zipfile.BadZipFile for a file that is damaged, ImportError without h5py.
    """
    import h5py
    import numpy as np
    import torch

    found: dict[str, Tensor] = {}

    def keep(place: str, held: Any) -> None:
        parts = place.split("/")
        if not isinstance(held, h5py.Dataset) or held.dtype.kind not in "fiu" or set(parts) & set(NOT_WEIGHTS):
            return
        named = [part for part in parts if part not in ("layers", "vars")]
        found[".".join(named)] = torch.from_numpy(np.asarray(held[()]))

    with _opened(path) as content, h5py.File(content, "r") as file:
        file.visititems(keep)
    return found


def describe_keras_file(path: Path) -> str | None:
    """What the model is, such as "Keras 3.15.1, Sequential"; None for a file with weights alone."""
    if path.suffix != ".keras":
        return None
    with zipfile.ZipFile(path) as archive:
        config, about = (_read_json(archive, name) for name in (CONFIG, ABOUT))
    return f"Keras {about.get('keras_version', '3')}, {config.get('class_name', 'model')}"


def _read_json(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    with archive.open(name) as file:
        found = json.loads(file.read(MAX_CONFIG_BYTES))
    return found if isinstance(found, dict) else {}


def _opened(path: Path) -> Any:
    """The HDF5 file: the one within a .keras, which is stored as it is or packed."""
    if path.suffix != ".keras":
        return path.open("rb")
    with zipfile.ZipFile(path) as archive:
        return io.BytesIO(archive.read(WEIGHTS))
