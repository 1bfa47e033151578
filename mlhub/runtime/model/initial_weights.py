# SPDX-License-Identifier: Apache-2.0
"""Weights next to model.py, named by INITIAL_WEIGHTS: safetensors, or a state_dict that torch.save wrote."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.model.file_signatures import HEAD_BYTES, kind_of_head

if TYPE_CHECKING:  # a package that names no weights is inspected without torch
    from torch import Tensor, nn

NAME = "INITIAL_WEIGHTS"
WRAPPERS = ("state_dict", "model_state_dict", "model")  # under which checkpoints keep the weights
SHOWN = 5


def given(module: ModuleType, code: Path) -> Path | None:
    """The file that the module names, None when it names none. Raises BadInputError when it cannot be read."""
    name = getattr(module, NAME, None)
    if name is None:
        return None
    path = code / str(name)
    if not isinstance(name, str) or ".." in PurePosixPath(name).parts or not path.is_file() or path.is_symlink():
        raise _refused(f"{NAME} is {name!r}, which is no file of the package.", "Name a file as it is in the zip.")
    weights(path)
    return path


def weights(path: Path) -> dict[str, Tensor]:
    """Tensors by name. Raises BadInputError."""
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    with path.open("rb") as file:
        kind = kind_of_head(file.read(HEAD_BYTES), size_bytes=path.stat().st_size)
    try:
        found: Any = (
            load_file(path) if kind == "safetensors" else torch.load(path, map_location="cpu", weights_only=True)
        )
    except (pickle.UnpicklingError, SafetensorError, RuntimeError, ValueError, EOFError, KeyError) as error:
        remedy = "Save torch.save(model.state_dict(), file), not the model itself, or use safetensors."
        if kind == "safetensors":
            remedy = "The file is damaged: write it again with safetensors.torch.save_file(model.state_dict(), file)."
        words = str(error).splitlines()[0].strip("'") if str(error) else repr(error)
        raise _refused(f"{path.name} cannot be read as weights: {words}", remedy) from error
    for wrapper in WRAPPERS:
        if isinstance(found, dict) and isinstance(found.get(wrapper), dict):
            found = found[wrapper]
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise _refused(
            f"{path.name} holds a {type(found).__name__} of other things than tensors.", "Save a state_dict."
        )
    return {str(name).removeprefix("module."): value for name, value in found.items()}


def built_with(build_model: Callable[[dict[str, Any]], nn.Module], path: Path) -> Callable[[dict[str, Any]], nn.Module]:
    """build_model, followed by the weights; with replace_head all but the last layer's."""
    from torch import nn

    def build(hyperparameters: dict[str, Any]) -> nn.Module:
        model = build_model(hyperparameters)
        if isinstance(model, nn.Module):
            _fill(model, weights(path), path.name, keeps_head=bool(hyperparameters.get("replace_head")))
        return model

    return build


def _fill(model: nn.Module, found: Mapping[str, Tensor], name: str, *, keeps_head: bool) -> None:
    expected = model.state_dict()
    if keeps_head:
        head = [module for module, m in model.named_modules() if any(True for _ in m.parameters(recurse=False))][-1:]
        own = {key for key in expected for prefix in head if key.rpartition(".")[0] == prefix}
        found = {key: value for key, value in found.items() if key not in own} | {key: expected[key] for key in own}
        print(f"{name}: {', '.join(head)} begins anew, everything else as in the file", flush=True)
    unfit = [
        *(f"{key} is missing" for key in expected if key not in found),
        *(f"{key} is not of the model" for key in found if key not in expected),
        *(
            f"{key} has the shape {list(found[key].shape)}, in the model {list(value.shape)}"
            for key, value in expected.items()
            if key in found and found[key].shape != value.shape
        ),
    ]
    if unfit:
        more = f" and {len(unfit) - SHOWN} more" if len(unfit) > SHOWN else ""
        raise _refused(
            f"{name} does not fit the model: {'; '.join(unfit[:SHOWN])}{more}.",
            "Give the weights of this very model; for a last layer of another width the hyperparameter "
            "replace_head: true.",
        )
    model.load_state_dict(dict(found))


def _refused(message: str, remedy: str) -> BadInputError:
    return BadInputError(message, field=NAME, remedy=remedy, code="does_not_fit")
