# SPDX-License-Identifier: Apache-2.0
"""Parameter servers and their clients on threads of one process: the real sockets and rules, in milliseconds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import nn

from mlhub.runtime.compression.codecs import ErrorFeedback, codec_for
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.ps.leases import BatchLease
from mlhub.runtime.ps.server.server import Server
from mlhub.runtime.ps.wire.shared_memory import shared_or_none
from mlhub.runtime.strategies.catalogue.schema import parse

SECRET = b"secret" * 5


class Gang:
    """n_elements: of the model, all zeros at first; sgd with rate 1 unless given: weights are minus the gradients."""

    def __init__(
        self, strategy: dict[str, Any], *, n_workers: int = 2, n_shards: int = 1, n_elements: int = 10,
        work: BatchLease | None = None, is_encrypted: bool = False, tcp_only: bool = False,
        optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.SGD, **options: Any,
    ) -> None:  # fmt: skip
        self.strategy, self.work = parse(strategy).to_json(), work
        self.is_encrypted, self.tcp_only = is_encrypted, tcp_only
        self.tables: tuple[list[Any], list[torch.Tensor]] = [()] * n_shards, []  # plans by shard, and whole tables
        self.is_whole = parse(strategy).needs_one_shard
        self.n_workers, self.n_shards, self.n_elements = n_workers, n_shards, n_elements
        self._optimizer = lambda parameters: optimizer(parameters, **({"lr": 1.0} | options))
        self.errors: list[BaseException] = []
        self.servers = [
            Server(
                ("127.0.0.1", 0),
                index=i,
                n_servers=n_shards,
                n_workers=n_workers,
                attempt="a",
                secret=SECRET,
                is_encrypted=is_encrypted,
                tcp_only=tcp_only,
            )
            for i in range(n_shards)
        ]
        self._threads = [threading.Thread(target=self._serve, args=(s,), daemon=True) for s in self.servers]
        for thread in self._threads:
            thread.start()

    def _serve(self, server: Server) -> None:
        try:
            server.serve(start_timeout_s=120)
        except Exception as error:
            self.errors.append(error)

    def client(self, worker: int, *, starts: bool | None = None) -> tuple[Client, torch.Tensor, torch.Tensor]:
        """With its weights and gradient; the weights are pulled."""
        shared = None if self.tcp_only else shared_or_none(self.n_elements)
        weights, gradient = torch.zeros(self.n_elements), torch.zeros(self.n_elements)
        if shared is not None:
            weights, gradient = shared.weights, shared.gradient
        addresses = [f"127.0.0.1:{server.port}" for server in self.servers]
        codec = codec_for(self.strategy)
        client = Client(
            addresses, weights, gradient, index=worker, attempt="a", secret=SECRET, start_timeout_s=120,
            is_whole=self.is_whole, is_encrypted=self.is_encrypted, shared=shared,
            feedback=codec and ErrorFeedback(codec, torch.zeros(self.n_elements)),
        )  # fmt: skip
        if worker == 0 if starts is None else starts:
            parameter = nn.Parameter(weights.clone())
            plans = plan_shards(
                [("w", parameter)],
                self._optimizer([parameter]),
                n_shards=self.n_shards,
                n_workers=self.n_workers,
                resume_from=None,
                is_whole=self.is_whole,
                strategy=self.strategy,
                work=None if self.work is None else asdict(self.work),
            )
            of_shards, tables = self.tables
            client.start([replace(p, tables=own) for p, own in zip(plans, of_shards, strict=True)], tables)
        client.pull()
        return client, weights, gradient

    def each(self, act: Callable[[int, Client, torch.Tensor, torch.Tensor], Any]) -> list[Any]:
        """act(worker, client, weights, gradient) on a thread a worker, then goodbye. Returns what they return."""
        out: list[Any] = [None] * self.n_workers

        def one(worker: int) -> None:
            try:
                client, weights, gradient = self.client(worker)
                out[worker] = act(worker, client, weights, gradient)
                client.close()
            except BaseException as error:
                self.errors.append(error)

        threads = [threading.Thread(target=one, args=(w,), daemon=True) for w in range(self.n_workers)]
        for thread in threads:
            thread.start()
        for thread in [*threads, *self._threads]:
            thread.join(180)
            assert not thread.is_alive(), "it hangs"
        return out
