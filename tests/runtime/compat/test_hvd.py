# SPDX-License-Identifier: Apache-2.0
"""Scripts written for Horovod, unchanged, in real gangs: they train what one process trains, and go on elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from mlhub.runtime.compat import hvd
from mlhub.wire.exits import ExitCode
from tests.runtime.scripts.test_script import gang

# what follows is written against Horovod's documentation, not against ours
TRAINING = """
import json, os
import torch
import horovod.torch as hvd
from mlhub.runtime import hyperparameters

hvd.init()
given = hyperparameters()
torch.manual_seed(hvd.rank())  # every worker starts from other weights
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
unused = torch.nn.Parameter(torch.ones(3))
named = [*model.named_parameters(), ("unused", unused)]
optimizer = torch.optim.SGD([p for _, p in named], lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
optimizer = hvd.DistributedOptimizer(
    optimizer, named_parameters=named, backward_passes_per_step=given["passes"],
    compression=hvd.Compression.fp16 if given["half"] else hvd.Compression.none,
    gradient_predivide_factor=2.0,
)
assert isinstance(optimizer, torch.optim.SGD)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
hvd.broadcast_optimizer_state(optimizer, root_rank=0)
points = torch.randn(24, 4, generator=torch.Generator().manual_seed(5))
wanted = points.sum(1, keepdim=True)
for step in range(4):
    optimizer.zero_grad()
    for part in range(given["passes"]):
        mine = slice(part * hvd.size() + hvd.rank(), None, hvd.size() * given["passes"])
        loss = torch.nn.functional.mse_loss(model(points[mine]), wanted[mine]) / given["passes"]
        loss.backward()
    if given["clips"]:
        optimizer.synchronize()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        with optimizer.skip_synchronize():
            optimizer.step()
    else:
        optimizer.step()
    schedule.step()
mean = hvd.allreduce(loss.detach())
with open("found.json", "w") as file:
    json.dump([p.flatten().tolist() for p in model.parameters()], file)
"""

SPEAKING = """
import torch
import horovod.torch as hvd

hvd.init()
me, n = hvd.rank(), hvd.size()
mine = torch.full((3,), float(me + 1))
assert hvd.allreduce(mine).tolist() == [(n + 1) / 2] * 3 and mine[0] == me + 1
assert hvd.allreduce(mine, op=hvd.Sum, prescale_factor=2.0, postscale_factor=0.5).tolist() == [n * (n + 1) / 2] * 3
assert hvd.allreduce(mine, op=hvd.Max).tolist() == [n] * 3
assert hvd.allreduce(torch.ones(2), op=hvd.Adasum).tolist() == [1.0, 1.0]
handle = hvd.allreduce_async_(mine, average=False)
assert hvd.synchronize(handle) is mine and hvd.poll(handle) and mine[0] == n * (n + 1) / 2
first, second = hvd.grouped_allreduce([torch.ones(1), torch.tensor([me])], op=hvd.Sum)
assert first.item() == n and second.item() == sum(range(n))
rows = hvd.allgather(torch.full((me + 1, 2), me))
assert rows[:, 0].tolist() == [r for r in range(n) for _ in range(r + 1)]
assert hvd.allgather_object({"rank": me}) == [{"rank": r} for r in range(n)]
assert hvd.broadcast(torch.tensor([me]), root_rank=1).item() == 1
assert hvd.broadcast_object("from 1" if me == 1 else None, root_rank=1) == "from 1"
assert hvd.alltoall(torch.arange(n) + 10 * me).tolist() == [10 * r + me for r in range(n)]
came, counts = hvd.alltoall(torch.arange(n + 1), splits=torch.tensor([2] + [1] * (n - 1)))
assert counts.tolist() == [2 if me == 0 else 1] * n
assert hvd.reducescatter(torch.arange(2.0 * n), op=hvd.Sum).tolist() == [2.0 * me * n, (2.0 * me + 1) * n]
hvd.barrier()
assert (hvd.local_rank(), hvd.local_size(), hvd.cross_rank(), hvd.cross_size()) == (0, 1, me, n)
hvd.shutdown()
assert not hvd.is_initialized()
"""

ELASTIC = """
import time
import torch
import horovod.torch as hvd
from mlhub.runtime import report

hvd.init()
model = torch.nn.Linear(2, 1)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))

