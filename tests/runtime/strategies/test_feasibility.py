# SPDX-License-Identifier: Apache-2.0
"""A model that a strategy cannot train is refused before the job may hold GPUs, with the remedy."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from mlhub.runtime.errors import BadInputError
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.runtime.strategies.feasibility import possible_workers


def possible(name: str, model: nn.Module, kind: str = "Adam", **given: object) -> list[int] | None:
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.1)
    return possible_workers(parse({"name": name, **given}), model, optimizer)


@pytest.mark.parametrize("name", ["all_reduce", "bsp", "asp", "gossip", "sharded", "model_averaging", "auto"])
def test_what_every_worker_holds_whole_may_run_on_any_number(name: str) -> None:
    assert possible(name, nn.Linear(3, 2)) is None


@pytest.mark.parametrize("name", ["bsp", "asp", "easgd", "sharded"])
def test_an_optimiser_that_looks_at_whole_matrices_cannot_be_cut(name: str) -> None:
    with pytest.raises(BadInputError) as refused:
        possible(name, nn.Linear(3, 2, bias=False), kind="Adafactor")
    assert refused.value.field == "build_optimizer"
    assert "all_reduce" in refused.value.remedy
    assert possible("all_reduce", nn.Linear(3, 2), kind="Adafactor") is None


def test_a_flat_vector_holds_float32_only() -> None:
    with pytest.raises(BadInputError) as refused:
        possible("gossip", nn.Linear(3, 2).double())
    assert refused.value.field == "build_model"


def test_a_model_that_is_divided_says_among_how_many() -> None:
    model = nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 5), nn.Linear(5, 2))
    assert possible("pipeline", model) == [1, 2, 3]
    assert possible("pipeline", model, schedule="interleaved_1f1b") == [1]
    assert possible("pipeline", model, schedule="interleaved_1f1b", stages_per_worker=1) == [1, 2, 3]
    longer = nn.Sequential(*[nn.Linear(3, 3) for _ in range(9)])
    assert possible("pipeline", longer, schedule="zero_bubble_v") == [1, 2, 3, 4]
    assert possible("pipeline", longer, schedule="dualpipe_v", micro_batches=6) == [1, 2, 3]
    assert possible("pipeline", model, replicas=2) is None
    assert possible("tensor", model) == [1, 2, 3, 4, 6, 12]
    assert possible("hybrid", model, parts=3) == list(range(3, 65, 3))
    assert possible("fully_sharded", model) is None
    with pytest.raises(BadInputError) as refused:
        possible("hybrid", model, parts=5)
    assert (refused.value.field, "12" in refused.value.remedy) == ("strategy.parts", True)


@pytest.mark.parametrize("model", [nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.Linear(4, 4))])
def test_a_model_without_pairs_of_linear_layers_cannot_be_divided_inside(model: nn.Module) -> None:
    with pytest.raises(BadInputError) as refused:
        possible("tensor", model)
    assert "fully_sharded" in refused.value.remedy


def test_the_feed_forward_part_of_a_transformer_is_a_pair() -> None:
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 24, dropout=0.0, batch_first=True), 2)
    assert 24 in (possible("tensor", model) or [])
