# SPDX-License-Identifier: Apache-2.0
"""Workers that train separately and average: what becomes of their optimisers' state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.runtime.threaded_workers import together

STEPS = 6
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
