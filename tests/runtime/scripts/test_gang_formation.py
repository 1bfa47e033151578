# SPDX-License-Identifier: Apache-2.0
"""Workers of a script that train each for itself, and what keeps Accelerate from it on processors."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch.distributed as dist
from torch.distributed import distributed_c10d

from mlhub.runtime.scripts.gang_formation import has_accelerator, warning_of


@pytest.fixture(autouse=True)
def no_group_was_ever_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed_c10d, "_default_pg_init_method", None)


def test_workers_that_form_no_group_are_reported_and_those_whose_group_ended_are_not(tmp_path: Path) -> None:
    warning = warning_of(2)
    assert warning is not None
    assert "on 2 workers" in warning
    assert "num_nodes=2" in warning
    assert warning_of(1) is None
    assert warning_of(2, n_servers=1) is None
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/meeting", rank=0, world_size=1)
    assert warning_of(2) is None
    dist.destroy_process_group()
    assert warning_of(2) is None


def test_an_accelerator_is_assumed_where_its_device_is_and_none_where_all_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlhub.runtime.scripts.gang_formation.version", lambda _: "2.13.0+cu130")
    assert not has_accelerator({}, devices=tmp_path)
    (tmp_path / "nvidia0").touch()
    assert has_accelerator({}, devices=tmp_path)
    assert not has_accelerator({"CUDA_VISIBLE_DEVICES": ""}, devices=tmp_path)
    monkeypatch.setattr("mlhub.runtime.scripts.gang_formation.version", lambda _: "2.13.0+cpu")
    assert not has_accelerator({}, devices=tmp_path)
