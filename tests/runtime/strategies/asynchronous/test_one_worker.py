# SPDX-License-Identifier: Apache-2.0
"""What one worker of a strategy does with its servers, counted and held against arithmetic: sockets, no processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.runtime.strategies.protocol import Barrier, ControlFlags, StepResult, TrainingPlan
from mlhub.runtime.strategies.registry import implementation_of
from mlhub.wire.launch import AttemptId, ModelSpec, PodRole, PodSpec, SyncMode, TrainingSpec
from tests.runtime.shards import SECRET, Gang

RATE = 0.1
Optimizer = Callable[[list[nn.Parameter]], torch.optim.Optimizer]


class Point(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.at = nn.Parameter(torch.zeros(4))


def targets(n: int) -> torch.Tensor:
    """Where each step pulls the point to; shape (n, 4)."""
    return torch.randn(n, 4, generator=torch.Generator().manual_seed(0))


def plain(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=RATE)


@dataclass
class Trained:
    results: list[StepResult]
    trail: list[torch.Tensor]  # the worker's weights after each step
    held: torch.Tensor  # by the server, at the end
    n_pushes: int


def train(strategy: dict[str, Any], *, n_steps: int, tmp_path: Path, optimizer: Optimizer = plain) -> Trained:
    spec = parse(strategy)
    servers = Gang(strategy, n_workers=1)
    address = f"127.0.0.1:{servers.servers[0].port}"
    pod_spec = PodSpec(
        attempt_id=AttemptId("a"), job_id="job", attempt_number=1, mode=SyncMode.PARAMETER_SERVER, role=PodRole.WORKER,
        index=0, n_workers=1, n_servers=1, master_address="127.0.0.1:1", server_addresses=(address,), inputs=(),
        dataset=None, model=ModelSpec(kind="builtin", entry="mlp"), training=TrainingSpec(1, 1, strategy=strategy),
        checkpoint_uri=tmp_path.as_uri(), start_timeout_s=120, worker_addresses=(),
    )  # fmt: skip
    worker = implementation_of(spec.name)(Pod(pod_spec, tmp_path, "", "", SECRET, tmp_path), spec)
    model, points = Point(), targets(n_steps)
    plan = TrainingPlan(steps=n_steps, steps_per_epoch=n_steps)
    worker.prepare(model, optimizer([model.at]), resume=None, plan=plan)
    found = Trained([], [], torch.empty(0), 0)
    while not isinstance(order := worker.next(ControlFlags()), Barrier):
        loss = 0.5 * (model.at - points[order.step]).square().sum()
        found.results.append(worker.step(iter([(loss, 1.0)]), n=1))  # type: ignore[arg-type]
        found.trail.append(model.at.detach().clone())
    shard = servers.servers[0].shard
    found.held, found.n_pushes = shard.weights.clone(), shard.rule.n_pushes
    worker.close()
    return found


def descent(n_steps: int, optimizer: Optimizer = plain) -> list[torch.Tensor]:
    """One process: the weights after each step."""
    model, trail = Point(), []
    alone = optimizer([model.at])
    for point in targets(n_steps):
        alone.zero_grad()
        (0.5 * (model.at - point).square().sum()).backward()
        alone.step()
        trail.append(model.at.detach().clone())
    return trail


def test_downpour_pushes_and_fetches_as_often_as_it_says_and_loses_no_gradient(tmp_path: Path) -> None:
    found = train({"name": "downpour", "n_push": 4, "n_fetch": 8}, n_steps=22, tmp_path=tmp_path)
    assert sum(result.bytes_sent > 0 for result in found.results) == 22 // 4
    assert sum(result.bytes_received > 0 for result in found.results) == 22 // 8
    assert found.n_pushes == 22 // 4 + 1  # what was left, at the end
    # plain descent is linear: alone, what was pushed in sums is what one process would have stepped
    torch.testing.assert_close(found.held, descent(22)[-1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["Adagrad", "Adam"])
def test_the_optimiser_and_its_sums_live_on_the_server(kind: str, tmp_path: Path) -> None:
    """Downpour's Adagrad: the worker's local steps are plain, the server's are the optimiser's."""

    def given(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        return getattr(torch.optim, kind)(parameters, lr=RATE)

    found = train({"name": "downpour"}, n_steps=9, tmp_path=tmp_path, optimizer=given)
    torch.testing.assert_close(found.held, descent(9, given)[-1], rtol=0, atol=1e-6)


def test_adag_moves_the_server_by_the_mean_of_the_way(tmp_path: Path) -> None:
    found = train({"name": "adag", "window": 5}, n_steps=5, tmp_path=tmp_path)
    torch.testing.assert_close(found.trail[3], descent(5)[3], rtol=0, atol=1e-6)
    torch.testing.assert_close(found.held, descent(5)[-1] / 5, rtol=0, atol=1e-6)
    one_by_one = train({"name": "adag", "window": 1}, n_steps=9, tmp_path=tmp_path)
    torch.testing.assert_close(one_by_one.held, descent(9)[-1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("window", [1, 5])
def test_alone_dynsgd_is_plain_descent(window: int, tmp_path: Path) -> None:
    found = train({"name": "dynsgd", "window": window}, n_steps=12, tmp_path=tmp_path)
    torch.testing.assert_close(found.held, descent(12)[-1], rtol=0, atol=1e-6)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_between_exchanges_an_elastic_worker_steps_by_torchs_nesterov(momentum: float, tmp_path: Path) -> None:
    """EAMSGD; without momentum AEASGD. The exchange then moves worker and centre by the same amount."""

    def nesterov(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(parameters, lr=RATE, momentum=momentum, nesterov=momentum > 0)

    found = train({"name": "easgd", "window": 8, "alpha": 0.25, "momentum": momentum}, n_steps=8, tmp_path=tmp_path)
    alone = descent(8, nesterov)
    torch.testing.assert_close(torch.stack(found.trail[:7]), torch.stack(alone[:7]), rtol=0, atol=1e-6)
    torch.testing.assert_close(found.held, 0.25 * alone[7], rtol=0, atol=1e-6)
    torch.testing.assert_close(found.trail[7], 0.75 * alone[7], rtol=0, atol=1e-6)
