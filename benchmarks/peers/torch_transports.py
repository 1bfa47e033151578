# SPDX-License-Identifier: Apache-2.0
"""Push, update and pull by what torch brings: gloo's point-to-point messages, and its RPC; and gloo's all-reduce.

Each is a rank's process: it reports when it is ready, makes an exchange at each order, and reports the seconds.
"""

from __future__ import annotations

import os
import time
from multiprocessing.connection import Connection

import torch
import torch.distributed as dist
from torch.distributed import rpc

from mlhub.runtime.usage.network import Traffic

PIECE, RATE = 2**18, 0.1
_weights = torch.empty(0)


def _join(port: int) -> None:
    torch.set_num_threads(1)
    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1"}
    os.environ["MASTER_PORT"] = str(port)


def _is_told(orders: Connection) -> bool:
    try:
        return bool(orders.recv())
    except EOFError:
        return False


def gloo(orders: Connection, index: int, port: int, n: int) -> None:
    """Rank 0 is the server, and learns from rank 1 when to go on; pieces of a megabyte, all receives posted ahead."""
    _join(port)
    dist.init_process_group("gloo", rank=index, world_size=2)
    weights, gradient = torch.zeros(n), torch.full((n,), 1e-3)
    pieces, goes_on = list(range(0, n, PIECE)), torch.ones(1)
    if index == 1:
        orders.send(True)
        while _is_told(orders):
            dist.send(goes_on, 0)
            dist.barrier()
            began = time.perf_counter()
            coming = [dist.irecv(weights[at : at + PIECE], 0) for at in pieces]
            going = [dist.isend(gradient[at : at + PIECE], 0) for at in pieces]
            for work in [*coming, *going]:
                work.wait()
            orders.send(time.perf_counter() - began)
        dist.send(torch.zeros(1), 0)
        return
    while dist.recv(goes_on, 1) == 1 and goes_on.item():
        dist.barrier()
        coming = [dist.irecv(gradient[at : at + PIECE], 1) for at in pieces]
        going = []
        for at, work in zip(pieces, coming, strict=True):
            work.wait()
            weights[at : at + PIECE].sub_(gradient[at : at + PIECE], alpha=RATE)
            going.append(dist.isend(weights[at : at + PIECE], 1))
        for work in going:
            work.wait()


def _exchange(gradient: torch.Tensor) -> torch.Tensor:
    global _weights
    if not _weights.numel():
        _weights = torch.zeros_like(gradient)
    return _weights.sub_(gradient, alpha=RATE)


def remote_calls(orders: Connection, index: int, port: int, n: int) -> None:
    """Rank 0 is the server; over TCP, as between machines."""
    _join(port)
    options = rpc.TensorPipeRpcBackendOptions(_transports=["uv"], init_method=f"tcp://127.0.0.1:{port}")
    rpc.init_rpc(str(index), rank=index, world_size=2, rpc_backend_options=options)
    gradient = torch.full((n,), 1e-3)
    if index == 1:
        orders.send(True)
        while _is_told(orders):
            began = time.perf_counter()
            rpc.rpc_sync("0", _exchange, (gradient,))
            orders.send(time.perf_counter() - began)
    rpc.shutdown()


def all_reduce(orders: Connection, index: int, n_ranks: int, port: int, n: int) -> None:
    """Reports seconds and the bytes that this rank sent for it, by the kernel's count."""
    _join(port)
    dist.init_process_group("gloo", rank=index, world_size=n_ranks)
    gradient = torch.ones(n)
    dist.all_reduce(gradient)
    traffic = Traffic()
    orders.send(True)
    while _is_told(orders):
        dist.barrier()
        traffic.look()
        began = time.perf_counter()
        dist.all_reduce(gradient)
        seconds = time.perf_counter() - began
        orders.send((seconds, float(traffic.look()[0])))
