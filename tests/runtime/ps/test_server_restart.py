# SPDX-License-Identifier: Apache-2.0
"""What holds when servers die at any moment and go on from what they kept: nothing twice or forgotten, no hang."""

from __future__ import annotations

import os
import queue
import random
import signal
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mlhub.runtime.checkpoints.optimizer_state import ParameterSlice, merge, restore
from mlhub.runtime.errors import PeerLostError
from mlhub.runtime.launcher.fork_supervisor import ForkSupervisor, Incarnation
from mlhub.runtime.ps import rules
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.client.link import Link, LinkCaller
from mlhub.runtime.ps.layout import CHUNK_ELEMENTS, plan_shards
from mlhub.runtime.ps.leases import Backoff, BatchLease, LeasedWork, Leases, WaitAtBarrier
from mlhub.runtime.ps.server.coordination import WorkerCoordination
from mlhub.runtime.ps.server.server import Server
from mlhub.runtime.ps.server.shard_snapshots import SnapshotWriter, has_snapshot
from mlhub.runtime.ps.server.waiting import ShardCondition
from mlhub.runtime.ps.server.weights.chunks import cut
from mlhub.runtime.ps.server.write_ahead_log import WriteAheadLog
from mlhub.runtime.ps.wire.messages import Purpose
from mlhub.runtime.ps.wire.request_numbers import RequestNumbers, was_received
from mlhub.runtime.strategies.catalogue.schema import parse
from tests.runtime.gang import free_ports
from tests.runtime.processes import _fork_server
from tests.runtime.restarting_gang import ReturningGang
from tests.runtime.shards import SECRET


@pytest.mark.slow
@given(
    st.integers(0, 3),
    st.lists(st.floats(0.1, 5.0), min_size=30, max_size=30),
    st.lists(st.tuples(st.floats(0.0, 40.0), st.floats(0.0, 4.0)), max_size=4),
    st.lists(st.floats(0.0, 3.0), min_size=3, max_size=3),
)
@settings(max_examples=150, deadline=None)
def test_the_slack_of_ssp_holds_over_deaths_and_all_pushes_are_made(
    slack: int, delays: list[float], deaths: list[tuple[float, float]], ways: list[float]
) -> None:
    gang = ReturningGang(lambda: rules.stale_synchronous(slack), 3, delays, deaths, ways, n_pushes=60).run()
    assert gang.n_made == 60
    assert max(gang.leads) <= slack
    assert gang.lost <= gang.at_risk


@pytest.mark.parametrize(
    "rule",
    [
        rules.asynchronous,
        lambda: rules.soft_synchronous(2),
        lambda: rules.soft_synchronous(3, blocks=True),
        lambda: rules.first_of(2),
    ],
    ids=["asp", "softsync", "softsync that blocks", "k of n"],
)
@given(
    st.lists(st.floats(0.1, 5.0), min_size=30, max_size=30),
    st.lists(st.tuples(st.floats(0.0, 40.0), st.floats(0.0, 4.0)), max_size=4),
    st.lists(st.floats(0.0, 3.0), min_size=3, max_size=3),
)
@settings(max_examples=60, deadline=None)
def test_no_push_counts_twice_and_only_those_since_the_last_copy_are_lost(
    rule: Callable[[], rules.Rule], delays: list[float], deaths: list[tuple[float, float]], ways: list[float]
) -> None:
    gang = ReturningGang(rule, 3, delays, deaths, ways, n_pushes=60).run()
    assert gang.n_made == 60
    assert gang.lost <= gang.at_risk


class Reborn:
    """A coordination that dies and is restored from its log, at times just when it was about to answer."""

    def __init__(self, work: BatchLease, n_workers: int, folder: Path, *, seed: int) -> None:
        self.work, self.n_workers, self.path, self.dice = work, n_workers, folder / "journal", random.Random(seed)
        self._alive = self._born()
        self.now.record_in(WriteAheadLog(self.path))

    @property
    def now(self) -> WorkerCoordination:
        return self._alive[0]

    def _born(self) -> tuple[WorkerCoordination, ShardCondition]:
        waiting = ShardCondition()
        assembly = WorkerCoordination(self.n_workers, waiting)
        assembly.leases = Leases(self.work, self.n_workers)
        return assembly, waiting

    def say(self, act: Callable[[WorkerCoordination], Any]) -> Any:
        while True:
            assembly = self.now
            try:
                answer = act(assembly)
            except PeerLostError:
                continue
            if self.dice.random() < 0.1:
                self.die(assembly)
            if assembly is self.now:
                return answer

    def die(self, assembly: WorkerCoordination) -> None:
        now, waiting = self._alive
        with waiting.changed:
            if assembly is not now or assembly is not self.now:
                return
            successor = self._born()
            successor[0].restore(WriteAheadLog(self.path))
            successor[0].record_in(WriteAheadLog(self.path))
            self._alive = successor
            waiting.fail("died")


