# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation of each worker's own examples, or of the whole batch's, as the job chooses."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.inspection.dry_run import try_out
from mlhub.runtime.model.batch_norm import require_batch_norm, with_gang_batch_norm
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang, write_blobs

MODEL = """
from torch import nn

def build_model(h):
    return nn.Sequential(nn.Linear(h["input_shape"][0], 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, h["n_classes"]))
"""


def trained(folder: Path, data: Path, *, n_workers: int, **hyperparameters: Any) -> dict[str, Any]:
    found = gang(folder, data, **hyperparameters)
    found.start(n_workers=n_workers)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    return found.weights()


def gang(folder: Path, data: Path, **hyperparameters: Any) -> Gang:
    folder.mkdir()
    with zipfile.ZipFile(folder / "code.zip", "w") as package:
        package.writestr("model.py", MODEL)
    given = {"optimizer": "sgd", "learning_rate": 0.05, **hyperparameters}
    return Gang(
        folder,
        data,
        model=ModelSpec(kind="package", entry="model", package="code"),
        package=folder / "code.zip",
        training=TrainingSpec(epochs=2, batch_size=9, hyperparameters=given),
    )


@pytest.mark.slow
@pytest.mark.dist
def test_synchronised_batch_norm_trains_on_several_workers_what_one_worker_trains(tmp_path: Path) -> None:
    """The parts of a batch differ in size: 9 is 5 and 4, and the last batch of an epoch is smaller."""
    data = write_blobs(tmp_path / "blobs.npz", n=67)
    alone = trained(tmp_path / "alone", data, n_workers=1, sync_batch_norm=True)
    usual = trained(tmp_path / "usual", data, n_workers=1)
    together = trained(tmp_path / "together", data, n_workers=2, sync_batch_norm=True)
    apart = trained(tmp_path / "apart", data, n_workers=2)
    assert alone.keys() == usual.keys() == together.keys()
    for name, value in alone.items():
        np.testing.assert_allclose(usual[name], value, rtol=0, atol=2e-5, err_msg=name)
        np.testing.assert_allclose(together[name], value, rtol=0, atol=2e-5, err_msg=name)
    assert max(np.abs(apart[name] - value).max() for name, value in alone.items()) > 1e-3


def test_a_mean_that_is_much_larger_than_the_deviations_loses_no_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other worker has the same examples: then all statistics are those of one."""
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "all_reduce", lambda values: values.mul_(2))
    torch.manual_seed(0)
    x = torch.randn(64, 3) * 10 + 20_000  # as of years, or of times
    ours, own = with_gang_batch_norm(nn.BatchNorm1d(3)), nn.BatchNorm1d(3).double()
    torch.testing.assert_close(ours(x), own(x.double()).float(), rtol=0, atol=2e-3)


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize(("affine", "tracked"), [(True, True), (False, True), (True, False)])
def test_one_process_computes_what_torchs_own_layer_does(affine: bool, tracked: bool, momentum: float | None) -> None:
    torch.manual_seed(0)
    given = {"affine": affine, "track_running_stats": tracked, "momentum": momentum}
    own = nn.Sequential(nn.BatchNorm2d(3, **given))
    ours = with_gang_batch_norm(nn.Sequential(nn.BatchNorm2d(3, **given)))
    for _ in range(3):
        x = torch.randn(4, 3, 2, 2) * 2 + 1
        torch.testing.assert_close(ours(x), own(x))
    assert ours.state_dict().keys() == own.state_dict().keys()
    for name, value in own.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value)
    torch.testing.assert_close(ours.eval()(x), own.eval()(x))


def test_it_is_refused_where_it_means_nothing(tmp_path: Path) -> None:
    data = write_blobs(tmp_path / "blobs.npz", n=67)
    spec = gang(tmp_path / "a", data, sync_batch_norm=True, accumulation_steps=2).spec()
    without = replace(spec, model=ModelSpec(kind="builtin", entry="mlp"))
    without = replace(without, training=replace(spec.training, hyperparameters={"sync_batch_norm": True}))
    on_servers = replace(
        spec, training=replace(spec.training, hyperparameters={"sync_batch_norm": True}, strategy={"name": "asp"})
    )
    by_mode = replace(on_servers, mode=SyncMode.PARAMETER_SERVER, training=replace(on_servers.training, strategy={}))
    for given in (spec, without, on_servers, by_mode):
        with pytest.raises(BadInputError) as refused:
            try_out(given, {"data": data, "code": tmp_path / "a" / "code.zip"}, code=tmp_path / "code")
        assert refused.value.field == "hyperparameters.sync_batch_norm"
        assert refused.value.remedy
    with pytest.raises(BadInputError, match="which sync_batch_norm is for") as refused:
        require_batch_norm(nn.Linear(1, 1))
    assert refused.value.remedy == "Leave sync_batch_norm out."
