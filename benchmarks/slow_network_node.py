# SPDX-License-Identifier: Apache-2.0
"""What slow_network.py runs on a virtual node: serves a shard, trains as a worker, or times exchanges, by order."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.ps.server.server import Server
from mlhub.runtime.strategies.catalogue.schema import parse

SECRET = b"benchmark" * 4
START_S = 120.0
INPUTS, CLASSES = 784, 10


def serve(order: Mapping[str, Any], address: str) -> bool:
    shape = {key: order[key] for key in ("index", "n_servers", "n_workers")}
    Server((address, order["port"]), **shape, attempt="a", secret=SECRET).serve(start_timeout_s=START_S)
    return True


def exchange(order: Mapping[str, Any], address: str) -> dict[str, list[float]]:  # noqa: ARG001 (one form for all)
    """Seconds of push, update and pull: streamed, and one after the other."""
    weights, gradient = torch.zeros(order["n"]), torch.full((order["n"],), 1e-3)
    client = _client([order["server"]], weights, gradient, rank=0, n_workers=1, strategy="asp")
    client.exchange()
    at_once = [_timed(client.exchange) for _ in range(order["repeats"])]
    separate = [_timed(lambda: (client.push(), client.pull())) for _ in range(order["repeats"])]
    client.close()
    return {"at_once": at_once, "separate": separate}


def train(order: Mapping[str, Any], address: str) -> list[float]:  # noqa: ARG001
    """Seconds of every step but the first; BSP over the servers, or all-reduce where there is none."""
    rank, n = order["rank"], order["n_workers"]
    torch.manual_seed(0)
    width = order["width"]
    model = nn.Sequential(
        nn.Linear(INPUTS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES)
    )
    weights = nn.utils.parameters_to_vector(model.parameters()).detach()
    gradient = torch.zeros_like(weights)
    images, labels = torch.randn(order["batch_size"], INPUTS), torch.randint(CLASSES, (order["batch_size"],))
    client = None
    if order["servers"]:
        client = _client(order["servers"], weights, gradient, rank=rank, n_workers=n, strategy="bsp")
    elif n > 1:
        os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
        meeting = f"tcp://{order['master']}:{order['port']}"
        dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=n)

    def step() -> None:
        nn.utils.vector_to_parameters(weights, model.parameters())
        model.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        gradient.copy_(nn.utils.parameters_to_vector(p.grad for p in model.parameters() if p.grad is not None))
        if client is not None:
            client.exchange(weight=1 / n)
            return
        if n > 1:
            dist.all_reduce(gradient)
        weights.add_(gradient, alpha=-0.01 / n)

    times = [_timed(step) for _ in range(order["n_steps"] + 1)]
    if client is not None:
        client.close()
    elif n > 1:
        dist.destroy_process_group()
    return times[1:]


def _client(
    servers: list[str], weights: torch.Tensor, gradient: torch.Tensor, *, rank: int, n_workers: int, strategy: str
) -> Client:
    client = Client(servers, weights, gradient, index=rank, attempt="a", secret=SECRET, start_timeout_s=START_S)
    if rank == 0:
        parameter = nn.Parameter(weights.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.01)
        client.start(
            plan_shards(
                [("w", parameter)],
                optimizer,
                n_shards=len(servers),
                n_workers=n_workers,
                resume_from=None,
                strategy=parse({"name": strategy}).to_json(),
            )
        )
    client.pull()
    return client


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def main() -> None:
    torch.set_num_threads(1)
    address = sys.argv[1]
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print must not come between
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        done = {"serve": serve, "exchange": exchange, "train": train}[order["do"]](order, address)
        print(json.dumps(done), file=answers, flush=True)


if __name__ == "__main__":
    main()
