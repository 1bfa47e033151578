"""python -m benchmarks.training: what the training runtime costs, each line a ratio of two things measured in turn.

Writes benchmarks/results/training.md. Everything runs on this machine over loopback, with one thread a process.
"""

from __future__ import annotations

import os
import socket
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from mlhub.runtime.ps.client import Client
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.ps.server import BUFFER_BYTES, Server, size_buffers, tune
from mlhub.runtime.strategies.schema import parse

RESULTS = Path(__file__).parent / "results" / "training.md"
LARGE, SMALL = 25_000_000, 10_000  # parameters
N_LARGE, N_SMALL = 7, 300  # repeats
SECRET = b"benchmark" * 4
SPAWN = get_context("spawn")
TCPI_BYTES_SENT = 200  # offset in Linux's struct tcp_info


def serve(port: Connection, n_workers: int) -> None:
    torch.set_num_threads(1)
    server = Server(("127.0.0.1", 0), index=0, n_servers=1, n_workers=n_workers, attempt="a", secret=SECRET)
    port.send(server.port)
    server.serve(start_timeout_s=120)


def connect(port: int, *, worker: int, n: int, n_workers: int, strategy: str) -> tuple[Client, torch.Tensor]:
    torch.set_num_threads(1)
    weights, gradient = torch.zeros(n), torch.full((n,), 1e-3)
    client = Client(
        [f"127.0.0.1:{port}"], weights, gradient, index=worker, attempt="a", secret=SECRET, start_timeout_s=120
    )
    if worker == 0:
        parameter = nn.Parameter(weights.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        named, rule = [("w", parameter)], parse({"name": strategy}).to_json()
        client.start(
            plan_shards(named, optimizer, n_shards=1, n_workers=n_workers, resume_from=None, strategy=rule)
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


def push_and_pull(n: int, repeats: int) -> tuple[list[float], list[float]]:
    """Pipelined, and one after the other, on the same connection in turn."""
    with process(serve, 1) as port:
        client, _ = connect(port, worker=0, n=n, n_workers=1, strategy="asp")
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


def main() -> None:
    large_bytes = 4 * LARGE
    loop = ping_pong(large_bytes, N_LARGE)
    pipelined, serial = push_and_pull(LARGE, N_LARGE)
    loop += ping_pong(large_bytes, N_LARGE)
    round_trip = ping_pong(1, N_SMALL)
    small, _ = push_and_pull(SMALL, N_SMALL)
    bsp = bsp_of_two(LARGE, N_LARGE)
    reduced, sent_by_two = all_reduce(2, LARGE, N_LARGE)
    _, sent_by_four = all_reduce(4, LARGE // 4, 3)

    def ms(times: list[float]) -> str:
        return f"{1e3 * statistics.median(times):.3g} ms (best {1e3 * min(times):.3g})"

    def line(what: str, ours: list[float], against: str, theirs: list[float]) -> str:
        ratios = [statistics.median(ours) / statistics.median(theirs), min(ours) / min(theirs)]
        return f"| {what} | {ms(ours)} | {against} | {ms(theirs)} | {ratios[0]:.2f} | {ratios[1]:.2f} |"

    def count(n: int, sent: float, size: int) -> str:
        theory = 2 * size * (n - 1) / n
        return f"| all-reduce, {n} workers | {sent / 1e6:.2f} MB | {theory / 1e6:.2f} MB | {sent / theory:.3f} |"

    n_cpus, load = os.cpu_count(), os.getloadavg()[0]
    where = f"{n_cpus} CPUs shared with other work (load {load:.1f} at the end), torch {torch.__version__}"
    text = f"""# What training costs

`make bench-training`, {datetime.now(UTC):%Y-%m-%d}: {where},
loopback. Times vary with the machine's load; the ratios compare what ran back to back.

| what | median | against | median | ratio of medians | ratio of bests |
|---|---|---|---|---|---|
{line("push + SGD + pull, 25 M parameters", pipelined, "100 MB there and back", loop)}
{line("the same", pipelined, "push (updating on the way), then pull", serial)}
{line("push + SGD + pull, 10 k parameters", small, "1 byte there and back", round_trip)}
{line("BSP on one server, 2 workers, 25 M", bsp, "gloo all-reduce of 2 ranks", reduced)}

| bytes that a worker sends a step | counted by the kernel | 2X(n-1)/n | ratio |
|---|---|---|---|
{count(2, sent_by_two, large_bytes)}
{count(4, sent_by_four, large_bytes // 4)}

Over parameter servers a worker sends X and receives X, whatever the number of workers; each server carries its part of
X for every worker.
"""
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