@hvd.elastic.run
def train(state):
    print("from", state.batch, "on", hvd.size(), flush=True)
    while state.batch < 300:
        optimizer.zero_grad()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        state.batch += 1
        report(state.batch, total_steps=300)
        time.sleep(0.01)
        state.commit()

state = hvd.elastic.TorchState(model=model, optimizer=optimizer, batch=0)
state.register_reset_callbacks([lambda: print("another size", flush=True)])
train(state)
print("momentum", optimizer.state_dict()["state"][0]["momentum_buffer"].abs().sum().item() > 0, flush=True)
"""


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize("given", [{}, {"passes": 2}, {"clips": True}, {"half": True}], ids=str)
def test_a_horovod_script_trains_what_one_process_trains(given: dict[str, object], tmp_path: Path) -> None:
    weights = []
    for n_workers in (1, 2):
        folder = tmp_path / str(n_workers)
        folder.mkdir()
        found = gang(folder, TRAINING, **{"passes": 1, "clips": False, "half": False, **given})
        found.start(n_workers=n_workers)
        assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
        weights += [
            json.loads((found.work(f"worker-{i}") / "code" / "found.json").read_text()) for i in range(n_workers)
        ]
    for mine, theirs, alone in zip(*weights[1:], weights[0], strict=True):
        assert mine == theirs
        torch.testing.assert_close(
            torch.tensor(mine), torch.tensor(alone), rtol=0, atol=5e-3 if "half" in given else 1e-5
        )


@pytest.mark.slow
@pytest.mark.dist
def test_workers_speak_with_each_other_in_horovods_words(tmp_path: Path) -> None:
    found = gang(tmp_path, SPEAKING)
    found.start(n_workers=3)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()


@pytest.mark.slow
@pytest.mark.dist
def test_an_elastic_script_goes_on_from_its_commit_with_another_number_of_workers(tmp_path: Path) -> None:
    found = gang(tmp_path, ELASTIC)
    found.start(n_workers=2)
    found.wait_for_step(20)
    found.terminate()
    assert set(found.wait().values()) == {ExitCode.PREEMPTED}, found.logs()
    left_at = found.reports("progress")[-1]["steps_done"]
    found.start(n_workers=1)
    assert found.wait() == {"worker-0": ExitCode.DONE}, found.logs()
    printed = found.logs()
    assert f"from {left_at} on 1" in printed
    assert "another size" in printed
    assert "momentum True" in printed
    assert found.reports("progress")[-1]["steps_done"] == 300


def test_alone_and_outside_of_a_pod_the_words_mean_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with pytest.raises(ValueError, match=r"use hvd.init\(\)"):
        hvd.rank()
    hvd.init()
    try:
        model = torch.nn.Linear(2, 1)
        state = hvd.elastic.TorchState(model, batch=3)
        state.commit()
        state.batch = 9
        torch.nn.init.zeros_(model.weight)
        state.restore()
        assert state.batch == 3
        assert model.weight.abs().sum() > 0
        assert hvd.allreduce(torch.ones(2)).tolist() == [1.0, 1.0]
        with pytest.raises(ValueError, match=r"op=hvd\.Sum"):
            hvd.allreduce(torch.ones(2, dtype=torch.int64))
        with pytest.raises(ValueError, match="lacks parameters"):
            hvd.DistributedOptimizer(torch.optim.SGD(model.parameters()), named_parameters=[("w", model.weight)])
        with pytest.raises(ValueError, match="at least 1"):
            hvd.DistributedOptimizer(torch.optim.SGD(model.parameters()), backward_passes_per_step=0)
    finally:
        hvd.shutdown()
