# SPDX-License-Identifier: Apache-2.0
"""Workers of one process group as threads, each with its strategy: no processes, so that tests see what each holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.testing._internal.distributed.multi_threaded_pg import _install_threaded_pg, _uninstall_threaded_pg

from mlhub.runtime.pod import Pod
from mlhub.runtime.strategies.catalogue.schema import parse
from mlhub.runtime.strategies.protocol import Barrier, Batch, ControlFlags, TrainingPlan
from mlhub.runtime.strategies.registry import implementation_of
from mlhub.runtime.strategies.toolkit.process_group import ProcessGroupStrategy
from mlhub.wire.launch import AttemptId, ModelSpec, PodRole, PodSpec, SyncMode, TrainingSpec


class Point(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.at = nn.Parameter(torch.zeros(4))


Look = Callable[[int, Any, Batch | Barrier, nn.Module], object]


def together(
    strategy: Mapping[str, Any], *, n_workers: int, steps: int, folder: Path,
    loss: Callable[[int, int, nn.Module], torch.Tensor], look: Look, rate: float = 0.1, momentum: float = 0.0,
    shares: Sequence[float] | None = None,
) -> list[list[object]]:  # fmt: skip
    """By worker, what look(rank, strategy, order, model) found after every step and at every barrier.

    loss: of worker and step. shares: of the batch, by worker; None: equal ones. The optimiser is SGD.
    """
    found: list[list[object]] = [[] for _ in range(n_workers)]
    failed: list[BaseException] = []
    torch._C._distributed_c10d._set_thread_isolation_mode(True)
    _install_threaded_pg()
    store = dist.HashStore()

    def work(rank: int) -> None:
        worker = _worker(strategy, rank, n_workers, folder, store)
        model = Point()
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
        called = worker.prepare(model, optimizer, resume=None, plan=TrainingPlan(steps=steps, steps_per_epoch=steps))
        while True:
            order = worker.next(ControlFlags())
            if isinstance(order, Barrier):
                found[rank].append(look(rank, worker, order, model))
                return
            worker.step(iter([(loss(rank, order.step, called), shares[rank] if shares else 1.0 / n_workers)]), n=1)
            found[rank].append(look(rank, worker, order, model))

    def run(rank: int) -> None:
        try:
            work(rank)
        except BaseException as error:
            failed.append(error)
            raise

    try:
        threads = [threading.Thread(target=run, args=(rank,), daemon=True) for rank in range(n_workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
    finally:
        _uninstall_threaded_pg()
        torch._C._distributed_c10d._set_thread_isolation_mode(False)
    assert not failed, failed
    assert not any(thread.is_alive() for thread in threads)
    return found


def _worker(strategy: Mapping[str, Any], rank: int, n_workers: int, folder: Path, store: dist.Store) -> Any:
    spec = parse(strategy)
    pod_spec = PodSpec(
        attempt_id=AttemptId("a"), job_id="job", attempt_number=1, mode=SyncMode.ALL_REDUCE, role=PodRole.WORKER,
        index=rank, n_workers=n_workers, n_servers=0, master_address="127.0.0.1:1", server_addresses=(), inputs=(),
        dataset=None, model=ModelSpec(kind="builtin", entry="mlp"),
        training=TrainingSpec(1, 1, strategy=dict(strategy)), checkpoint_uri=folder.as_uri(), start_timeout_s=120,
        worker_addresses=(),
    )  # fmt: skip
    kind = implementation_of(spec.name)
    assert isinstance(kind, type)
    assert issubclass(kind, ProcessGroupStrategy)

    class InThread(kind):  # type: ignore[misc, valid-type]
        def create_process_group(self) -> None:
            dist.init_process_group("threaded", rank=rank, world_size=n_workers, store=store)

    return InThread(Pod(pod_spec, folder, "", "", b"", folder), spec)