@pytest.mark.slow
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 2))
@settings(max_examples=40, deadline=None)
def test_every_batch_of_an_epoch_is_given_once_whenever_the_server_dies(seed: int, per_epoch: int, parts: int) -> None:
    work, n_workers = BatchLease(steps=12, steps_per_epoch=per_epoch, parts=parts), 3
    with tempfile.TemporaryDirectory() as folder:
        server = Reborn(work, n_workers, Path(folder), seed=seed)
        done: list[LeasedWork] = []
        sums: list[list[float]] = [[] for _ in range(n_workers)]

        def train(worker: int) -> None:
            numbers, met = RequestNumbers(), 0
            own = torch.tensor([worker + 1.0]).double().numpy().tobytes()
            while met < work.steps:
                about = {"stop": False, "checkpoint": False, "n_under_way": 0}
                order = server.say(partial(WorkerCoordination.lease, worker=worker, number=numbers.next(), **about))
                if isinstance(order, Backoff):
                    wait = partial(WorkerCoordination.wait_at_barrier, worker=worker, clock=met)
                    order = server.say(partial(wait, number=numbers.next()))
                if isinstance(order, LeasedWork):
                    done.append(order)
                    continue
                assert isinstance(order, WaitAtBarrier)
                assert len(done) == order.step * parts
                met = order.step
                summed = server.say(partial(WorkerCoordination.total, worker=worker, values=own, number=numbers.next()))
                sums[worker].append(torch.frombuffer(bytearray(summed), dtype=torch.float64).item())

        threads = [threading.Thread(target=train, args=(worker,), daemon=True) for worker in range(n_workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "it hangs"
    assert sorted((g.step, g.part) for g in done) == [(s, p) for s in range(12) for p in range(parts)]
    assert all(set(own) == {6.0} for own in sums)


def test_a_long_journal_begins_anew_from_its_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlhub.runtime.ps.server.write_ahead_log.MAX_LINES", 3)
    server = Reborn(BatchLease(steps=12, steps_per_epoch=6), 1, tmp_path, seed=0)
    for number in range(1, 7):
        server.now.lease(0, number, stop=False, checkpoint=False, n_under_way=0)
    assert len((tmp_path / "journal").read_bytes().splitlines()) <= 4
    with (tmp_path / "journal").open("ab") as file:
        file.write(b'["lease",0,')  # death in the middle of a line
    before = server.now
    server.die(before)
    assert server.now.state() == before.state()


def test_a_worker_that_left_and_is_back_takes_part_in_sums_again() -> None:
    waiting = ShardCondition()
    coordination = WorkerCoordination(2, waiting)
    with waiting.changed:
        coordination.leave(1)
        coordination.rejoin(1)
    waiting.fail("A wait ends at once.")
    with pytest.raises(PeerLostError):
        coordination.total(0, struct.pack("d", 1.0))
    assert coordination.total(1, struct.pack("d", 2.0)) == struct.pack("d", 3.0)


def test_another_life_of_a_worker_repeats_nothing() -> None:
    first, second = RequestNumbers(), RequestNumbers()
    numbers = [first.next() for _ in range(3)]
    assert [was_received(n, numbers[1]) for n in numbers] == [True, True, False]
    assert not was_received(second.next(), numbers[2])


N = 2 * CHUNK_ELEMENTS + 7


def serve(port: int, folder: str, strategy: dict[str, Any], n_workers: int) -> None:
    """One server with its guard, in a process of its own; keeps what it has several times a second."""

    def live(incarnation: Incarnation) -> int:
        snapshot_writer = SnapshotWriter(Path(folder), every_s=0.05)
        address = ("127.0.0.1", port)
        lost_file = Path(folder, f"lost-{incarnation.number}")
        server = Server(
            address, index=0, n_servers=1, n_workers=n_workers, attempt="a", secret=SECRET,
            snapshot_writer=snapshot_writer,
            incarnation=incarnation.number, on_return=lambda server: lost_file.write_text(str(server.n_lost)),
        )  # fmt: skip
        server.serve(start_timeout_s=120)
        return 0

    os._exit(ForkSupervisor(live, lambda: has_snapshot(Path(folder))).run())


def connected(port: int, worker: int, weights: torch.Tensor, strategy: dict[str, Any]) -> Client:
    """One of two workers, which pushes ones; worker 0 starts the server. The weights are pulled."""
    client = Client(
        [f"127.0.0.1:{port}"], weights, torch.ones(N), index=worker, attempt="a", secret=SECRET, start_timeout_s=120,
        returns_within_s=120,
    )  # fmt: skip
    if worker == 0:
        parameter = nn.Parameter(torch.zeros(N))
        optimizer = torch.optim.SGD([parameter], lr=1.0)
        about = {"n_shards": 1, "n_workers": 2, "resume_from": None, "strategy": parse(strategy).to_json()}
        client.start(plan_shards([("w", parameter)], optimizer, **about))  # type: ignore[arg-type]
    client.pull()
    return client


@pytest.mark.slow
@pytest.mark.dist
@pytest.mark.parametrize(
    "strategy", [{"name": "asp"}, {"name": "ssp", "staleness": 1}, {"name": "softsync"}], ids=lambda s: s["name"]
)
def test_what_is_lost_is_what_is_reported_and_nothing_is_applied_twice(
    strategy: dict[str, Any], tmp_path: Path
) -> None:
    (port,) = free_ports(1)
    guard = _fork_server().Process(target=serve, args=(port, str(tmp_path), parse(strategy).to_json(), 2))
    guard.start()
    n_deaths, n_pushes, ends = 2, 300, [torch.zeros(0)] * 2
    deaths = [threading.Event() for _ in range(n_deaths)]  # each happens while there is something to push

    def push(worker: int) -> None:
        weights = torch.zeros(N)
        client = connected(port, worker, weights, strategy)
        for death in deaths:
            for _ in range(n_pushes // (n_deaths + 1)):
                client.exchange()
            assert death.wait(120), "no server was killed"
        for _ in range(n_pushes // (n_deaths + 1)):
            client.exchange()
        client.coordination.idle()
        client.coordination.total([0.0])
        client.pull()
        ends[worker] = weights
        client.coordination.total([0.0])
        client.close()

    threads = [threading.Thread(target=push, args=(worker,), daemon=True) for worker in range(2)]
    for thread in threads:
        thread.start()
    killed: set[int] = set()
    while len(killed) < n_deaths:
        assert all(thread.is_alive() for thread in threads), "a worker ended early"
        time.sleep(0.2)
        found = Path(f"/proc/{guard.pid}/task/{guard.pid}/children").read_text().split()
        has_returned = len([*tmp_path.glob("lost-*")]) == len(killed)  # to every worker, and counted what it lost
        if found and has_returned and has_snapshot(tmp_path) and int(found[0]) not in killed:
            os.kill(int(found[0]), signal.SIGKILL)
            deaths[len(killed)].set()
            killed.add(int(found[0]))
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "it hangs"
    guard.join(120)
    assert guard.exitcode == 0
    assert len([*tmp_path.glob("lost-*")]) == n_deaths
    lost = sum(int(path.read_text()) for path in tmp_path.glob("lost-*"))
    group = strategy.get("group", 2) if strategy["name"] == "softsync" else 1
    assert torch.equal(ends[0], ends[1])
    for chunk in ends[0].split(CHUNK_ELEMENTS):
        applied = -chunk[0].item()
        assert torch.equal(chunk, torch.full_like(chunk, -applied))
        # chunks are kept one after the other: the later ones hold more; and pushes that wait for a group are lost
        assert 2 * n_pushes - group * (lost + len(killed)) <= applied <= 2 * n_pushes


@pytest.mark.dist
def test_a_worker_that_comes_only_after_the_server_died_takes_part_in_every_sum(tmp_path: Path) -> None:
    (port,), strategy = free_ports(1), {"name": "softsync"}
    guard = _fork_server().Process(target=serve, args=(port, str(tmp_path), parse(strategy).to_json(), 2))
    guard.start()
    clients, sums = [connected(port, 0, torch.zeros(N), strategy)], [queue.Queue[list[float]]() for _ in range(2)]
    wait_until(lambda: has_snapshot(tmp_path))
    (serving,) = Path(f"/proc/{guard.pid}/task/{guard.pid}/children").read_text().split()
    os.kill(int(serving), signal.SIGKILL)
    wait_until((tmp_path / "lost-1").exists)  # the one worker that was there has returned

    def add(worker: int) -> None:
        sums[worker].put(clients[worker].coordination.total([1.0]))

    threading.Thread(target=add, args=(0,), daemon=True).start()
    clients.append(connected(port, 1, torch.zeros(N), strategy))
    threading.Thread(target=add, args=(1,), daemon=True).start()
    assert sums[0].get(timeout=120) == [2.0]
    assert sums[1].get(timeout=120) == [2.0]
    for client in clients:
        client.close()
    guard.join(120)
    assert guard.exitcode == 0


def wait_until(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not is_so():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.02)


class ScriptedCaller(LinkCaller):
    """Makes connections without a server, each to the incarnation that is next in the list."""

    def __init__(self, incarnations: list[int]) -> None:
        super().__init__(index=0, attempt="a", secret=SECRET, tls=None)
        self.incarnations = incarnations
        self.made: dict[socket.socket, tuple[Purpose, int]] = {}

    def call(self, address: str, purpose: Purpose, **about: Any) -> tuple[socket.socket, int]:
        connection, incarnation = socket.socket(), self.incarnations.pop(0)
        self.made[connection] = (purpose, incarnation)
        return connection, incarnation


@pytest.mark.parametrize("incarnations", [[0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 2, 2, 2]], ids=str)
def test_a_worker_whose_server_dies_while_it_connects_is_connected_to_one_incarnation(incarnations: list[int]) -> None:
    purposes, last = [Purpose.WEIGHTS_ONLY, Purpose.PUSHES_ONLY, Purpose.SNAPSHOTS], incarnations[-1]
    caller = ScriptedCaller([*incarnations])
    link = Link(caller, "a:1", purposes, until=0.0)
    now = link.connections
    found = [caller.made[connection] for connection in (now.weights, now.training, now.snapshots)]
    assert found == [(purpose, last) for purpose in purposes]
    assert not caller.incarnations
    assert sorted(c.fileno() >= 0 for c in caller.made) == [False] * (len(incarnations) - 3) + [True] * 3
    now.close()


def test_optimiser_state_that_a_server_lost_is_as_at_the_start_and_the_rest_is_as_it_was() -> None:
    parameter = nn.Parameter(torch.zeros(6))
    saved = merge({"w|exp_avg|2": torch.tensor([3.0, 4.0])})
    optimizer = torch.optim.Adam([parameter])
    restore(optimizer, [ParameterSlice("w", 0, parameter)], saved)
    assert optimizer.state[parameter]["exp_avg"].tolist() == [0.0, 0.0, 3.0, 4.0, 0.0, 0.0]


def test_pushes_that_are_used_out_of_turn_all_count() -> None:
    parameter = nn.Parameter(torch.zeros(4))
    (plan,) = plan_shards(
        [("w", parameter)], torch.optim.SGD([parameter], lr=1.0), n_shards=1, n_workers=1, resume_from=None,
        strategy=parse({"name": "softsync"}).to_json(),
    )  # fmt: skip
    numbers, (chunk,) = RequestNumbers(), cut(plan, torch.zeros(4))
    first, second = numbers.next(), numbers.next()
    chunk.apply([(0, 1.0, torch.ones(4), second)], version=2)
    chunk.apply([(0, 1.0, torch.ones(4), first)], version=1)
    assert chunk.weights.tolist() == [-2.0] * 4
    chunk.restore_copy(chunk.copy(), version=2)
    chunk.apply([(0, 1.0, torch.ones(4), second)], version=3)
    assert chunk.weights.tolist() == [-2.0] * 4
