# SPDX-License-Identifier: Apache-2.0
"""Embeddings by rows: torch's own steps, no update lost, few bytes, and the training of one process."""

from __future__ import annotations

import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mlhub.runtime.checkpoints.optimizer_state import merge
from mlhub.runtime.errors import BadInputError, PeerLostError
from mlhub.runtime.ps.embedding_tables import EmbeddingTable, EmbeddingTablePlan
from mlhub.runtime.ps.layout import ShardPlan
from mlhub.runtime.ps.wire.declaration import HEADER_BYTES
from mlhub.runtime.strategies.asynchronous.sparse_rows import tables_of
from mlhub.wire.exits import ExitCode
from mlhub.wire.launch import ModelSpec, SyncMode, TrainingSpec
from tests.runtime.gang import Gang as Processes
from tests.runtime.shards import Gang

N_ROWS, WIDTH = 40, 3


def plan(optimizer: str = "SGD", **options: object) -> EmbeddingTablePlan:
    return EmbeddingTablePlan("e", 0, N_ROWS, WIDTH, optimizer, {"lr": 0.1, **options})


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
@pytest.mark.parametrize("kind", ["SGD", "Adagrad"])
def test_steps_of_rows_are_those_of_torch(kind: str) -> None:
    table = EmbeddingTable(plan(kind), torch.zeros(N_ROWS, WIDTH), None)
    embedding = nn.Embedding(N_ROWS, WIDTH, sparse=True, _weight=torch.zeros(N_ROWS, WIDTH))
    optimizer = getattr(torch.optim, kind)(embedding.parameters(), lr=0.1)
    random = torch.Generator().manual_seed(0)
    for _ in range(6):
        ids = torch.randperm(N_ROWS, generator=random)[:7]
        gradient = torch.randn(7, WIDTH, generator=random)
        table.push(ids, gradient, factor=1.0)
        embedding.weight.grad = torch.sparse_coo_tensor(ids[None], gradient, (N_ROWS, WIDTH), check_invariants=True)
        optimizer.step()
    torch.testing.assert_close(table.rows, embedding.weight.detach(), rtol=0, atol=1e-6)
    again = EmbeddingTable(plan(kind), table.rows.clone(), merge(table.collect(n_steps=6)))
    for half in (table, again):
        half.push(torch.tensor([3]), torch.ones(1, WIDTH), factor=1.0)
    assert torch.equal(table.rows, again.rows)


