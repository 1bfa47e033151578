"""A model that a strategy cannot train is refused before the job may hold GPUs, with the remedy."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.strategies.fitness import most_workers
from mlhub.runtime.strategies.schema import parse


def limit(name: str, model: nn.Module, kind: str = "Adam") -> int | None:
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1)
    return most_workers(parse({"name": name}), model, optimizer)


@pytest.mark.parametrize("name", ["all_reduce", "bsp", "asp", "gossip", "sharded", "averaging", "auto"])
def test_what_every_worker_holds_whole_may_run_on_any_number(name: str) -> None:
    assert limit(name, nn.Linear(3, 2)) is None


@pytest.mark.parametrize("name", ["bsp", "asp", "easgd", "sharded"])
def test_an_optimiser_that_looks_at_whole_matrices_cannot_be_cut(name: str) -> None:
    with pytest.raises(BadInputError) as refused:
        limit(name, nn.Linear(3, 2, bias=False), kind="Adafactor")
    assert refused.value.field == "build_optimizer"
    assert "all_reduce" in refused.value.remedy
    assert limit("all_reduce", nn.Linear(3, 2), kind="Adafactor") is None


def test_a_flat_vector_holds_float32_only() -> None:
    with pytest.raises(BadInputError) as refused:
        limit("gossip", nn.Linear(3, 2).double())
    assert refused.value.field == "build_model"
