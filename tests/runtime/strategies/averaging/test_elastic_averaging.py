# SPDX-License-Identifier: Apache-2.0
"""Synchronous EASGD: what it conserves, what it is in its limits, and how many workers a centre bears."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mlhub.runtime.checkpoints.step_folders import latest
from mlhub.runtime.errors import BadInputError
from mlhub.runtime.strategies.averaging.mixing import ElasticCentre
from mlhub.runtime.strategies.catalogue.schema import max_elastic_workers, parse
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import TrainingSpec
from tests.runtime.gang import Gang, write_blobs
from tests.runtime.threaded_workers import together

RATE, STEPS = 0.1, 6
POINTS = torch.randn(3, STEPS, 4, generator=torch.Generator().manual_seed(3))


def trained(folder: Path, n_workers: int = 3, **given: Any) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Weights by step and worker, shape (steps, 4) each, and where the centre ended."""

    def look(rank: int, worker: Any, order: object, model: Any) -> torch.Tensor:
        return torch.stack([model.at.detach().clone(), worker.centre.weights.clone()])

    found = together(
        {"name": "elastic_averaging", **given}, n_workers=n_workers, steps=STEPS, folder=folder, rate=RATE, look=look,
        loss=lambda rank, step, model: 0.5 * (model.at - POINTS[rank, step]).square().sum(),
    )  # fmt: skip
    trails = [torch.stack([pair[0] for pair in each[:-1]]) for each in found]
    centres = [each[-1][1] for each in found]
    assert all(torch.equal(centre, centres[0]) for centre in centres)
    assert all(torch.equal(each[-1][0], centres[0]) for each in found)  # a barrier is about the centre
    return trails, centres[0]


@pytest.mark.parametrize("period", [1, 2, 4])
def test_workers_and_centre_move_as_the_paper_says(period: int, tmp_path: Path) -> None:
    workers, centre, alpha = [torch.zeros(4).double() for _ in range(3)], torch.zeros(4).double(), 0.9 / 3
    expected = []
    for step in range(STEPS):
        gradients = [w - p for w, p in zip(workers, POINTS[:, step].double(), strict=True)]
        pulls = [alpha * (w - centre) if (step + 1) % period == 0 else torch.zeros(4) for w in workers]
        workers = [w - RATE * g - pull for w, g, pull in zip(workers, gradients, pulls, strict=True)]
        centre = centre + sum(pulls)
        expected.append(torch.stack(workers))
    trails, found = trained(tmp_path, period=period)
    torch.testing.assert_close(torch.stack(trails, 1).double(), torch.stack(expected), rtol=0, atol=1e-6)
    torch.testing.assert_close(found.double(), centre, rtol=0, atol=1e-6)


def test_without_elasticity_the_centre_stays_and_workers_are_descents_of_their_own(tmp_path: Path) -> None:
    trails, centre = trained(tmp_path, alpha=0.0, period=1)
    assert centre.tolist() == [0.0] * 4
    for trail, points in zip(trails, POINTS, strict=True):
        at = torch.zeros(4)
        for step in range(STEPS):
            at = at - RATE * (at - points[step])
            torch.testing.assert_close(trail[step], at, rtol=0, atol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_pull_conserves_the_sum_of_workers_and_centre(n: int) -> None:
    generator = torch.Generator().manual_seed(n)
    workers = [torch.randn(5, dtype=torch.float64, generator=generator) for _ in range(n)]
    centre = ElasticCentre(torch.randn(5, dtype=torch.float64, generator=generator), alpha=0.9 / n)
    before = sum(workers) + centre.weights
    pulls = [centre.pull(worker) for worker in workers]
    centre.move(sum(pulls, torch.zeros(5)))
    after = sum(w - pull for w, pull in zip(workers, pulls, strict=True)) + centre.weights
    torch.testing.assert_close(after, before, rtol=0, atol=1e-14)


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.4, 0.25, 2 / 11])
def test_a_centre_bears_as_many_workers_as_validation_says_and_no_more(alpha: float) -> None:
    def spread(n: int) -> float:
        centre, worker = ElasticCentre(torch.zeros(1).double(), alpha), torch.ones(1).double()
        for _ in range(200):
            pull = centre.pull(worker)
            centre.move(n * pull)
            worker = worker - pull
        return abs(float(worker - centre.weights))

    most = max_elastic_workers(alpha)
    assert spread(most) <= 1.0 + 1e-9
    assert spread(most + 1) > 10.0
    assert parse({"name": "elastic_averaging", "alpha": alpha}, n_workers=most).parameters["alpha"] == alpha
    with pytest.raises(BadInputError) as refused:
        parse({"name": "elastic_averaging", "alpha": alpha}, n_workers=most + 1)
    assert refused.value.field == "max_workers"


@pytest.mark.slow
@pytest.mark.dist
def test_another_number_of_workers_goes_on_from_the_centre(tmp_path: Path) -> None:
    training = TrainingSpec(epochs=10, batch_size=8, hyperparameters={"optimizer": "sgd", "learning_rate": 0.05})
    gang = Gang(tmp_path, write_blobs(tmp_path / "blobs.npz", n=400))
    gang.training = replace(training, strategy={"name": "synchronous-easgd", "tau": 4})
    gang.start(n_workers=2, pause_after=20)
    gang.leave_paused()
    assert set(gang.wait().values()) == {ExitCode.PREEMPTED}, gang.logs()
    saved = latest(tmp_path / "checkpoints")
    assert saved is not None
    gang.start(n_workers=3)
    assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
    resumed = next(r for r in gang.reports("phase") if r["phase"] == "resumed")
    assert resumed["detail"]["step"] == saved.step > 0
    assert gang.result()["metrics"]["eval/accuracy"] > 0.9
