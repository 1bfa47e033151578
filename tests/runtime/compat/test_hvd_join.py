# SPDX-License-Identifier: Apache-2.0
"""Horovod scripts whose workers differ: uneven data, sets of workers, sparse gradients, a worker that does not come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlhub.wire.exits import ExitCode
from tests.runtime.scripts.test_script import gang

pytestmark = [pytest.mark.dist, pytest.mark.slow]

UNEVEN = """
import json
import torch
import horovod.torch as hvd

hvd.init()
me, n = hvd.rank(), hvd.size()
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
optimizer = hvd.DistributedOptimizer(
    torch.optim.SGD(model.parameters(), lr=0.1), named_parameters=model.named_parameters(), op=hvd.AverageOfPresent)
points = torch.randn(9, 3, generator=torch.Generator().manual_seed(1))
mine = points[{0: [0, 3, 6, 8], 1: [1, 4, 7], 2: [2, 5]}[me]]  # 4, 3 and 2 examples
sums, means, gathered = [], [], []
for step, point in enumerate(mine):
    optimizer.zero_grad()
    model(point).pow(2).sum().backward()
    optimizer.step()
    means.append(hvd.allreduce(torch.ones(1)).item())
    handle = hvd.allreduce_async(torch.tensor([2.0 * me]), op=hvd.Sum, name="sum")
    gathered.append(hvd.allgather(torch.full((1,), me)).tolist())
    sums.append(hvd.synchronize(handle).item())
last = hvd.join()
hvd.broadcast_parameters(model.state_dict(), root_rank=last)
again = hvd.allreduce(torch.ones(1), op=hvd.Sum).item()  # all are back
assert hvd.join() in range(n)
with open("found.json", "w") as file:
    json.dump([last, sums, means, gathered, again, [p.flatten().tolist() for p in model.parameters()]], file)
"""

SETS = """
import torch
import horovod.torch as hvd

even, odd = hvd.ProcessSet([0, 2]), hvd.ProcessSet([1, 3])
hvd.init(process_sets=[even, odd])
me = hvd.rank()
mine, others = (odd, even) if me % 2 else (even, odd)
assert mine.included() and not others.included() and mine.size() == 2 and mine.rank() == me // 2
assert hvd.get_process_set_ids_and_ranks() == {0: [0, 1, 2, 3], 1: [0, 2], 2: [1, 3]}
value = torch.tensor([float(me)])
assert hvd.allreduce(value, process_set=mine).item() == (2.0 if me % 2 else 1.0)
assert hvd.allreduce(value, op=hvd.Sum, process_set=hvd.global_process_set).item() == 6.0
assert hvd.allgather(value, process_set=mine).tolist() == [float(r) for r in mine.ranks]
assert hvd.broadcast(value, mine.ranks[1], process_set=mine).item() == mine.ranks[1]
assert hvd.broadcast_object(me, mine.ranks[0], process_set=mine) == mine.ranks[0]
came = hvd.alltoall(torch.tensor([me, me + 10]), process_set=mine)
assert came.tolist() == [r + 10 * mine.rank() for r in mine.ranks]
assert hvd.reducescatter(torch.ones(2) * me, op=hvd.Sum, process_set=mine).item() == sum(mine.ranks)
hvd.barrier(process_set=mine)
for wrong, message in ((lambda: hvd.allreduce(value, process_set=others), "not in the process set"),
                    (lambda: hvd.broadcast(value, others.ranks[0], process_set=mine), "is not in"),
                    (lambda: hvd.add_process_set([0, 9]), "names ranks"),
                    (lambda: hvd.add_process_set([0, 2]), "added already")):
    try:
        wrong()
    except ValueError as error:
        assert message in str(error), error
    else:
        raise AssertionError(message)
model = torch.nn.Linear(1, 1, bias=False)
hvd.broadcast_parameters(model.state_dict(), root_rank=0)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=1.0), process_set=mine)
before = model.weight.item()
model(value).sum().backward()
optimizer.step()
assert abs(before - model.weight.item() - (2.0 if me % 2 else 1.0)) < 1e-6  # the mean input of its own set
more = hvd.add_process_set([1, 2])
if more.included():
    assert hvd.allreduce(value, process_set=more).item() == 1.5
assert hvd.remove_process_set(more) and not hvd.remove_process_set(hvd.global_process_set)
hvd.shutdown()
"""

LATE = """
import time
import torch
import horovod.torch as hvd

hvd.init()
late = hvd.rank() == 2
if late:
    time.sleep(1)  # rank 0, whose process holds the workers' store, has nothing more to do by then
pair = hvd.add_process_set([1, 2])
if pair.included():
    assert hvd.allreduce(torch.tensor([float(hvd.rank())]), process_set=pair).item() == 1.5
if LEAVES:
    hvd.shutdown()
"""

SPARSE = """
import torch
import horovod.torch as hvd
from mlhub.runtime import hyperparameters

hvd.init()
me = hvd.rank()
torch.manual_seed(3)
table, plain = torch.nn.Embedding(6, 2, sparse=True), torch.nn.Linear(2, 1)
dense = torch.nn.Embedding(6, 2)
dense.load_state_dict(table.state_dict())
twin = torch.nn.Linear(2, 1)
twin.load_state_dict(plain.state_dict())
optimizer = hvd.DistributedOptimizer(
    torch.optim.SGD([*table.parameters(), *plain.parameters()], lr=0.5), sparse_as_dense=hyperparameters()["dense"])
