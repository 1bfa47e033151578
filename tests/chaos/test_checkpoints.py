# SPDX-License-Identifier: Apache-2.0
"""A checkpoint is whole or it is not one: killed at every step of its writing, cut short, or with a byte changed."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from mlhub.runtime.checkpoints import step_folders
from mlhub.runtime.checkpoints.step_folders import latest

N_SHARDS = 2


def write(root: Path, step: int, *, attempt: int = 1) -> None:
    """A checkpoint as a trainer writes it: weights, optimiser state of two shards, manifest."""
    folder = step_folders.folder_for(root, attempt=attempt, step=step)
    step_folders.write_tensors(folder / step_folders.WEIGHTS, {"w": torch.full((50,), float(step))})
    for shard in range(N_SHARDS):
        state = {"m": torch.full((10,), float(step))}
        step_folders.write_tensors(folder / step_folders.optimizer_file(shard, N_SHARDS), state)
    step_folders.complete(folder, step=step, attempt=attempt)


def newest(root: Path) -> int:
    """The step that a restarted job would resume from; its tensors are those of that step."""
    found = latest(root)
    assert found is not None
    assert float(found.weights()["w"][0]) == found.step
    assert float(found.optimizer()["m"][0]) == found.step
    return found.step


def kill_at(number: int) -> None:
    """From here on, this process is killed before its n-th change of the file system by the checkpoint's code."""
    left = number

    def counted(original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*args, **kwargs)

        return call

    step_folders.save_file = counted(step_folders.save_file)
    step_folders._sync = counted(step_folders._sync)
    shutil.rmtree = counted(shutil.rmtree)  # type: ignore[assignment]
    for name in ("mkdir", "rename", "write_text"):
        setattr(Path, name, counted(getattr(Path, name)))


@pytest.mark.slow
def test_a_trainer_that_is_killed_at_any_step_of_writing_leaves_the_old_checkpoint_or_the_new_one(
    tmp_path: Path,
) -> None:
    write(tmp_path, 10)
    write(tmp_path, 20)
    step, seen = 30, set()
    for number in range(1, 60):
        child = os.fork()
        if child == 0:
            kill_at(number)
            write(tmp_path, step)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        seen.add(newest(tmp_path) - step)
        assert newest(tmp_path) in (step - 10, step), f"killed before change {number}"
        if os.WIFEXITED(status):
            break
        write(tmp_path, step)  # what a restarted trainer does
        assert newest(tmp_path) == step
        step += 10
    assert os.WIFEXITED(status)
    assert seen == {-10, 0}
    assert number > 8


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "cut":
        path.write_bytes(content[:-1])
    else:
        place = {"first byte": 0, "middle byte": len(content) // 2, "last byte": len(content) - 1}[how]
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])


@pytest.mark.parametrize("how", ["gone", "empty", "cut", "first byte", "middle byte", "last byte"])
@pytest.mark.parametrize("name", ["weights.safetensors", "optimizer-1-of-2.safetensors", "manifest.json"])
def test_a_damaged_checkpoint_is_never_chosen_and_the_one_before_it_is(tmp_path: Path, name: str, how: str) -> None:
    write(tmp_path, 10)
    write(tmp_path, 20)
    assert newest(tmp_path) == 20
    folder = next(p for p in tmp_path.iterdir() if p.name.endswith("20"))
    damage(folder / name, how)
    if name == "manifest.json" and how in ("first byte", "middle byte", "last byte"):
        assert newest(tmp_path) in (10, 20)  # a byte that changes no hash and no step leaves it what it was
    else:
        assert newest(tmp_path) == 10


def test_a_zombie_s_checkpoint_is_not_resumed_though_its_step_is_higher(tmp_path: Path) -> None:
    write(tmp_path, 100, attempt=2)
    write(tmp_path, 900, attempt=1)  # of an attempt that was fenced, and writes all the same
    found = latest(tmp_path)
    assert found is not None
    assert (found.attempt, found.step) == (2, 100)
