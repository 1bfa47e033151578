# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of scripts: a folder that is there whole or not at all, and outlives the attempt. Standard library only.

with checkpoint(step, loss=0.3) as folder:      # rank 0
    torch.save(model.state_dict(), folder / "model.pt")
...
found = latest_checkpoint()                     # every rank
if found is not None:
    model.load_state_dict(torch.load(found.folder / "model.pt"))
    start = found.step
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlhub.runtime.scripts.api import checkpoint_folder

ABOUT = "checkpoint.json"
FOLDER = "checkpoints"  # outside of a pod


@dataclass(frozen=True)
class Kept:
    """about: what checkpoint() was given in addition to the step."""

    step: int
    folder: Path
    about: dict[str, Any]


@contextmanager
def checkpoint(step: int, *, keep: int = 2, **about: Any) -> Iterator[Path]:
    """A folder to write into; when the block ends well it takes its place, and older ones than the newest `keep` go.

    By one worker. about: what JSON can hold. Raises ValueError for a step below 0 or a keep below 1.
    """
    if step < 0 or keep < 1:
        raise ValueError(f"checkpoint({step}, keep={keep}): give a step of at least 0, and keep at least 1.")
    place = _place()
    aside, final = place / f".step-{step:012d}", place / f"step-{step:012d}"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
        (aside / ABOUT).write_text(json.dumps({"step": step, "about": about}))
        for path in [*aside.rglob("*"), aside]:
            _to_disk(path)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    shutil.rmtree(final, ignore_errors=True)
    aside.rename(final)
    _to_disk(place)
    for old in sorted(place.glob("step-*"))[:-keep]:
        if old != final:
            shutil.rmtree(old, ignore_errors=True)


def latest_checkpoint() -> Kept | None:
    """The newest whole one, of this attempt or an earlier one."""
    for folder in sorted(_place().glob("step-*"), reverse=True):
        if (folder / ABOUT).exists():
            manifest = json.loads((folder / ABOUT).read_text())
            return Kept(int(manifest["step"]), folder, manifest["about"])
    return None


def _place() -> Path:
    return checkpoint_folder() or Path(FOLDER)


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