reference = torch.optim.SGD([*dense.parameters(), *twin.parameters()], lr=0.5)
words = [[[0, 1], [4]], [[], [5, 5]], [[2], []]]  # by step and worker
for step in words:
    optimizer.zero_grad()
    if step[me]:
        plain(table(torch.tensor(step[me]))).sum().backward()
    else:
        (0 * plain(torch.ones(2))).sum().backward()
    optimizer.step()
    reference.zero_grad()
    (sum(twin(dense(torch.tensor(w))).sum() for w in step if w) / hvd.size()).backward()
    reference.step()
assert torch.allclose(table.weight, dense.weight, atol=1e-6), (table.weight, dense.weight)
assert torch.allclose(plain.weight, twin.weight, atol=1e-6)
one = torch.sparse_coo_tensor(torch.tensor([[me, 2]]), torch.ones(2), (4,))
assert hvd.allreduce(one, op=hvd.Sum).to_dense().tolist() == [1, 1, 2, 0]
try:
    hvd.allreduce(one, op=hvd.Max)
except ValueError as error:
    assert "sparse_as_dense" in str(error)
else:
    raise AssertionError
"""

BACKWARD = """
import torch
import horovod.torch as hvd

hvd.init()
me, n = hvd.rank(), hvd.size()

def gradient_of(act, rows=2):
    x = torch.full((rows,), float(me + 1), requires_grad=True)
    out = act(x)
    (out * torch.arange(1.0, out.numel() + 1) * (me + 1)).sum().backward()  # rank r weighs by r + 1
    return x.grad.tolist()

total = float(sum(range(1, n + 1)))
assert gradient_of(lambda x: hvd.allreduce(x)) == [total / n, 2 * total / n]
assert gradient_of(lambda x: hvd.allreduce(x, op=hvd.Sum)) == [total, 2 * total]
first = sum(r + 1 for r in range(me))
found = gradient_of(lambda x: hvd.allgather(x), rows=me + 1)
assert found == [total * (first + i + 1) for i in range(me + 1)], found
assert gradient_of(lambda x: hvd.broadcast(x, root_rank=1)) == ([total, 2 * total] if me == 1 else [0.0, 0.0])
assert gradient_of(lambda x: hvd.alltoall(x), rows=n) == [(r + 1.0) * (me + 1) for r in range(n)]
pair = gradient_of(lambda x: torch.cat(hvd.grouped_allreduce([x[:1], x[1:]], op=hvd.Sum)))
assert pair == [total, 2 * total]
"""

WAITING = """
import os, time
os.environ["HOROVOD_STALL_CHECK_TIME_SECONDS"] = "0.8"
import torch
import horovod.torch as hvd

hvd.init()
hvd.start_timeline("timeline.json")
hvd.allreduce(torch.ones(1), name="first")
if hvd.rank() == 2:
    time.sleep(3)
hvd.allreduce(torch.ones(1), name="second")
hvd.barrier()
hvd.stop_timeline()
"""


@pytest.mark.slow
def test_who_has_no_more_data_joins_and_the_mean_is_over_those_who_contribute(tmp_path: Path) -> None:
    found = gang(tmp_path, UNEVEN)
    found.start(n_workers=3)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    found_by_rank = [json.loads((found.work(f"worker-{i}") / "code" / "found.json").read_text()) for i in range(3)]
    (last, sums, means, gathered, again, weights), *others = found_by_rank
    assert last == 0  # it had the most
    assert sums == [6.0, 6.0, 2.0, 0.0]
    assert means == pytest.approx([1, 1, 2 / 3, 1 / 3])  # Horovod's average counts those who have joined as zeros
    assert gathered == [[0, 1, 2], [0, 1, 2], [0, 1], [0]]
    assert again == 3.0
    for row, wanted in zip(weights, _alone(), strict=True):
        assert row == pytest.approx(wanted, abs=1e-6)
    assert all(other[0] == 0 and other[-1] == weights for other in others)


def _alone() -> list[list[float]]:
    """The same steps by one process: each the mean over the workers that still have an example."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    points = torch.randn(9, 3, generator=torch.Generator().manual_seed(1))
    for rows in ([0, 1, 2], [3, 4, 5], [6, 7], [8]):
        optimizer.zero_grad()
        model(points[rows]).pow(2).mean().backward()
        optimizer.step()
    return [p.flatten().tolist() for p in model.parameters()]


def test_two_sets_of_two_workers_speak_among_themselves(tmp_path: Path) -> None:
    found = gang(tmp_path, SETS)
    found.start(n_workers=4)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()


@pytest.mark.parametrize("is_explicit", [True, False])
def test_the_worker_that_holds_the_store_leaves_last(is_explicit: bool, tmp_path: Path) -> None:
    found = gang(tmp_path, LATE.replace("LEAVES", str(is_explicit)))
    found.start(n_workers=3)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()


@pytest.mark.parametrize("dense", [False, True])
def test_sparse_gradients_train_what_dense_ones_do(dense: bool, tmp_path: Path) -> None:
    found = gang(tmp_path, SPARSE, dense=dense)
    found.start(n_workers=2)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()


def test_gradients_go_back_through_collective_operations(tmp_path: Path) -> None:
    found = gang(tmp_path, BACKWARD)
    found.start(n_workers=3)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()


def test_a_long_wait_is_reported_with_the_missing_ranks_and_a_timeline_shows_it(tmp_path: Path) -> None:
    found = gang(tmp_path, WAITING)
    found.start(n_workers=3)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    printed = (found.work("worker-0") / "output.log").read_text()
    assert "all_reduce second (operation 1); missing: rank 2." in printed, found.logs()
    events = json.loads((found.work() / "code" / "timeline.json").read_text())
    rows = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    shown = {rows[e["tid"]]: e["dur"] for e in events if e["ph"] == "X"}
    assert {"first", "second"} <= set(shown)
    assert shown["second"] > 1e6  # microseconds: most of the other's sleep
    assert not (found.work("worker-1") / "code" / "timeline.json").exists()