def test_workers_with_rows_of_their_own_lose_no_update() -> None:
    table = EmbeddingTable(plan(lr=0.5), torch.zeros(N_ROWS, WIDTH), None)
    gradients = torch.randint(-9, 9, (4, 50, WIDTH)).float()  # sums of which are exact

    def push(worker: int) -> None:
        for step in range(50):
            table.push(torch.tensor([worker, worker + 20]), gradients[worker, step].expand(2, -1), factor=1.0)

    threads = [threading.Thread(target=push, args=(w,)) for w in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for worker in range(4):
        row = -0.5 * gradients[worker].sum(0)
        assert torch.equal(table.rows[worker], row)
        assert torch.equal(table.rows[worker + 20], row)
    assert not table.rows[4:20].any()


def test_rows_elsewhere_and_other_optimisers_are_refused() -> None:
    table = EmbeddingTable(plan(), torch.zeros(N_ROWS, WIDTH), None)
    for ids in ([N_ROWS], [-1]):
        with pytest.raises(ValueError, match="outside"):
            table.pull(torch.tensor(ids))
    for optimizer, options in (("Adam", {}), ("SGD", {"momentum": 0.9}), ("Adagrad", {"weight_decay": 0.1})):
        with pytest.raises(ValueError, match="cannot be updated"):
            plan(optimizer, **options)


def test_over_sockets_a_step_moves_only_the_bytes_of_its_rows() -> None:
    gang = Gang({"name": "sparse_rows"}, n_workers=1, n_shards=2, n_elements=4)
    whole = torch.arange(float(N_ROWS * WIDTH)).view(N_ROWS, WIDTH)
    cuts = [(0, 20), (20, 20)]
    gang.tables = [(EmbeddingTablePlan("e", begin, n, WIDTH, "SGD", {"lr": 1.0}),) for begin, n in cuts], [whole]
    client, _, _ = gang.client(0)
    rows, mine = client.rows(0, n_rows=N_ROWS), torch.zeros(N_ROWS, WIDTH)
    ids = torch.tensor([1, 19, 20, 39])
    rows.pull(ids, mine)
    assert torch.equal(mine[ids], whole[ids])
    assert mine.count_nonzero() == 12
    rows.push(ids, torch.ones(4, WIDTH))
    rows.pull(torch.tensor([19, 21]), mine)
    assert torch.equal(mine[19], whole[19] - 1.0)
    assert torch.equal(mine[21], whole[21])
    pulled = sum(rows_moved * WIDTH * 4 for rows_moved in (4, 2)) + 4 * HEADER_BYTES
    assert rows.bytes_received == pulled
    assert rows.bytes_sent == (4 + 4 + 2) * 8 + 4 * WIDTH * 4 + 6 * HEADER_BYTES
    with pytest.raises(PeerLostError):
        client.rows(1, n_rows=N_ROWS).pull(torch.tensor([0]), mine)


def test_a_plan_with_tables_survives_json() -> None:
    found = ShardPlan(0, 1, (), "SGD", (), tables=(plan("Adagrad"),))
    assert ShardPlan.from_json(found.to_json()) == found


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(5, 4), nn.Linear(4, 5, bias=False)
        self.head.weight = self.embedding.weight


@pytest.mark.parametrize(
    ("model", "optimizer", "message"),
    [
        (nn.Linear(2, 2), torch.optim.SGD, "no nn.Embedding"),
        (Tied(), torch.optim.SGD, "another layer"),
        (nn.Embedding(5, 4, max_norm=1.0), torch.optim.SGD, "max_norm"),
        (nn.Embedding(5, 4), torch.optim.Adam, "Adam moves rows"),
    ],
)
def test_models_that_rows_cannot_train_are_refused_with_a_remedy(
    model: nn.Module, optimizer: type, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as refused:
        tables_of(model, optimizer(model.parameters(), lr=0.1))
    assert refused.value.remedy


MODEL = """
import torch
from torch import nn

class Words(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.embedding, self.head = nn.Embedding(50, 8), nn.Linear(8, n_classes)

    def forward(self, inputs):
        return self.head(self.embedding(inputs.long()).mean(1))

def build_model(given):
    torch.manual_seed(1)
    return Words(given["n_classes"])

def build_optimizer(model, given):
    return torch.optim.SGD(model.parameters(), lr=0.5)
"""


@pytest.mark.slow
@pytest.mark.dist
def test_one_worker_trains_the_model_of_one_process_and_two_learn_too(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 300)
    x = np.where(random.random((300, 6)) < 0.5, random.integers(0, 50, (300, 6)), (y * 25)[:, None] + 3)
    np.savez(tmp_path / "words.npz", x=x.astype(np.int64), y=y)  # whole numbers name things
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("words.py", MODEL)

    def run(name: str, strategy: dict, mode: SyncMode, *, n_workers: int, n_servers: int) -> Processes:
        gang = Processes(
            tmp_path / name, tmp_path / "words.npz", model=ModelSpec("package", "words", package="code"),
            package=tmp_path / "code.zip", training=TrainingSpec(epochs=8, batch_size=10, strategy=strategy),
        )  # fmt: skip
        gang.start(mode, n_workers=n_workers, n_servers=n_servers)
        assert set(gang.wait().values()) == {ExitCode.DONE}, gang.logs()
        return gang

    alone = run("alone", {}, SyncMode.ALL_REDUCE, n_workers=1, n_servers=0)
    rows = run("rows", {"name": "sparse_rows"}, SyncMode.PARAMETER_SERVER, n_workers=1, n_servers=2)
    for name, value in alone.weights().items():
        np.testing.assert_allclose(rows.weights()[name], value, rtol=0, atol=2e-5, err_msg=name)
    two = run("two", {"name": "sparse_rows"}, SyncMode.PARAMETER_SERVER, n_workers=2, n_servers=2)
    assert two.result()["metrics"]["eval/accuracy"] > 0.9
