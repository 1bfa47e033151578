# SPDX-License-Identifier: Apache-2.0
"""Workers that train separately and average: what they train, and what becomes of their optimisers' state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runtime.threaded_workers import together

RATE, STEPS = 0.1, 6
POINTS = torch.randn(2, STEPS, 4, generator=torch.Generator().manual_seed(5))


def speeds(strategy: dict[str, Any], folder: Path) -> list[list[torch.Tensor]]:
    """By worker, its momentum after every step."""

    def look(rank: int, worker: Any, order: object, model: Any) -> torch.Tensor:
        (state,) = worker.optimizer.state.values()
        momentum: torch.Tensor = state["momentum_buffer"].clone()
        return momentum

    return together(
        strategy, n_workers=2, steps=STEPS, folder=folder, momentum=0.9, look=look,
        loss=lambda rank, step, model: 0.5 * (model.at - POINTS[rank, step]).square().sum(),
    )  # type: ignore[return-value]  # fmt: skip


def trained(
    folder: Path, *, curvatures: torch.Tensor, momentum: float = 0.0, shares: tuple[float, float] = (0.5, 0.5),
    **strategy: Any,
) -> torch.Tensor:  # fmt: skip
    """The model that two workers end with, each of which descends towards points of its own."""

    def look(rank: int, worker: Any, order: object, model: Any) -> torch.Tensor:
        at: torch.Tensor = model.at.detach().clone()
        return at

    first, second = together(
        {"name": "model_averaging", **strategy}, n_workers=2, steps=STEPS, folder=folder, rate=RATE, momentum=momentum,
        shares=shares, look=look,
        loss=lambda rank, step, model: 0.5 * curvatures[rank] * (model.at - POINTS[rank, step]).square().sum(),
    )  # fmt: skip
    torch.testing.assert_close(first[-1], second[-1], rtol=0, atol=0)
    model = first[-1]
    assert isinstance(model, torch.Tensor)
    return model


def of_the_whole_batch(
    curvatures: torch.Tensor, momentum: float = 0.0, shares: tuple[float, float] = (0.5, 0.5)
) -> torch.Tensor:
    """What one process ends with, whose gradient is the mean of the workers', by their shares of the batch."""
    at, speed, weights = torch.zeros(4), torch.zeros(4), curvatures * torch.tensor(shares)
    for step in range(STEPS):
        speed = momentum * speed + (weights[:, None] * (at - POINTS[:, step])).sum(0)
        at = at - RATE * speed
    return at


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("averages_state", [False, True])
def test_averaging_at_every_step_is_descent_on_the_whole_batch(
    momentum: float, averages_state: bool, tmp_path: Path
) -> None:
    alike = torch.ones(2)
    found = trained(tmp_path, curvatures=alike, momentum=momentum, period=1, average_state=averages_state)
    torch.testing.assert_close(found, of_the_whole_batch(alike, momentum), rtol=0, atol=1e-6)


def test_a_worker_counts_by_its_examples(tmp_path: Path) -> None:
    alike, shares = torch.ones(2), (0.75, 0.25)
    found = trained(tmp_path, curvatures=alike, shares=shares, period=1)
    torch.testing.assert_close(found, of_the_whole_batch(alike, shares=shares), rtol=0, atol=1e-6)
    assert (found - of_the_whole_batch(alike)).abs().max() > 1e-3


def test_averaging_at_every_second_step_is_another_training(tmp_path: Path) -> None:
    """As soon as workers' losses are curved differently; at every step it is not."""
    curvatures = torch.tensor([0.5, 2.0])
    whole = of_the_whole_batch(curvatures)
    torch.testing.assert_close(trained(tmp_path / "1", curvatures=curvatures, period=1), whole, rtol=0, atol=1e-6)
    assert (trained(tmp_path / "2", curvatures=curvatures, period=2) - whole).abs().max() > 1e-3


@pytest.mark.parametrize("is_averaged", [False, True])
def test_averaging_averages_momentum_when_asked(is_averaged: bool, tmp_path: Path) -> None:
    first, second = speeds({"name": "model_averaging", "period": 3, "average_state": is_averaged}, tmp_path)
    alike = [torch.allclose(mine, theirs) for mine, theirs in zip(first, second, strict=True)]
    assert alike == ([False, False, True, False, False, True, True] if is_averaged else [False] * 7)


@pytest.mark.parametrize("is_reset", [False, True])
def test_blocks_begin_at_rest_when_asked(is_reset: bool, tmp_path: Path) -> None:
    for trail in speeds({"name": "block_momentum", "period": 3, "reset_momentum": is_reset}, tmp_path):
        at_rest = [not speed.any() for speed in trail]
        assert at_rest == ([False, False, True, False, False, True, True] if is_reset else [False] * 7)
