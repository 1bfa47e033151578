# SPDX-License-Identifier: Apache-2.0
"""Models made elsewhere as a pod finds them: zipped, unpacked, and imported through the contract's own door."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from mlhub.runtime.model.contract import Contract, load_contract
from mlhub.wire.launch import ModelSpec

DIGITS = {"task": "classification", "n_classes": 10, "input_shape": [1, 8, 8]}


def package(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "package.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def contract(path: Path, facts: dict[str, Any] | None = None) -> Contract:
    code = Path(tempfile.mkdtemp(dir=path.parent)) / "code"
    return load_contract(ModelSpec("package", "model", "code"), path, code=code, facts=facts or {})


def imported(folder: Path, files: dict[str, bytes], facts: dict[str, Any], **hyperparameters: Any) -> nn.Module:
    """What a job with these hyperparameters would train on such a dataset."""
    found = contract(package(folder, files), facts)
    return found.build_model(found.settings(hyperparameters, facts))


def answers(model: nn.Module, x: Tensor) -> Tensor:
    """Of the model in use, not in training."""
    model.eval()
    with torch.no_grad():
        found: Tensor = model(x)
    return found
