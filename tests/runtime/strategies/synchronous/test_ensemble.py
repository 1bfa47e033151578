# SPDX-License-Identifier: Apache-2.0
"""Members of an ensemble are trainings of one process each, and together they predict."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mlhub.runtime.model.ensemble import EnsembleModel
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import TrainingSpec
from tests.runtime.gang import Gang, write_blobs

TRAINING = TrainingSpec(epochs=4, batch_size=8, hyperparameters={"optimizer": "adam"})


def test_a_committee_says_the_mean_or_votes() -> None:
    model = nn.Linear(1, 3, bias=False)
    members = [{"weight": torch.tensor(w).view(3, 1)} for w in ([3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.5, 1.0])]
    inputs = torch.ones(2, 1)
    assert EnsembleModel(model, members)(inputs).tolist() == [[1.0, pytest.approx(2.5 / 3), pytest.approx(1 / 3)]] * 2
    votes = EnsembleModel(model, members, votes=True)(inputs)
    assert votes.argmax(-1).tolist() == [1, 1]
    torch.testing.assert_close(votes.exp().sum(-1), torch.ones(2))


@pytest.mark.slow
@pytest.mark.dist
def test_each_member_is_what_one_process_trains_from_its_seed_also_after_a_resume(tmp_path: Path) -> None:
    data = write_blobs(tmp_path / "blobs.npz", n=400)
    alone = [Gang(tmp_path / f"alone-{seed}", data, training=replace(TRAINING, seed=seed)) for seed in (5, 6)]
    for gang in alone:
        gang.start()
    gang = Gang(tmp_path / "both", data, training=replace(TRAINING, seed=5, strategy={"name": "ensemble"}))
    gang.start(n_workers=2, pause_after=30)
    gang.leave_paused()
    assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
    gang.start(n_workers=3)
    assert ExitCode.USER_CODE in gang.wait().values()
    assert "The checkpoint is of 2 members" in gang.logs()
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    found = gang.weights()
    for one, prefix in zip(alone, ("", "member-1/"), strict=True):
        assert set(one.wait().values()) == {ExitCode.DONE}, one.logs()
        for name, value in one.weights().items():
            np.testing.assert_allclose(found[prefix + name], value, rtol=0, atol=1e-6, err_msg=prefix + name)
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9


@pytest.mark.slow
@pytest.mark.dist
def test_members_send_each_other_nothing_while_they_train(tmp_path: Path) -> None:
    strategy = {"name": "ensemble", "examples": "parts", "combine": "vote"}
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=1000))
    gang.training = replace(TRAINING, epochs=2, batch_size=4, strategy=strategy)
    gang.start(n_workers=2)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    model_bytes = sum(value.nbytes for name, value in gang.weights().items() if "/" not in name)
    # two evaluations, before which members are sent to all
    assert gang.bytes_sent() * gang.result()["steps"] < 3 * model_bytes
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9
