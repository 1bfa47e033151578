# SPDX-License-Identifier: Apache-2.0
"""What a script trained, found among the files that it left: a safetensors file, a state_dict that torch saved, a model
of Keras, or one of scikit-learn.

No code of a file runs: torch reads tensors alone (weights_only=True), and so do keras_files.py and pickled_arrays.py.
"""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlhub.runtime.pod import Pod
from mlhub.runtime.scripts import keras_files, pickled_arrays
from mlhub.runtime.scripts.outputs import is_checkpoint

SAFETENSORS, CONFIG = ".safetensors", "config.json"
TORCH = (".pt", ".pth", ".bin", ".ckpt")
SUFFIXES = (SAFETENSORS, *TORCH, *keras_files.SUFFIXES, *pickled_arrays.SUFFIXES)
# parts of the names of files that hold no weights
NOT_WEIGHTS = ("optim", "scheduler", "rng", "random_states", "scaler", "training_args", "train_state")
KEYS = ("model_state_dict", "model_state", "state_dict", "model", "module", "net", "weights")  # of a larger checkpoint
MIN_HEADER_BYTES = 8
REMEDY = "for a version of the model, save its state_dict: torch.save(model.state_dict(), path)"


def keep_weights(pod: Pod, files: Mapping[str, Path], *, hyperparameters: Mapping[str, Any]) -> str | None:
    """Puts the weights into the artifacts folder, where they become a version of the model.

    Returns the name of the file that they come from; None when the script handed them in itself, or left none.
    """
    if (pod.artifacts / "artifacts.json").exists():
        return None
    for name in sorted(_candidates(files), key=lambda name: _rank(name, files[name])):
        pod.artifacts.mkdir(exist_ok=True)
        about = _copy(files[name], pod.artifacts / "weights.safetensors")
        if about is not None:
            described = {"hyperparameters": dict(hyperparameters), "file": name, **about}
            (pod.artifacts / "metadata.json").write_text(json.dumps(described, default=str))
            return name
        print(f"mlhub: {name} holds no weights that can be read without running code; {REMEDY}", flush=True)
    return None


def _candidates(files: Mapping[str, Path]) -> list[str]:
    return [
        name
        for name in files
        if name.lower().endswith(SUFFIXES) and not any(part in Path(name).name.lower() for part in NOT_WEIGHTS)
    ]


def _rank(name: str, path: Path) -> tuple[bool, bool, bool, bool, float]:
    """The first is taken: no pickled object, no checkpoint of a series, the best, a safetensors file, the newest."""
    return (
        name.lower().endswith(pickled_arrays.SUFFIXES),
        is_checkpoint(name),
        "best" not in Path(name).name.lower(),
        not name.endswith(SAFETENSORS),
        -path.stat().st_mtime,
    )


def _copy(source: Path, target: Path) -> dict[str, Any] | None:
    """What the file says of the model when it holds weights, which target then has as safetensors; else None."""
    if source.name.endswith(SAFETENSORS):
        if not _is_safetensors(source):
            return None
        shutil.copyfile(source, target)
        return _of_config(source.with_name(CONFIG))
    try:
        tensors, about = _read(source)
        if tensors:
            _save(tensors, target)
    except Exception as error:  # whatever a stranger's file makes a reader raise: the script succeeded all the same
        if not isinstance(error, pickle.UnpicklingError):  # which a whole module that torch pickled is
            print(f"mlhub: {source.name}: {type(error).__name__}", flush=True)
        target.unlink(missing_ok=True)
        return None
    return about if tensors else None


def _read(source: Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Tensors by name, and what the file says of the model."""
    import torch

    suffix = source.suffix.lower()
    if suffix in keras_files.SUFFIXES:
        model_class = keras_files.describe_keras_file(source)
        return keras_files.read_keras_weights(source), {"model_class": model_class} if model_class else {}
    if suffix in pickled_arrays.SUFFIXES:
        arrays, model_class, classes = pickled_arrays.read_pickled_arrays(source)
        about = {"model_class": model_class, **({"classes": classes} if classes else {})}
        return {name: torch.from_numpy(array) for name, array in arrays.items()}, about
    return state_of(torch.load(source, map_location="cpu", weights_only=True)), {}


def _save(tensors: Mapping[str, Any], target: Path) -> None:
    from safetensors.torch import save_file

    # clones, since safetensors refuses tensors that share memory, as tied embeddings do
    save_file({name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}, target)


def _of_config(path: Path) -> dict[str, Any]:
    """The class of a model of Hugging Face, from the configuration next to its weights."""
    try:
        named = json.loads(path.read_text()).get("architectures")
    except (OSError, ValueError, AttributeError):
        return {}
    is_named = isinstance(named, list) and len(named) == 1 and isinstance(named[0], str)
    return {"model_class": named[0]} if is_named else {}


def state_of(found: Any) -> dict[str, Any]:
    """The tensors of a state_dict, or of the one within a larger checkpoint; empty when there are none."""
    import torch

    if not isinstance(found, Mapping):
        return {}
    for key in KEYS:
        if isinstance(found.get(key), Mapping) and (inner := state_of(found[key])):
            return inner
    return {str(name): value for name, value in found.items() if isinstance(value, torch.Tensor)}


def _is_safetensors(path: Path) -> bool:
    with path.open("rb") as file:
        n_bytes = int.from_bytes(file.read(MIN_HEADER_BYTES), "little")
        try:
            return isinstance(json.loads(file.read(n_bytes)), dict) if n_bytes <= path.stat().st_size else False
        except ValueError:
            return False
