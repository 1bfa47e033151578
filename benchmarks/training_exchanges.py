"""What an exchange with parameter servers takes, and what it is held against: the bare wire, gloo, ZeroMQ."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from benchmarks.training_gangs import PEERS
from mlhub.runtime.ps.client import Client
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.ps.server import Server
from mlhub.runtime.ps.sockets import BUFFER_BYTES, size_buffers, tune
from mlhub.runtime.strategies.schema import parse

LARGE, SMALL = 25_000_000, 10_000  # parameters
N_LARGE, N_SMALL = 7, 300  # repeats
SECRET = b"benchmark" * 4
SPAWN = get_context("spawn")
TCPI_BYTES_SENT = 200  # offset in Linux's struct tcp_info


def serve(port: Connection, n_workers: int, is_encrypted: bool = False) -> None:
    torch.set_num_threads(1)
    server = Server(
        ("127.0.0.1", 0), index=0, n_servers=1, n_workers=n_workers, attempt="a", secret=SECRET,
        is_encrypted=is_encrypted,
    )  # fmt: skip
    port.send(server.port)
    server.serve(start_timeout_s=120)


def connect(
    *ports: int, worker: int, n: int, n_workers: int, strategy: str, is_encrypted: bool = False
) -> tuple[Client, torch.Tensor]:
    torch.set_num_threads(1)
    weights, gradient = torch.zeros(n), torch.full((n,), 1e-3)
    addresses = [f"127.0.0.1:{port}" for port in ports]
    client = Client(
        addresses, weights, gradient, index=worker, attempt="a", secret=SECRET, start_timeout_s=120,
        is_encrypted=is_encrypted,
    )  # fmt: skip
    if worker == 0:
        parameter = nn.Parameter(weights.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        named, rule = [("w", parameter)], parse({"name": strategy}).to_json()
        client.start(
            plan_shards(named, optimizer, n_shards=len(ports), n_workers=n_workers, resume_from=None, strategy=rule)
        )  # fmt: skip
    client.pull()
    return client, gradient


@contextmanager
def process(target: Callable[..., None], *arguments: Any) -> Iterator[Any]:
    """The first thing that the process sends."""
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=target, args=(theirs, *arguments))
    child.start()
    try:
        yield ours.recv()
    finally:
        child.join(60)
        child.kill()


def timed(act: Callable[[], object], repeats: int) -> list[float]:
    act()
    out = []
    for _ in range(repeats):
        began = time.perf_counter()
        act()
        out.append(time.perf_counter() - began)
    return out


def echo(port: Connection) -> None:
    """Sends back as much as it is told to receive."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        size_buffers(listener)
        port.send(listener.getsockname()[1])
        connection, _ = listener.accept()
        tune(connection)
        buffer = memoryview(bytearray(4 * LARGE))
        while raw := connection.recv(4):
            n = struct.unpack(">I", raw)[0]
            receive(connection, buffer[:n])
            connection.sendall(buffer[:n])


def receive(connection: socket.socket, target: memoryview) -> None:
    done = 0
    while done < len(target):
        done += connection.recv_into(target[done : done + BUFFER_BYTES])


def ping_pong(n_bytes: int, repeats: int) -> list[float]:
    with process(echo) as port, socket.socket() as connection:
        size_buffers(connection)
        connection.connect(("127.0.0.1", port))
        tune(connection)
        buffer = memoryview(bytearray(n_bytes))

        def once() -> None:
            connection.sendall(struct.pack(">I", n_bytes))
            connection.sendall(buffer)
            receive(connection, buffer)

        return timed(once, repeats)


def push_and_pull(n: int, repeats: int, *, is_encrypted: bool = False) -> tuple[list[float], list[float]]:
    """Pipelined, and one after the other, on the same connection in turn."""
    with process(serve, 1, is_encrypted) as port:
        client, _ = connect(port, worker=0, n=n, n_workers=1, strategy="asp", is_encrypted=is_encrypted)
        pipelined = timed(client.exchange, repeats)
        serial = timed(lambda: (client.push(), client.pull()), repeats)
        pipelined += timed(client.exchange, repeats)
        client.close()
        return pipelined, serial


def second_worker(ready: Connection, port: int, n: int, rounds: int) -> None:
    ready.send(True)
    client, _ = connect(port, worker=1, n=n, n_workers=2, strategy="bsp")
    for _ in range(rounds):
        client.exchange()
    client.close()


def bsp_of_two(n: int, repeats: int) -> list[float]:
    with process(serve, 2) as port, process(second_worker, port, n, repeats + 1):
        client, _ = connect(port, worker=0, n=n, n_workers=2, strategy="bsp")
        times = timed(client.exchange, repeats)
        client.close()
        return times


def bytes_sent() -> int:
    """Over all TCP sockets of this process, by the kernel's own count."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as found:
                raw = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        except OSError:
            continue
        total += struct.unpack_from("Q", raw, TCPI_BYTES_SENT)[0] if len(raw) >= TCPI_BYTES_SENT + 8 else 0
    return total


def rank(out: Connection, index: int, n_ranks: int, port: int, n: int, repeats: int) -> None:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=index, world_size=n_ranks)
    gradient = torch.ones(n)
    dist.all_reduce(gradient)
    before = bytes_sent()
    times = timed(lambda: dist.all_reduce(gradient), repeats)
    out.send((times, (bytes_sent() - before) / (repeats + 1)))
    dist.barrier()


def all_reduce(n_ranks: int, n: int, repeats: int) -> tuple[list[float], float]:
    """Seconds, and bytes that a rank sends."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    pipes = [SPAWN.Pipe() for _ in range(n_ranks)]
    children = [
        SPAWN.Process(target=rank, args=(theirs, i, n_ranks, port, n, repeats)) for i, (_, theirs) in enumerate(pipes)
    ]
    for child in children:
        child.start()
    found = [ours.recv() for ours, _ in pipes]
    for child in children:
        child.join(60)
    return found[0][0], max(sent for _, sent in found)


def busy_worker(out: Connection, ports: Sequence[int], worker: int, n_workers: int, n: int, repeats: int) -> None:
    client, _ = connect(*ports, worker=worker, n=n, n_workers=n_workers, strategy="asp")
    out.send(True)
    client.exchange()
    client.total([0.0])  # all begin together
    began = time.perf_counter()
    for _ in range(repeats):
        client.exchange()
    out.send(time.perf_counter() - began)
    client.close()


def aggregate(n_workers: int, n_shards: int, n: int, repeats: int) -> list[float]:
    """Seconds an exchange takes when so many workers push to so many shards at once: wall time over all exchanges."""
    with ExitStack() as stack:
        ports = [stack.enter_context(process(serve, n_workers)) for _ in range(n_shards)]
        pipes = [SPAWN.Pipe() for _ in range(n_workers)]
        children = [
            SPAWN.Process(target=busy_worker, args=(theirs, ports, i, n_workers, n, repeats))
            for i, (_, theirs) in enumerate(pipes)
        ]
        for child in children:
            child.start()
        for ours, _ in pipes:
            ours.recv()
        slowest_s = max(ours.recv() for ours, _ in pipes)
        for child in children:
            child.join(60)
        return [slowest_s / (repeats * n_workers)]


def zeromq(python: str, n: int, repeats: int) -> list[float]:
    command = [python, str(PEERS / "zeromq.py"), str(n), str(repeats)]
    told = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    times: list[float] = json.loads(told.stdout)
    return times
