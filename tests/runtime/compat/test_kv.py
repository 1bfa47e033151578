# SPDX-License-Identifier: Apache-2.0
"""MXNet's kvstore verbs: an MXNet-style loop trains what one process trains, over any number of servers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from mlhub.runtime.compat import kv
from mlhub.runtime.compat.kv.optimizers import read_off
from mlhub.runtime.compat.kv.sending import Sender
from mlhub.runtime.compat.kv.store import KVStore
from mlhub.runtime.optimization.ftrl import FTRL
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import SyncMode
from tests.runtime.compat.tables.servers import TableGang
from tests.runtime.gang import Gang
from tests.runtime.scripts.test_script import gang

# written against MXNet's documentation of mxnet.kvstore
LOOP = """
import json, os
import torch
from mlhub.runtime import hyperparameters
from mlhub.runtime.compat import kv

given = hyperparameters()
store = kv.create("dist_sync")
assert store.type == "dist_sync"
assert store.num_workers == int(os.environ["WORLD_SIZE"]) == int(os.environ["DMLC_NUM_WORKER"])
assert int(os.environ["DMLC_NUM_SERVER"]) == given["n_servers"]
torch.manual_seed(store.rank)  # worker 0's weights count
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
names = [name for name, _ in model.named_parameters()]
parameters = list(model.parameters())
store.init(names, [p.detach() for p in parameters])
options = {"learning_rate": 0.1, "momentum": given["momentum"], "rescale_grad": 1 / store.num_workers}
store.set_optimizer(kv.optimizer("sgd", **options))
store.pull(names, out=parameters)
points = torch.randn(24, 4, generator=torch.Generator().manual_seed(5))
wanted = points.sum(1, keepdim=True)
for step in range(6):
    model.zero_grad()
    mine = slice(store.rank, None, store.num_workers)
    torch.nn.functional.mse_loss(model(points[mine]), wanted[mine]).backward()
    for index, (name, p) in enumerate(zip(names, parameters)):
        store.push(name, p.grad, priority=-index)
    for index, (name, p) in enumerate(zip(names, parameters)):
        store.pull(name, out=p, priority=-index)
store.barrier()
with open("found.json", "w") as file:
    json.dump([p.flatten().tolist() for p in parameters], file)
"""


def stores(kind: str, act: Callable[[KVStore], Any], *, n_workers: int = 2, n_servers: int = 1) -> list[Any]:
    """act(store) on every worker."""
    return TableGang(n_workers=n_workers, n_servers=n_servers).each(lambda c: act(KVStore(kind, c)))


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(("n_workers", "n_servers", "momentum"), [(2, 1, 0.0), (2, 2, 0.0), (3, 2, 0.9)])
def test_an_mxnet_style_loop_trains_what_one_process_trains(
    n_workers: int, n_servers: int, momentum: float, tmp_path: Path
) -> None:
    found = gang(tmp_path, LOOP, n_servers=n_servers, momentum=momentum)
    found.start(SyncMode.PARAMETER_SERVER, n_workers=n_workers, n_servers=n_servers)
    assert set(found.wait().values()) == {ExitCode.DONE}, found.logs()
    found_by_rank = [
        json.loads((found.work(f"worker-{i}") / "code" / "found.json").read_text()) for i in range(n_workers)
    ]
    assert all(one == found_by_rank[0] for one in found_by_rank)
    for row, wanted in zip(found_by_rank[0], _alone(momentum), strict=True):
        assert row == pytest.approx(wanted, abs=1e-6)


def _alone(momentum: float) -> list[list[float]]:
    """Plain torch on the whole batch."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    stepping = torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)
    points = torch.randn(24, 4, generator=torch.Generator().manual_seed(5))
    for _ in range(6):
        stepping.zero_grad()
        torch.nn.functional.mse_loss(model(points), points.sum(1, keepdim=True)).backward()
        stepping.step()
    return [p.flatten().tolist() for p in model.parameters()]


@pytest.mark.slow
@pytest.mark.dist
def test_a_script_of_several_workers_without_servers_learns_how_to_get_them(tmp_path: Path) -> None:
    found = gang(tmp_path, "from mlhub.runtime.compat import kv\nkv.create('dist_sync')")
    found.start(n_workers=2)
    assert ExitCode.USER_CODE in found.wait().values(), found.logs()
    (failure,) = found.reports("failure")
    assert '"mode": "parameter_server"' in failure["message"]


@pytest.mark.slow
@pytest.mark.dist
def test_servers_of_a_script_that_never_asks_them_leave_with_it(tmp_path: Path) -> None:
    found = gang(tmp_path, "print('nothing to do')")
    found.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    assert set(found.wait(seconds=150).values()) == {ExitCode.DONE}, found.logs()


