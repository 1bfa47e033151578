# SPDX-License-Identifier: Apache-2.0
"""Tables on real servers: rows wherever they lie, clocks that keep their guarantee, functions by name, goodbyes."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mlhub.runtime.compat import tables
from mlhub.runtime.compat.tables.clocks import Clocks
from mlhub.runtime.compat.tables.connection import Connection
from mlhub.runtime.compat.tables.table import Table
from mlhub.runtime.errors import PeerLostError
from tests.runtime.compat.tables.servers import TableGang


@pytest.mark.parametrize("n_servers", [1, 3])
@pytest.mark.parametrize("is_encrypted", [False, True])
def test_rows_are_found_wherever_they_lie(n_servers: int, is_encrypted: bool) -> None:
    found = TableGang(n_workers=1, n_servers=n_servers, is_encrypted=is_encrypted)

    def act(connection: Connection) -> None:
        whole = torch.arange(14.0).view(7, 2)
        table = Table(connection.asking, "t", (7, 2), initial=whole)
        assert torch.equal(table.get(), whole)
        assert torch.equal(table.get([6, 0, 3]), whole[[6, 0, 3]])
        table.add([6, 0, 6], torch.ones(3, 2))
        assert table.get([0, 6]).tolist() == [[1, 2], [14, 15]]
        table.add(None, -whole)
        table.set([2], 9.0)
        assert table.get([2, 3]).tolist() == [[9, 9], [0, 0]]
        flat = Table(connection.asking, "flat", 5, initial=1.0, dtype=torch.float64)
        flat.inc([4], 2.0)
        assert flat.get().tolist() == [1, 1, 1, 1, 3]
        with pytest.raises(ValueError, match="5 rows"):
            flat.get([5])

    found.each(act)


@pytest.mark.parametrize("n_servers", [1, 2])
def test_rows_by_key_are_there_once_they_are_named(n_servers: int) -> None:
    found = TableGang(n_workers=1, n_servers=n_servers)

    def act(connection: Connection) -> None:
        table = Table(connection.asking, "words", (None, 2), initial=0.5, optimizer="adagrad")
        keys = [10**12, -3, 7]
        assert table.get(keys).tolist() == [[0.5, 0.5]] * 3
        assert table.items()[0].numel() == 0  # asking makes none
        for _ in range(200):
            table.add([random.Random(1).randrange(10**6), 7], torch.ones(2, 2))
        ids, rows = table.items()
        assert 7 in ids.tolist()
        assert rows.shape == (ids.numel(), 2)
        many = Table(connection.asking, "counts", (None,), dtype=torch.int64)
        many.add(list(range(300)), torch.arange(300))
        many.add([5, 5], torch.tensor([1, 1]))
        assert many.get([5, 299]).tolist() == [7, 299]

    found.each(act)


@pytest.mark.parametrize("staleness", [0, 1, 3])
def test_a_read_sees_all_that_its_staleness_promises(staleness: int) -> None:
    """Each worker adds 1 to its own row a clock: a read at clock c must show at least c - staleness in every row."""
    n_clocks, found = 12, TableGang(n_workers=3, n_servers=2)

    def act(connection: Connection) -> list[list[float]]:
        table = Table(connection.asking, "t", (3,), staleness=staleness)
        waits, seen = random.Random(connection.rank), []
        for _ in range(n_clocks):
            seen.append(table.get().tolist())
            time.sleep(waits.random() * 0.01)
            table.add([connection.rank], 1.0)
            table.clock()
        return seen

    reads = found.each(act)
    for rows in reads:
        for clock, row in enumerate(rows):
            assert min(row) >= clock - staleness, (clock, row)
    if staleness == 0:  # in lockstep nothing newer is seen either: all read the same
        assert reads[0] == reads[1] == reads[2] == [[float(c)] * 3 for c in range(n_clocks)]


@given(staleness=st.integers(0, 4), moves=st.lists(st.tuples(st.integers(0, 2), st.sampled_from("tlr")), max_size=60))
@settings(max_examples=200, deadline=None)
def test_who_may_read_is_never_too_far_ahead(staleness: int, moves: list[tuple[int, str]]) -> None:
    clocks, gone = Clocks(3, staleness=staleness), set()
    for worker, move in moves:
        if move == "t":
            clocks.tick(worker)
        elif move == "l":
            clocks.leave(worker)
            gone.add(worker)
        elif worker not in gone:
            behind = [clocks.at[w] for w in range(3) if w not in gone]
            assert clocks.may_read(worker) == (clocks.at[worker] - min(behind) <= staleness)


def test_asynchronous_additions_of_all_workers_are_all_there_in_the_end() -> None:
    found = TableGang(n_workers=3, n_servers=2)

    def act(connection: Connection) -> torch.Tensor:
        table = Table(connection.asking, "t", (4, 2))
        for step in range(20):
            table.add([step % 4, 3], torch.ones(2, 2))
        connection.barrier()
        return table.get()

    for rows in found.each(act):
        assert rows[:, 0].tolist() == [15.0, 15.0, 15.0, 15.0 + 60.0]


def test_a_worker_that_says_goodbye_delays_no_other() -> None:
    found = TableGang(n_workers=2)

    def act(connection: Connection) -> float:
        table = Table(connection.asking, "t", (1,), staleness=0)
        for _ in range(1 if connection.rank else 5):
            table.add([0], 1.0)
            table.clock()
            if not connection.rank:
                table.get()
        return 0.0 if connection.rank else table.get().item()

    assert found.each(act)[0] == 6.0


def test_in_lockstep_a_worker_that_vanishes_is_named_and_under_asp_the_others_go_on() -> None:
    found = TableGang(n_workers=2)
    first, second = found.connection(0), found.connection(1)
    locked = [Table(c.asking, "locked", (1,), staleness=0) for c in (first, second)]
    loose = Table(first.asking, "loose", (1,), staleness=2)
    Table(second.asking, "loose", (1,), staleness=2)
    locked[0].clock()
    errors: list[str] = []

    def read() -> None:
        try:
            locked[0].get()
        except PeerLostError as error:
            errors.append(str(error))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    for line in (second.asking, second.pushing):
        for connection in line.connections:
            connection.close()
    reader.join(120)
    assert not reader.is_alive()
    assert errors
    assert "Worker 1 is gone" in errors[0]
    for _ in range(5):
        loose.add([0], 1.0)
        loose.clock()
    assert loose.get().item() == 5.0
    first.close()
    found.join()


@pytest.mark.parametrize("n_servers", [1, 3])
def test_servers_run_functions_of_the_list_on_the_rows_where_they_lie(n_servers: int) -> None:
    found = TableGang(n_workers=1, n_servers=n_servers)

    def act(connection: Connection) -> None:
        values = torch.tensor([3.0, -4.0, 0.0, 12.0, 1.0])
        table = Table(connection.asking, "t", (5,), initial=values)
        other = Table(connection.asking, "other", (5,), initial=torch.arange(5.0))
        assert table.call("sum") == 12.0
        assert (table.call("min"), table.call("max")) == (-4.0, 12.0)
        assert table.call("norm") == pytest.approx(float(values.norm()))
        assert table.call("norm", p=1) == 20.0
        assert table.call("count_nonzero") == 4.0
        top, where = table.call("top_k", k=2)
        assert (top.tolist(), where.tolist()) == ([12.0, 3.0], [3, 0])
        assert table.call("dot", other) == pytest.approx(float(values @ torch.arange(5.0)))
        table.call("scale", factor=2.0)
        table.call("axpy", other, factor=-1.0)
        assert table.get().tolist() == [6, -9, -2, 21, -2]
        table.call("fill", value=1.5)
        assert table.get().tolist() == [1.5] * 5
        for wrong, words in (
            (lambda: table.call("exec"), "known: sum"),
            (lambda: table.call("top_k"), "takes k"),
            (lambda: table.call("dot"), "another table"),
        ):
            with pytest.raises(ValueError, match=words):
                wrong()

    found.each(act)


def test_a_table_that_is_another_and_shapes_that_do_not_fit_are_refused() -> None:
    found = TableGang(n_workers=1)

    def act(connection: Connection) -> None:
        table = Table(connection.asking, "t", (4, 2))
        for wrong, words in (
            (lambda: Table(connection.asking, "t", (5, 2)), "is another"),
            (lambda: table.add([0], torch.ones(1, 3)), r"shape \[1, 3\]"),
            (lambda: table.add([4], torch.ones(1, 2)), "4 rows"),
            (lambda: Table(connection.asking, "u", (0, 2)), "holds nothing"),
            (lambda: Table(connection.asking, "u", 3, staleness=-2), "staleness"),
            (lambda: Table(connection.asking, "u", 3, dtype=torch.complex64), "Tables hold"),
            (lambda: Table(connection.asking, "u", 3, optimizer="newton"), "known: add"),
        ):
            with pytest.raises(ValueError, match=words):
                wrong()
        assert table.get([0]).tolist() == [[0, 0]]  # the connection goes on

    found.each(act)


def test_what_was_saved_is_read_on_another_number_of_servers(tmp_path: Path) -> None:
    path = str(tmp_path / "tables.safetensors")

    def begin(connection: Connection) -> None:
        table = Table(connection.asking, "t", (7, 2), optimizer="adagrad")
        words = Table(connection.asking, "w", (None,))
        for _ in range(3):
            table.add([1, 6], torch.ones(2, 2))
            words.add([100, 7], 1.0)
        tables.save(path, table, words)

    def go_on(connection: Connection) -> torch.Tensor:
        table = Table(connection.asking, "t", (7, 2), optimizer="adagrad")
        words = Table(connection.asking, "w", (None,))
        tables.load(path, table, words)
        assert words.get([7, 100, 8]).tolist() == [3, 3, 0]
        table.add([1, 6], torch.ones(2, 2))
        return table.get()

    def undisturbed(connection: Connection) -> torch.Tensor:
        table = Table(connection.asking, "t", (7, 2), optimizer="adagrad")
        for _ in range(4):
            table.add([1, 6], torch.ones(2, 2))
        return table.get()

    TableGang(n_workers=1, n_servers=2).each(begin)
    (resumed,) = TableGang(n_workers=1, n_servers=3).each(go_on)
    (straight,) = TableGang(n_workers=1).each(undisturbed)
    assert torch.equal(resumed, straight)


def test_outside_of_a_job_a_table_lies_in_the_scripts_own_process() -> None:
    table = tables.table("alone", (3,), optimizer="sgd", options={"learning_rate": 1.0})
    table.add([1], 2.0)
    table.clock()
    assert table.get().tolist() == [0, -2, 0]
    assert (tables.rank(), tables.n_workers(), tables.n_servers()) == (0, 1, 1)
    tables.barrier()
