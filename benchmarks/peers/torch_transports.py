"""Push, update and pull by what torch brings: gloo's point-to-point messages, and its RPC."""

from __future__ import annotations

import os
import time
from multiprocessing import get_context
from multiprocessing.connection import Connection

import torch
import torch.distributed as dist
from torch.distributed import rpc

PIECE, RATE = 2**18, 0.1
_weights = torch.empty(0)


def _join(port: int) -> None:
    torch.set_num_threads(1)
    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "TP_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1"}
    os.environ["MASTER_PORT"] = str(port)


def gloo(out: Connection, index: int, port: int, n: int, repeats: int) -> None:
    """Rank 0 is the server; pieces of a megabyte, all receives posted ahead."""
    _join(port)
    dist.init_process_group("gloo", rank=index, world_size=2)
    weights, gradient, times = torch.zeros(n), torch.full((n,), 1e-3), []
    pieces = list(range(0, n, PIECE))
    for _ in range(repeats + 1):
        dist.barrier()
        began = time.perf_counter()
        if index == 0:
            coming = [dist.irecv(gradient[at : at + PIECE], 1) for at in pieces]
            going = []
            for at, work in zip(pieces, coming, strict=True):
                work.wait()
                weights[at : at + PIECE].sub_(gradient[at : at + PIECE], alpha=RATE)
                going.append(dist.isend(weights[at : at + PIECE], 1))
        else:
            coming = [dist.irecv(weights[at : at + PIECE], 0) for at in pieces]
            going = [dist.isend(gradient[at : at + PIECE], 0) for at in pieces]
            for work in coming:
                work.wait()
        for work in going:
            work.wait()
        times.append(time.perf_counter() - began)
    if index == 1:
        out.send(times[1:])
    dist.barrier()


def _exchange(gradient: torch.Tensor) -> torch.Tensor:
    global _weights
    if not _weights.numel():
        _weights = torch.zeros_like(gradient)
    return _weights.sub_(gradient, alpha=RATE)


def remote_calls(out: Connection, index: int, port: int, n: int, repeats: int) -> None:
    """Rank 0 is the server; over TCP, as between machines."""
    _join(port)
    options = rpc.TensorPipeRpcBackendOptions(_transports=["uv"], init_method=f"tcp://127.0.0.1:{port}")
    rpc.init_rpc(str(index), rank=index, world_size=2, rpc_backend_options=options)
    gradient, times = torch.full((n,), 1e-3), []
    if index == 1:
        for _ in range(repeats + 1):
            began = time.perf_counter()
            rpc.rpc_sync("0", _exchange, (gradient,))
            times.append(time.perf_counter() - began)
        out.send(times[1:])
    rpc.shutdown()


def measure(peer: str, *, port: int, n: int, repeats: int) -> list[float]:
    """peer: gloo or rpc. Seconds of each exchange."""
    spawn = get_context("spawn")
    ours, theirs = spawn.Pipe()
    target = {"gloo": gloo, "rpc": remote_calls}[peer]
    children = [spawn.Process(target=target, args=(theirs, i, port, n, repeats)) for i in range(2)]
    for child in children:
        child.start()
    try:
        if not ours.poll(180):
            raise TimeoutError(f"{peer} did not answer")
        times: list[float] = ours.recv()
        return times
    finally:
        for child in children:
            child.join(20)
            child.kill()
