# SPDX-License-Identifier: Apache-2.0
"""What a script trained, found among the files that it left: a safetensors file, or a state_dict that torch saved.

Nothing is unpickled but tensors (torch.load with weights_only=True). Needs torch only for files of torch.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlhub.runtime.pod import Pod
from mlhub.runtime.scripts.outputs import is_checkpoint

SAFETENSORS = ".safetensors"
SUFFIXES = (SAFETENSORS, ".pt", ".pth", ".bin", ".ckpt")
NOT_WEIGHTS = ("optim", "scheduler", "rng", "scaler", "training_args", "train_state")  # parts of such files' names
KEYS = ("model_state_dict", "model_state", "state_dict", "model", "module", "net", "weights")  # of a larger checkpoint
MIN_HEADER_BYTES = 8


def keep_weights(pod: Pod, files: Mapping[str, Path], *, hyperparameters: Mapping[str, Any]) -> str | None:
    """Puts the weights into the artifacts folder, where they become a version of the model.

    Returns the name of the file that they come from; None when the script handed them in itself, or left none.
    """
    if (pod.artifacts / "artifacts.json").exists():
        return None
    for name in sorted(_candidates(files), key=lambda name: _rank(name, files[name])):
        pod.artifacts.mkdir(exist_ok=True)
        if _copy(files[name], pod.artifacts / "weights.safetensors"):
            about = {"hyperparameters": dict(hyperparameters), "file": name}
            (pod.artifacts / "metadata.json").write_text(json.dumps(about, default=str))
            return name
        print(f"mlhub: {name} holds no weights that can be read without running code", flush=True)
    return None


def _candidates(files: Mapping[str, Path]) -> list[str]:
    return [
        name
        for name in files
        if name.lower().endswith(SUFFIXES) and not any(part in Path(name).name.lower() for part in NOT_WEIGHTS)
    ]


def _rank(name: str, path: Path) -> tuple[bool, bool, bool, float]:
    """The first is taken: no checkpoint of a series, the best, a safetensors file, the newest."""
    return (
        is_checkpoint(name),
        "best" not in Path(name).name.lower(),
        not name.endswith(SAFETENSORS),
        -path.stat().st_mtime,
    )


def _copy(source: Path, target: Path) -> bool:
    """Whether the file holds weights; then target has them as safetensors."""
    if source.name.endswith(SAFETENSORS):
        if not _is_safetensors(source):
            return False
        shutil.copyfile(source, target)
        return True
    import torch
    from safetensors.torch import save_file

    try:
        tensors = state_of(torch.load(source, map_location="cpu", weights_only=True))
        # clones, since safetensors refuses tensors that share memory, as tied embeddings do
        copies = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
        if copies:
            save_file(copies, target)
    except Exception as error:  # whatever a stranger's file makes torch raise: the script succeeded all the same
        print(f"mlhub: {source.name}: {type(error).__name__}", flush=True)
        target.unlink(missing_ok=True)
        return False
    return bool(copies)


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
