# SPDX-License-Identifier: Apache-2.0
"""What the dry run of a job reports of code that raises, hangs, eats memory or does not fit its dataset."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from mlhub.runtime.errors import BadInputError, NotANumberError
from mlhub.runtime.inspection.dry_run import try_out
from mlhub.runtime.inspection.trials import tried
from mlhub.wire.launch import ModelSpec, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

NET = """
import torch
from torch import nn

def build_model(given):
    return nn.Linear({n_inputs}, {n_outputs})
"""


def tried_out(folder: Path, code: str, *, x: object = None, y: object = None) -> object:
    data = folder / "data.npz"
    if x is None:
        write_blobs(data)  # six numbers, three classes
    else:
        np.savez(data, x=x, y=y)
    name = f"tried_{folder.name}"
    with zipfile.ZipFile(folder / "code.zip", "w") as archive:
        archive.writestr(f"{name}.py", code)
    gang = Gang(
        folder,
        data,
        model=ModelSpec(kind="package", entry=name, package="code"),
        package=folder / "code.zip",
        training=TrainingSpec(epochs=1, batch_size=10),
    )
    return try_out(gang.spec(), {"data": data, "code": folder / "code.zip"}, code=folder / "code")


@pytest.mark.parametrize(
    ("code", "field", "words", "remedy"),
    [
        (NET.format(n_inputs=6, n_outputs=2), "model", "outputs of the shape [4, 2]", "[4, 3]"),
        (NET.format(n_inputs=7, n_outputs=3), "model", "cannot be multiplied", "input_shape"),
        ("def build_model(given):\n    return 3\n", "build_model", "returned a int", "torch.nn.Module"),
        ("def build_model(given):\n    return given['width']\n", "build_model", "KeyError: 'width'", "Correct"),
        (
            NET.format(n_inputs=6, n_outputs=3) + "def loss(o, t):\n    return (o.sum(1) - t) ** 2\n",
            "loss", "shape (4,)", "mean",
        ),
        (NET.format(n_inputs=6, n_outputs=3) + "def loss(o, t):\n    return 0.5\n", "loss", "float", "mean"),
        (
            NET.format(n_inputs=6, n_outputs=3) + "def loss(o, t):\n    return o.detach().mean()\n",
            "loss", "does not require grad", "detach()",
        ),
        (
            NET.format(n_inputs=6, n_outputs=3) + "def preprocess(x):\n    return x['a']\n",
            "preprocess", "raised", "[4, 6]",
        ),
        (NET.format(n_inputs=6, n_outputs=3) + "def metrics(o, t):\n    return 1 / 0\n", "metrics", "Zero", "{name"),
    ],
)  # fmt: skip
def test_code_that_does_not_work_is_reported_where_why_and_what_to_do(
    code: str, field: str, words: str, remedy: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInputError) as refused:
        tried_out(tmp_path, code)
    assert refused.value.field == field
    assert words in refused.value.message
    assert remedy in refused.value.remedy


def test_a_regression_that_answers_with_two_numbers_is_reported(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(40, 6))
    with pytest.raises(BadInputError, match=r"outputs of the shape \[4, 2\] .* targets of regression") as refused:
        tried_out(tmp_path, NET.format(n_inputs=6, n_outputs=2), x=x, y=x[:, 0])
    assert "[4, 1]" in refused.value.remedy


def test_measurements_that_come_as_whole_numbers_are_explained(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 9, (40, 6))
    with pytest.raises(BadInputError) as refused:
        tried_out(tmp_path, NET.format(n_inputs=6, n_outputs=2), x=x, y=x[:, 0] % 2)
    assert "int64" in refused.value.remedy
    assert "save x as float32" in refused.value.remedy


def test_a_loss_that_is_no_number_is_its_own_cause(tmp_path: Path) -> None:
    with pytest.raises(NotANumberError, match="nan"):
        tried_out(
            tmp_path, NET.format(n_inputs=6, n_outputs=3) + "def loss(o, t):\n    return o.mean() * float('nan')\n"
        )


def test_code_that_hangs_is_interrupted_where_it_hangs() -> None:
    def hang() -> None:
        while True:
            try:
                time.sleep(10)
            except Exception:
                continue

    with pytest.raises(BadInputError) as refused, tried("build_model", "", patience_s=0.2):
        hang()
    assert refused.value.code == "too_slow"


def test_memory_that_is_used_up_stays_a_matter_of_memory() -> None:
    with pytest.raises(MemoryError), tried("model", ""):
        torch.empty(2**46)


def test_speed_is_measured_in_processor_time_so_that_other_processes_do_not_count(tmp_path: Path) -> None:
    code = NET.format(n_inputs=6, n_outputs=3) + (
        "import time\ndef loss(o, t):\n    time.sleep(0.2)\n    return nn.functional.cross_entropy(o, t)\n"
    )
    profile = tried_out(tmp_path, code)
    assert isinstance(profile, dict)
    assert profile["step_overhead_s"] + 4 * profile["example_s"] < 0.2