ENDLESS = """
import os, time
from pathlib import Path
from mlhub.runtime import job, report
from mlhub.runtime.compat import kv, tables
import torch

table = tables.table("t", (2,))
assert table.staleness == {"bsp": 0, "asp": None, "ssp": 2}[job().hyperparameters["expected"]]
for step in range(1, 100_000):
    table.add([job().rank], 1.0)
    table.clock()
    table.get()
    (Path(os.environ["MLHUB_WORK_DIR"]) / "joined").touch()
    report(step, total_steps=100_000)
    time.sleep(0.005)
    if job().hyperparameters["expected"] != "bsp" and step == 120:
        break
"""


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize("victim", ["worker-1", "server-0"])
def test_in_lockstep_a_gang_of_a_script_ends_with_any_of_its_members(victim: str, tmp_path: Path) -> None:
    found = _gang(tmp_path, {"name": "bsp"})
    found.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    found.wait_for_step(5)
    found.processes[victim].kill()
    until = time.monotonic() + 120
    while found.processes["worker-0"].poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    assert found.processes["worker-0"].poll() == ExitCode.PEER_LOST, found.logs()
    found.wait()


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize("strategy", [{"name": "asp"}, {"name": "ssp", "staleness": 2}], ids=str)
def test_out_of_lockstep_a_script_goes_on_without_a_worker(strategy: dict[str, Any], tmp_path: Path) -> None:
    found = _gang(tmp_path, strategy)
    found.start(SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    found.wait_for_step(5)
    # worker 0 does not wait for it, and servers do for one that has never come
    found.wait_for(lambda: (found.work("worker-1") / "joined").exists())
    found.processes["worker-1"].kill()
    ended = found.wait()
    del ended["worker-1"]
    assert set(ended.values()) == {ExitCode.DONE}, found.logs()
    assert found.reports("progress")[-1]["steps_done"] == 120


def _gang(folder: Path, strategy: dict[str, Any]) -> Gang:
    found = gang(folder, ENDLESS, expected=strategy["name"])
    found.training = replace(found.training, strategy=strategy)
    return found


@pytest.mark.parametrize("n_servers", [1, 2])
def test_without_an_optimiser_a_pull_is_the_sum_of_what_all_pushed(n_servers: int) -> None:
    def act(store: KVStore) -> None:
        store.init("w", torch.full((3,), float(10 + store.rank)))
        assert store.pull("w").tolist() == [10, 10, 10]
        for step in range(1, 4):
            store.push("w", [torch.full((3,), float(store.rank + step)), torch.ones(3)])  # of two devices
            out = torch.zeros(3)
            store.pull("w", out=out)
            assert out.tolist() == [2 * step + 3] * 3
        both = [torch.zeros(2), torch.zeros(())]
        store.broadcast(["a", "b"], [torch.ones(2) * store.rank, torch.tensor(7.0)], out=both)
        assert [b.tolist() for b in both] == [[0, 0], 7]
        values = [torch.ones(2), torch.tensor(2.0)]
        store.pushpull(["a", "b"], values)
        assert [v.tolist() for v in values] == [[2, 2], 4]

    stores("dist_sync", act, n_servers=n_servers)


def test_asynchronous_pushes_are_each_a_step_and_need_an_optimiser() -> None:
    def act(store: KVStore) -> list[float]:
        store.init(3, torch.zeros(2))
        with pytest.raises(ValueError, match="set_optimizer"):
            store.push(3, torch.ones(2))
        store.set_optimizer("sgd")  # at MXNet's rate of 0.01
        for _ in range(5):
            store.push(3, torch.ones(2))
        store.barrier()
        return store.pull(3).tolist()

    for weights in stores("dist_async", act, n_workers=3):
        assert weights == pytest.approx([-0.15, -0.15])


def test_what_was_pushed_last_is_sent_before_the_goodbye() -> None:
    def act(store: KVStore) -> float:
        store.init("w", torch.zeros(1))
        store.set_optimizer(kv.optimizer("sgd", learning_rate=1.0))
        if store.rank:
            for _ in range(50):
                store.push("w", -torch.ones(1))
            return 50.0
        until = time.monotonic() + 120
        while store.pull("w").item() < 50 and time.monotonic() < until:
            time.sleep(0.01)
        return float(store.pull("w").item())

    assert stores("dist_async", act) == [50.0, 50.0]


@pytest.mark.parametrize("n_servers", [1, 3])
def test_sparse_rows_are_pushed_and_pulled_alone(n_servers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.compat.kv.store.LARGE", 1)  # cut over all servers, where some get no row

    def act(store: KVStore) -> None:
        store.init("e", torch.zeros(6, 2))
        store.set_optimizer(kv.optimizer("adagrad", learning_rate=1.0))
        own = torch.sparse_coo_tensor(torch.tensor([[store.rank, 4]]), torch.ones(2, 2), (6, 2), check_invariants=True)
        store.push("e", own)
        rows = store.row_sparse_pull("e", row_ids=[4, 0, 4])
        assert rows[:, 0].tolist() == pytest.approx([-1.0, -1.0])  # rows 0 and 4, whose gradients were 1 and 2
        out = torch.full((6, 2), 9.0)
        store.row_sparse_pull("e", out=out, row_ids=torch.tensor([5]))
        assert out[5].tolist() == [0, 0]
        assert out[0].tolist() == [9, 9]

    stores("dist_sync", act, n_servers=n_servers)


def test_two_bit_pushes_owe_what_they_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.compat.kv.store.LARGE", 1)

    def act(store: KVStore) -> list[list[float]]:
        store.init("w", torch.zeros(5))
        store.set_gradient_compression({"type": "2bit", "threshold": 0.5})
        pulled = []
        for _ in range(3):
            store.push("w", torch.full((5,), 0.3))
            pulled.append(store.pull("w").tolist())
        return pulled

    for pulled in stores("dist_sync", act, n_servers=2):
        assert pulled == [[0.0] * 5, [1.0] * 5, [0.0] * 5]  # 0.3; 0.6: both send 0.5; 0.1 + 0.3


def test_the_servers_optimiser_is_saved_and_goes_on_elsewhere(tmp_path: Path) -> None:
    path = str(tmp_path / "states")
    half: list[torch.Tensor] = []

    def steps(store: KVStore, n: int, *, weights: torch.Tensor, resumes: bool = False, saves: bool = False) -> Any:
        store.init("w", weights)
        store.set_optimizer(kv.optimizer("adam", learning_rate=0.1))
        if resumes:
            store.load_optimizer_states(path)
        for step in range(n):
            store.push("w", torch.arange(4.0) + (step + 2 * resumes))
        found = store.pull("w")
        if saves:
            store.save_optimizer_states(path)
        return found

    (straight,) = stores("dist_sync", lambda s: steps(s, 4, weights=torch.ones(4)), n_workers=1)
    half = stores("dist_sync", lambda s: steps(s, 2, weights=torch.ones(4), saves=True), n_workers=1, n_servers=2)
    (resumed,) = stores("dist_sync", lambda s: steps(s, 2, weights=half[0], resumes=True), n_workers=1)
    torch.testing.assert_close(resumed, straight, rtol=0, atol=1e-7)


def test_torchs_optimisers_are_read_off_and_what_servers_lack_is_named() -> None:
    parameter = [torch.nn.Parameter(torch.zeros(1))]
    assert read_off(torch.optim.SGD(parameter, lr=0.3, momentum=0.9)).options["momentum"] == 0.9
    assert read_off(torch.optim.Adam(parameter, betas=(0.8, 0.9))).options["beta1"] == 0.8
    assert read_off(FTRL(parameter, l1=0.5)).options["l1"] == 0.5
    for wrong, message in (
        (torch.optim.Rprop(parameter), "know no Rprop"),
        (torch.optim.SGD(parameter, lr=1.0, momentum=0.9, nesterov=True), "no nesterov"),
    ):
        with pytest.raises(ValueError, match=message):
            read_off(wrong)
    with pytest.raises(ValueError, match="known: add"):
        kv.optimizer("lbfgs")
    with pytest.raises(ValueError, match=r"mlhub\.runtime\.compat\.hvd"):
        kv.create("horovod")


def test_a_local_store_needs_no_server() -> None:
    store = kv.create("local")
    store.init([1, 2], [torch.zeros(2), torch.zeros(3)])
    store.set_optimizer(torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0))
    store.push([1, 2], [torch.ones(2), torch.ones(3)])
    assert [v.tolist() for v in store.pull([1, 2])] == [[-1, -1], [-1, -1, -1]]
    with pytest.raises(ValueError, match="not initialised"):
        store.pull(9)
    with pytest.raises(ValueError, match="already"):
        store.init(1, torch.zeros(2))
    with pytest.raises(ValueError, match="has the shape"):
        store.push(1, torch.ones(3))
    store.close()


def test_pushes_go_out_by_priority_and_those_of_one_key_in_turn() -> None:
    sender, sent, gate = Sender(), [], threading.Event()
    sender.send("first", gate.wait, priority=0)
    for key, priority in (("a", -2), ("b", -1), ("a", 5), ("c", -3)):
        sender.send(key, lambda key=key, priority=priority: sent.append((key, priority)), priority=priority)
    gate.set()
    sender.flush("c", priority=9)
    assert sent[0] == ("c", -3)  # the caller that waits for it raises it
    sender.flush()
    assert sent == [("c", -3), ("b", -1), ("a", -2), ("a", 5)]
    sender.send("d", lambda: 1 // 0, priority=0)
    with pytest.raises(ZeroDivisionError):
        sender.flush()
