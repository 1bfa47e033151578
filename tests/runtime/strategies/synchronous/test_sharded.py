# SPDX-License-Identifier: Apache-2.0
"""The training of all-reduce, with a part of the optimiser's state on each worker; and the naive main worker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import TrainingSpec
from tests.runtime.gang import Gang, write_blobs

pytestmark = [pytest.mark.dist, pytest.mark.slow]
TRAINING = TrainingSpec(
    epochs=8, batch_size=10, hyperparameters={"optimizer": "adam", "clip_norm": 0.5, "accumulation_steps": 2}
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blobs(tmp_path_factory.mktemp("data") / "blobs.npz", n=67)


def run(folder: Path, data: Path, strategy: dict[str, object], *, n_workers: int) -> Gang:
    gang = Gang(folder, data, training=replace(TRAINING, strategy=strategy))
    gang.start(n_workers=n_workers)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    return gang


@pytest.mark.slow
def test_sharded_trains_what_all_reduce_trains_by_as_many_bytes(tmp_path: Path, data: Path) -> None:
    whole, sharded = (run(tmp_path / name, data, {"name": name}, n_workers=2) for name in ("all_reduce", "sharded"))
    for name, value in whole.weights().items():
        np.testing.assert_allclose(sharded.weights()[name], value, rtol=0, atol=1e-6, err_msg=name)
    assert sharded.bytes_sent() == pytest.approx(whole.bytes_sent(), rel=0.05)


@pytest.mark.slow
def test_a_worker_of_all_reduce_sends_what_a_ring_sends(tmp_path: Path, data: Path) -> None:
    gang = run(tmp_path, data, {"name": "all_reduce"}, n_workers=3)
    model_bytes = sum(value.nbytes for value in gang.weights().values())
    assert gang.bytes_sent() == pytest.approx(2 * model_bytes * (3 - 1) / 3, rel=0.1)


@pytest.mark.slow
def test_each_worker_holds_its_part_of_the_state_and_any_number_of_workers_goes_on_from_it(tmp_path: Path) -> None:
    data = write_blobs(tmp_path / "blobs.npz", n=400)
    training = TrainingSpec(epochs=2, batch_size=8, hyperparameters={"optimizer": "adam"})
    alone = Gang(tmp_path / "alone", data, training=training)
    alone.start()
    gang = Gang(tmp_path / "sharded", data, training=replace(training, strategy={"name": "sharded"}))
    gang.start(n_workers=3, pause_after=30)
    gang.leave_paused()
    assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
    (saved,) = gang.reports("checkpoint")
    files = sorted((tmp_path / "sharded" / "checkpoints" / saved["name"]).glob("optimizer-*-of-3.safetensors"))
    moments = [
        sum(v.size for key, v in load_file(path).items() if "|exp_avg|" in key or "|exp_avg_sq|" in key)
        for path in files
    ]
    weights = load_file(files[0].parent / "weights.safetensors")
    n_elements = sum(value.size for value in weights.values())
    assert sum(moments) == 2 * n_elements
    assert max(moments) - min(moments) <= 2 * 3
    assert not list(files[0].parent.parent.glob(".part-*"))
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    assert set(alone.wait().values()) == {ExitCode.DONE}, alone.logs()
    for name, value in alone.weights().items():
        np.testing.assert_allclose(gang.weights()[name], value, rtol=0, atol=2e-3, err_msg=name)


def test_the_main_worker_carries_what_all_others_send(tmp_path: Path, data: Path) -> None:
    gang = run(tmp_path, data, {"name": "main_worker"}, n_workers=3)
    model_bytes = sum(value.nbytes for value in gang.weights().values())
    assert gang.bytes_sent() == pytest.approx(2 * model_bytes, rel=0.1)
