# SPDX-License-Identifier: Apache-2.0
"""Checkpoints: a folder a step, complete once its manifest is there, readable by any number of workers and servers.

<checkpoints>/attempt-0003-step-0000000420/
    weights.safetensors             the model's state: parameters and buffers
    optimizer-0-of-2.safetensors    flat state (optimizer_state.py), one file a shard
    residuals.safetensors           of compressed gradients: the residual, as a mean over workers
    average.safetensors             the moving average of the weights, where the job has one
    manifest.json                   written last: step, files with their hashes and sizes, state of the training loop
    pinned                          there when a person wants to keep it

A later attempt's checkpoint precedes an earlier one's, so that a zombie's is never resumed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

WEIGHTS = "weights.safetensors"
RESIDUALS = "residuals.safetensors"
AVERAGE = "average.safetensors"
MANIFEST = "manifest.json"
PIN = "pinned"
N_KEPT = 2
_OS_ERROR = re.compile(r"\(os error (\d+)\)")  # in what safetensors says, whose errors are no OSErrors
_NAME = re.compile(r"attempt-(\d+)-step-(\d+)")


@dataclass(frozen=True)
class StepCheckpoint:
    folder: Path
    attempt: int
    step: int
    files: Mapping[str, Any]
    state: Mapping[str, Any] = field(default_factory=dict)  # of the training loop

    @property
    def size_bytes(self) -> int:
        return sum(int(file["size_bytes"]) for file in self.files.values())

    def weights(self) -> dict[str, Tensor]:
        return load_file(self.folder / WEIGHTS)

    def optimizer(self) -> dict[str, Tensor]:
        """The optimiser's state of all shards."""
        out: dict[str, Tensor] = {}
        for name in self.files:
            if name.startswith("optimizer-"):
                out |= load_file(self.folder / name)
        return out

    def average(self) -> dict[str, Tensor] | None:
        """The moving average of the weights; None without one."""
        return load_file(self.folder / AVERAGE) if AVERAGE in self.files else None

    def residuals(self) -> dict[str, Tensor]:
        """The residual of each parameter, in its shape; empty without compression."""
        return load_file(self.folder / RESIDUALS) if RESIDUALS in self.files else {}


def folder_for(root: Path, *, attempt: int, step: int) -> Path:
    """Makes the empty folder of a new checkpoint, which has no manifest yet."""
    folder = root / f"attempt-{attempt:04d}-step-{step:010d}"
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    return folder


def part_folder(root: Path, *, attempt: int, step: int, rank: int) -> Path:
    """The folder where a worker leaves its part of a new checkpoint for rank 0."""
    return root / f".part-attempt-{attempt:04d}-step-{step:010d}-rank-{rank}"


def leave_part(folder: Path, write: Callable[[Path], None]) -> None:
    """Publishes a worker's part at once, whole and on the disk. write: writes the files into a given folder."""
    temporary = folder.with_name(f"{folder.name}.writing")
    for old in (temporary, folder):
        shutil.rmtree(old, ignore_errors=True)
    temporary.mkdir(parents=True)
    write(temporary)
    temporary.rename(folder)
    _sync(folder.parent)


def take_parts(folder: Path, *, attempt: int, step: int, ranks: Iterable[int], timeout_s: float) -> None:
    """Moves other workers' parts into the checkpoint's folder. Raises TimeoutError when one is missing."""
    until = time.monotonic() + timeout_s
    for rank in ranks:
        part = part_folder(folder.parent, attempt=attempt, step=step, rank=rank)
        while not part.is_dir():
            if time.monotonic() > until:
                raise TimeoutError(f"worker {rank} left no part of the checkpoint of step {step} within {timeout_s} s")
            time.sleep(0.02)
        for file in part.iterdir():
            file.rename(folder / file.name)
        part.rmdir()
    for old in folder.parent.glob(".part-*"):
        if not old.name.startswith(f".part-attempt-{attempt:04d}-"):
            shutil.rmtree(old, ignore_errors=True)


def optimizer_file(shard: int, n_shards: int) -> str:
    return f"optimizer-{shard}-of-{n_shards}.safetensors"


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Writes tensors, and returns when they are on the disk. Raises OSError, as of a full one."""
    try:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:
        if (found := _OS_ERROR.search(str(error))) is None:
            raise
        number = int(found[1])
        raise OSError(number, os.strerror(number), str(path)) from error
    _sync(path)


def complete(
    folder: Path, *, step: int, attempt: int, state: Mapping[str, Any] | None = None, n_kept: int = N_KEPT
) -> StepCheckpoint:
    """Writes the manifest, which completes the checkpoint, and removes the oldest ones beyond n_kept.

    state: of the training loop, as JSON. Those that a person pinned stay, and do not count.
    """
    files = {p.name: {"sha256": _sha256(p), "size_bytes": p.stat().st_size} for p in sorted(folder.iterdir())}
    manifest = {"step": step, "attempt": attempt, "at": time.time(), "files": files, "state": dict(state or {})}
    temporary = folder / f".{MANIFEST}"
    temporary.write_text(json.dumps(manifest, indent=1))
    _sync(temporary)
    temporary.rename(folder / MANIFEST)
    _sync(folder)
    unpinned = [path for path in _listed(folder.parent) if not (path / PIN).exists()]
    for old in unpinned[n_kept:]:
        shutil.rmtree(old, ignore_errors=True)
    return StepCheckpoint(folder, attempt, step, files, dict(state or {}))


def latest(root: Path, *, before_attempt: int | None = None) -> StepCheckpoint | None:
    """The newest checkpoint that is whole: every file has the hash of the manifest. None when there is none."""
    for folder in _listed(root):
        found = _read(folder)
        if found is not None and (before_attempt is None or found.attempt <= before_attempt):
            return found
    return None


def names(root: Path) -> list[str]:
    """The names of complete checkpoints, newest first."""
    return [folder.name for folder in _listed(root)]


def _listed(root: Path) -> list[Path]:
    """Folders with a manifest, newest attempt and step first."""
    found = []
    for path in root.iterdir() if root.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match and (path / MANIFEST).exists():
            found.append((int(match[1]), int(match[2]), path))
    return [path for *_, path in sorted(found, reverse=True)]


def _read(folder: Path) -> StepCheckpoint | None:
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        files = manifest["files"]
        if any(_sha256(folder / name) != file["sha256"] for name, file in files.items()):
            return None
        state = manifest.get("state") or {}
        return StepCheckpoint(folder, int(manifest["attempt"]), int(manifest["step"]), files, state)
    except (OSError, ValueError, KeyError):
        return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
