# SPDX-License-Identifier: Apache-2.0
"""A file made elsewhere as a module that keeps the model contract: the answer for a package without code."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from torch import Tensor, nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.importers import adaptation, detection
from mlhub.runtime.importers.graph import Blueprint, module_of, refused

ModelReader = Callable[..., Blueprint]


def imported_by(readers: Mapping[str, ModelReader], code: Path, *, entry: str) -> ModuleType | None:
    """code: the unpacked upload. None when nothing in it is a model of the readers' formats.

    Raises BadInputError for one that cannot be imported, naming the layer and the remedy.
    """
    found = detection.detect(code)
    if found is None or found.format not in readers:
        return None
    blueprint = _read(readers[found.format], found.files)
    module_of(blueprint.steps, input=blueprint.input, output=blueprint.output)  # is it whole?
    return _module(entry, blueprint)


def _read(reader: ModelReader, files: tuple[Path, ...]) -> Blueprint:
    """Damaged files make parsers fail in many ways; all of them are the file's fault."""
    try:
        return reader(*files)
    except BadInputError:
        raise
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RuntimeError, OSError, EOFError,
            OverflowError, RecursionError, struct.error, zipfile.BadZipFile) as error:  # fmt: skip
        names = ", ".join(file.name for file in files)
        raise refused(
            f"{names} cannot be read: {type(error).__name__}: {error}",
            "Check that the file is whole, and that the framework that wrote it can load it; then export it again.",
        ) from error


def _module(entry: str, blueprint: Blueprint) -> ModuleType:
    def build_model(hyperparameters: dict[str, Any]) -> nn.Module:
        return adaptation.fitted(blueprint, hyperparameters)

    def preprocess(inputs: Tensor) -> Tensor:
        return inputs if blueprint.takes_indices else inputs.float()

    shape = None if blueprint.input_shape is None else ["any" if n is None else n for n in blueprint.input_shape]
    n_weights = sum(p.numel() for step in blueprint.steps for p in step.module.parameters())
    sentences = [
        f"Imported from {blueprint.format}: {len(blueprint.steps)} layers, {n_weights:,} weights.",
        *([f"Examples of the shape {shape}."] if shape is not None else []),
        *blueprint.notes,
    ]
    module = ModuleType(entry, " ".join(sentences))
    for name, value in {
        "build_model": build_model,
        "preprocess": preprocess,
        "HYPERPARAMETERS": dict(adaptation.HYPERPARAMETERS),
        "ANSWERS_IN_OWN_UNIT": True,
        "BEGINS_TRAINED": True,
    }.items():
        setattr(module, name, value)
    return module
