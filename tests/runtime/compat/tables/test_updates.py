# SPDX-License-Identifier: Apache-2.0
"""Optimisers of tables: torch's and a paper's numbers, for whole tables and for single rows."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from mlhub.runtime.compat.tables.updates import TableUpdate
from mlhub.runtime.optimization.ftrl import FTRL

TWINS: list[tuple[str, dict[str, float], type[torch.optim.Optimizer], dict[str, Any]]] = [
    ("sgd", {"learning_rate": 0.1}, torch.optim.SGD, {"lr": 0.1}),
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.01}, torch.optim.SGD,
     {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("adagrad", {"learning_rate": 0.1}, torch.optim.Adagrad, {"lr": 0.1}),
    ("adam", {"learning_rate": 0.01, "weight_decay": 0.1}, torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.1}),
    ("ftrl", {"learning_rate": 0.5, "l1": 0.1, "l2": 0.2}, FTRL, {"lr": 0.5, "l1": 0.1, "l2": 0.2}),
]  # fmt: skip


def gradients(n: int = 6) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    return [torch.randn(5, 3, generator=generator) for _ in range(n)]


@pytest.mark.parametrize(("name", "options", "kind", "theirs"), TWINS, ids=str)
def test_a_tables_optimiser_is_torchs(
    name: str, options: dict[str, float], kind: type[torch.optim.Optimizer], theirs: dict[str, Any]
) -> None:
    rows, twin = torch.ones(5, 3), torch.nn.Parameter(torch.ones(5, 3))
    update, optimizer = TableUpdate(name, options), kind([twin], **theirs)
    for gradient in gradients():
        update.apply(rows, None, gradient.clone())
        twin.grad = gradient.clone()
        optimizer.step()
    torch.testing.assert_close(rows, twin.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("name", "options", "kind", "theirs"), TWINS, ids=str)
def test_rows_that_are_not_named_do_not_move_and_the_others_step_by_their_own_past(
    name: str, options: dict[str, float], kind: type[torch.optim.Optimizer], theirs: dict[str, Any]
) -> None:
    rows, twin = torch.ones(5, 3), torch.nn.Parameter(torch.ones(2, 3))
    update, optimizer = TableUpdate(name, options), kind([twin], **theirs)
    update.apply(rows, torch.tensor([4]), torch.ones(1, 3))  # another row's past
    for gradient in gradients():
        update.apply(rows, torch.tensor([3, 1]), gradient[:2].clone())
        twin.grad = gradient[:2].clone()
        optimizer.step()
    torch.testing.assert_close(rows[[3, 1]], twin.detach(), rtol=1e-5, atol=1e-6)
    assert torch.equal(rows[[0, 2]], torch.ones(2, 3))


def test_ftrl_is_the_papers_algorithm_coordinate_by_coordinate() -> None:
    rate, beta, l1, l2 = 0.3, 1.0, 0.4, 0.7
    weights = torch.nn.Parameter(torch.zeros(4))
    optimizer = FTRL([weights], lr=rate, beta=beta, l1=l1, l2=l2)
    z, n, w = [0.0] * 4, [0.0] * 4, [0.0] * 4
    generator = torch.Generator().manual_seed(7)
    was_zero = False
    for _ in range(30):
        gradient = torch.randn(4, generator=generator) * torch.tensor([1.0, 0.1, 2.0, 0.0])
        for i in range(4):
            # McMahan et al., KDD '13, algorithm 1: first the weight from z and n, then their update
            g = float(gradient[i])
            sigma = (math.sqrt(n[i] + g * g) - math.sqrt(n[i])) / rate
            z[i] += g - sigma * w[i]
            n[i] += g * g
            if abs(z[i]) <= l1:
                w[i] = 0.0
            else:
                w[i] = -(z[i] - math.copysign(l1, z[i])) / ((beta + math.sqrt(n[i])) / rate + l2)
        weights.grad = gradient
        optimizer.step()
        assert weights.tolist() == pytest.approx(w, rel=1e-5, abs=1e-6)
        was_zero |= w[1] == 0.0 and n[1] > 0
    assert was_zero  # l1 held a coordinate at exactly zero
    assert w[0] != 0.0


def test_ftrl_begins_at_the_weights_that_are_there() -> None:
    weights = torch.nn.Parameter(torch.tensor([0.5, -2.0]))
    weights.grad = torch.zeros(2)
    FTRL([weights], lr=0.1, l1=0.3, l2=0.2).step()
    assert weights.tolist() == pytest.approx([0.5, -2.0])


def test_a_name_or_an_option_that_is_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match="known: add"):
        TableUpdate("lbfgs")
    with pytest.raises(ValueError, match="has no option beta1"):
        TableUpdate("sgd", {"beta1": 0.9})
    with pytest.raises(ValueError, match="lr > 0"):
        FTRL([torch.nn.Parameter(torch.zeros(1))], lr=0.0)
