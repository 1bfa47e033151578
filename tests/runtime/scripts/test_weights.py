# SPDX-License-Identifier: Apache-2.0
"""Which of a script's files is its model, and what of it counts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from mlhub.runtime.pod import Pod
from mlhub.runtime.scripts.weights import keep_weights, state_of


class Harmful:
    """Its unpickling runs code."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("unpickled",)


def kept(tmp_path: Path, **files: Any) -> tuple[str | None, Path]:
    """Saves the objects by name, oldest first, and returns which one was taken, and the artifacts folder."""
    paths = {}
    for i, (name, found) in enumerate(files.items()):
        path = tmp_path / name.replace("__", ".")
        save_file(found, path) if path.suffix == ".safetensors" else torch.save(found, path)
        os.utime(path, (1000 + i, 1000 + i))
        paths[f"output/{path.name}"] = path
    pod = Pod(None, tmp_path, "", "", b"", tmp_path)  # type: ignore[arg-type]
    return keep_weights(pod, paths, hyperparameters={"lr": 0.1}), pod.artifacts


def test_the_newest_file_of_weights_is_the_model(tmp_path: Path) -> None:
    state = {"w": torch.ones(2)}
    name, artifacts = kept(tmp_path, first__pt=state, final__pt={"w": torch.zeros(3)}, optimizer__pt=state)
    assert name == "output/final.pt"
    assert load_file(artifacts / "weights.safetensors")["w"].shape == (3,)
    assert json.loads((artifacts / "metadata.json").read_text()) == {"hyperparameters": {"lr": 0.1}, "file": name}


def test_the_best_comes_before_the_newest_and_both_before_a_checkpoint(tmp_path: Path) -> None:
    state = {"w": torch.ones(2)}
    assert kept(tmp_path, best__pt=state, last__pt=state, epoch_9__pt=state)[0] == "output/best.pt"


def test_a_series_of_checkpoints_alone_gives_its_newest(tmp_path: Path) -> None:
    state = {"w": torch.ones(2)}
    assert kept(tmp_path, epoch_1__pt=state, epoch_2__pt=state)[0] == "output/epoch_2.pt"


def test_a_pickled_object_is_passed_over_and_none_of_its_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, artifacts = kept(tmp_path, model__safetensors={"w": torch.ones(1)}, best__pt=Harmful())
    assert name == "output/model.safetensors"
    assert not Path("unpickled").exists()
    assert set(load_file(artifacts / "weights.safetensors")) == {"w"}


def test_a_file_that_is_damaged_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 40)
    pod = Pod(None, tmp_path, "", "", b"", tmp_path)  # type: ignore[arg-type]
    files = {"output/model.safetensors": tmp_path / "model.safetensors"}
    assert keep_weights(pod, files, hyperparameters={}) is None
    assert not (tmp_path / "artifacts" / "weights.safetensors").exists()


@pytest.mark.parametrize(
    ("saved", "names"),
    [
        ({"model": {"a": torch.ones(1)}, "epoch": 3}, {"a"}),
        ({"state_dict": {"model": {"a": torch.ones(1)}}}, {"a"}),
        ({"weights": torch.ones(1), "model": 3}, {"weights"}),
        ({"epoch": 3}, set()),
        ([torch.ones(1)], set()),
    ],
)
def test_a_state_dict_is_found_within_a_larger_checkpoint(saved: Any, names: set[str]) -> None:
    assert set(state_of(saved)) == names
