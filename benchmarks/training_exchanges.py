# SPDX-License-Identifier: Apache-2.0
"""Sides of an exchange with a parameter server, all alive at once, each making one when it is its turn.

Ours, the bare wire, a server that does one thing after the other, and what other libraries would do.
"""

from __future__ import annotations

import json
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import torch
from torch import nn

from benchmarks.peers import plain_server, torch_transports
from benchmarks.training_gangs import PEERS
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.ps.server.server import Server
from mlhub.runtime.ps.wire.shared_memory import SharedBuffer
from mlhub.runtime.ps.wire.sockets import call, tune
from mlhub.runtime.strategies.catalogue.schema import parse
from tests.runtime.gang import free_ports

SECRET = b"benchmark" * 4
SPAWN = get_context("spawn")
START_S = 180.0

Side = Callable[[], float]  # makes one exchange; its seconds


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


@contextmanager
def process(target: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    """target(connection, *arguments) in a process of its own, which ends with what it does."""
    ours, theirs = SPAWN.Pipe()
    child = SPAWN.Process(target=target, args=(theirs, *arguments))
    child.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        child.join(20)
        child.kill()


def answer(child: Connection) -> Any:
    """Raises TimeoutError, EOFError when it died."""
    if not child.poll(START_S):
        raise TimeoutError("a side of the comparison does not answer")
    return child.recv()


# Ours ---------------------------------------------------------------------------------------------------------------


def serve(out: Connection, n_workers: int, is_encrypted: bool, tcp_only: bool) -> None:
    torch.set_num_threads(1)
    server = Server(
        ("127.0.0.1", 0), index=0, n_servers=1, n_workers=n_workers, attempt="a", secret=SECRET,
        is_encrypted=is_encrypted, tcp_only=tcp_only,
    )  # fmt: skip
    out.send(server.port)
    server.serve(start_timeout_s=START_S)


def connect(
    ports: Sequence[int], *, worker: int, n: int, n_workers: int, strategy: str, is_encrypted: bool = False,
    shares: bool = False,
) -> Client:  # fmt: skip
    """shares: memory with its servers, which must listen at unix sockets."""
    torch.set_num_threads(1)
    shared = SharedBuffer(n) if shares else None
    weights, gradient = (shared.weights, shared.gradient) if shared else (torch.zeros(n), torch.zeros(n))
    gradient.fill_(1e-3)
    addresses = [f"127.0.0.1:{port}" for port in ports]
    client = Client(
        addresses, weights, gradient, index=worker, attempt="a", secret=SECRET, start_timeout_s=START_S,
        is_encrypted=is_encrypted, shared=shared,
    )  # fmt: skip
    if worker == 0:
        parameter = nn.Parameter(weights.clone())
        optimizer = torch.optim.SGD([parameter], lr=0.1)
        named, rule = [("w", parameter)], parse({"name": strategy}).to_json()
        client.start(
            plan_shards(named, optimizer, n_shards=len(ports), n_workers=n_workers, resume_from=None, strategy=rule)
        )  # fmt: skip
    client.pull()
    return client


@contextmanager
def our_client(n: int, *, is_encrypted: bool = False, tcp_only: bool = True, shares: bool = False) -> Iterator[Client]:
    with process(serve, 1, is_encrypted, tcp_only) as server:
        client = connect(
            [answer(server)], worker=0, n=n, n_workers=1, strategy="asp", is_encrypted=is_encrypted, shares=shares
        )
        yield client
        client.close()


def worker(
    orders: Connection, ports: Sequence[int], index: int, n: int, n_workers: int, strategy: str, shares: bool
) -> None:
    """Makes as many exchanges as it is ordered to, and reports the seconds."""
    client = connect(ports, worker=index, n=n, n_workers=n_workers, strategy=strategy, shares=shares)
    orders.send(True)
    try:
        while count := orders.recv():
            began = time.perf_counter()
            for _ in range(count):
                client.exchange()
            orders.send(time.perf_counter() - began)
    except EOFError:
        client.close()


@contextmanager
def our_workers(
    n: int, *, n_workers: int, n_shards: int, strategy: str, tcp_only: bool = True, shares: bool = False
) -> Iterator[Callable[[int], float]]:
    """All make so many exchanges at once: seconds until the last is through."""
    with ExitStack() as stack:
        ports = [answer(stack.enter_context(process(serve, n_workers, False, tcp_only))) for _ in range(n_shards)]
        workers = [
            stack.enter_context(process(worker, ports, i, n, n_workers, strategy, shares)) for i in range(n_workers)
        ]
        for found in workers:
            answer(found)

        def together(count: int) -> float:
            for one in workers:
                one.send(count)
            return max(answer(one) for one in workers)

        yield together


# Others -------------------------------------------------------------------------------------------------------------


@contextmanager
def bare(port: int, n_bytes: int) -> Iterator[Side]:
    """n_bytes to a program and back, of which the first four say how many they are."""
    with call(("127.0.0.1", port), timeout_s=START_S) as connection:
        connection.settimeout(None)
        tune(connection)
        content = bytearray(max(4, n_bytes))
        content[:4] = struct.pack(">I", len(content))
        answered = memoryview(bytearray(len(content)))

        def once() -> None:
            connection.sendall(content)
            plain_server.receive(connection, answered)

        yield lambda: timed(once)


@contextmanager
def echo(n_bytes: int) -> Iterator[Side]:
    with process(plain_server.echo) as child, bare(answer(child), n_bytes) as side:
        yield side


@contextmanager
def one_after_the_other(n: int) -> Iterator[Side]:
    """A server that receives a whole push, then updates, then sends."""
    with process(plain_server.push_update_pull) as child, bare(answer(child), 4 * n) as side:
        yield side


@contextmanager
def by_torch(peer: str, n: int) -> Iterator[Side]:
    """peer: gloo or rpc."""
    (port,) = free_ports(1)
    target = {"gloo": torch_transports.gloo, "rpc": torch_transports.remote_calls}[peer]
    with process(target, 0, port, n), process(target, 1, port, n) as client:
        answer(client)
        yield lambda: _told(client)


@contextmanager
def all_reduce(n: int, n_ranks: int) -> Iterator[Callable[[], tuple[float, float]]]:
    """Seconds of the slowest rank, and the bytes that a rank sends at most."""
    (port,) = free_ports(1)
    with ExitStack() as stack:
        ranks = [stack.enter_context(process(torch_transports.all_reduce, i, n_ranks, port, n)) for i in range(n_ranks)]
        for rank in ranks:
            answer(rank)

        def once() -> tuple[float, float]:
            for rank in ranks:
                rank.send(True)
            found = [answer(rank) for rank in ranks]
            return max(seconds for seconds, _ in found), max(sent for _, sent in found)

        yield once


def _told(child: Connection) -> float:
    child.send(True)
    return float(answer(child))


@contextmanager
def zeromq(python: str, n: int) -> Iterator[Side]:
    command = [python, str(PEERS / "zeromq.py"), str(n)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        orders, answers = child.stdin, child.stdout
        assert orders is not None
        assert answers is not None

        def once() -> float:
            orders.write("\n")
            orders.flush()
            return float(json.loads(answers.readline()))

        yield once
        orders.close()
