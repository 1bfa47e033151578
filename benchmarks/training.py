"""python -m benchmarks.training: what the training runtime costs, each line a ratio of two things measured in turn.

    python -m benchmarks.training [--quick] [--zeromq PYTHON] [--elephas PYTHON]

Writes benchmarks/results/training.md. Everything runs on this machine over loopback, with one thread a process.
PYTHON: an interpreter of an environment of its own that has pyzmq and numpy, or elephas 7.3 (and a Java on the path);
they are none of this project's requirements, and without them their lines are left out and say so.
--quick: whole trainings with two workers only, in fewer and shorter turns.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import torch

from benchmarks.peers.torch_transports import measure
from benchmarks.training_exchanges import (
    LARGE,
    N_LARGE,
    N_SMALL,
    SMALL,
    aggregate,
    all_reduce,
    bsp_of_two,
    ping_pong,
    push_and_pull,
    zeromq,
)
from benchmarks.training_inputs import HEADS as INPUT_HEADS
from benchmarks.training_inputs import input_rows
from benchmarks.training_whole import HEADS as WHOLE_HEADS
from benchmarks.training_whole import all_reduce_rows, elephas_row
from tests.runtime.gang import free_ports

RESULTS = Path(__file__).parent / "results" / "training.md"


def ms(times: list[float]) -> str:
    return f"{1e3 * statistics.median(times):.3g} ms (best {1e3 * min(times):.3g})"


def line(what: str, ours: list[float], against: str, theirs: list[float]) -> str:
    ratios = [statistics.median(ours) / statistics.median(theirs), min(ours) / min(theirs)]
    return f"| {what} | {ms(ours)} | {against} | {ms(theirs)} | {ratios[0]:.2f} | {ratios[1]:.2f} |"


def count(n: int, sent: float, size: int) -> str:
    theory = 2 * size * (n - 1) / n
    return f"| all-reduce, {n} workers | {sent / 1e6:.2f} MB | {theory / 1e6:.2f} MB | {sent / theory:.3f} |"


def exchanges(zeromq_python: str | None) -> Iterator[str]:
    """Rows of push + pull against the bare wire, against other transports, and against itself."""
    large_bytes = 4 * LARGE
    loop = ping_pong(large_bytes, N_LARGE)
    pipelined, serial = push_and_pull(LARGE, N_LARGE)
    loop += ping_pong(large_bytes, N_LARGE)
    yield line("push + SGD + pull, 25 M parameters", pipelined, "100 MB there and back", loop)
    yield line("the same", pipelined, "push (updating on the way), then pull", serial)
    round_trip = ping_pong(1, N_SMALL)
    small, _ = push_and_pull(SMALL, N_SMALL)
    yield line("push + SGD + pull, 10 k parameters", small, "1 byte there and back", round_trip)
    for n, repeats, size in ((LARGE, N_LARGE, "25 M"), (SMALL, N_SMALL, "10 k")):
        peers = {f"{name}, the same": measure(key, port=free_ports(1)[0], n=n, repeats=repeats)
                 for key, name in (("gloo", "gloo isend and irecv"), ("rpc", "torch RPC over TCP"))}  # fmt: skip
        if zeromq_python is not None:
            peers["ZeroMQ, the same"] = zeromq(zeromq_python, n, repeats)
        ours, _ = push_and_pull(n, repeats)
        yield from (line(f"push + SGD + pull, {size}", ours, name, theirs) for name, theirs in peers.items())
        encrypted, _ = push_and_pull(n, repeats, is_encrypted=True)
        yield line(f"over TLS 1.3, {size}", encrypted, "in the clear", ours)
    alone = aggregate(1, 1, LARGE, N_LARGE)
    for n_workers, n_shards in ((2, 1), (4, 2)):
        many = aggregate(n_workers, n_shards, LARGE, 5)
        yield line(f"an exchange of 25 M, {n_workers} workers, {n_shards} shards", many, "1 worker, 1 shard", alone)


def table(heads: Sequence[str], rows: Sequence[str]) -> str:
    return "\n".join([f"| {' | '.join(heads)} |", "|---" * len(heads) + "|", *rows])


def told(rows: Iterator[str]) -> list[str]:
    """Shown as they come."""
    found = []
    for row in rows:
        print(row, flush=True)
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter trainings")
    parser.add_argument("--zeromq", metavar="PYTHON", help="an interpreter with pyzmq and numpy")
    parser.add_argument("--elephas", metavar="PYTHON", help="an interpreter with elephas 7.3")
    given = parser.parse_args()
    rows = told(exchanges(given.zeromq))
    bsp = bsp_of_two(LARGE, N_LARGE)
    reduced, sent_by_two = all_reduce(2, LARGE, N_LARGE)
    rows.append(line("BSP on one server, 2 workers, 25 M", bsp, "gloo all-reduce of 2 ranks", reduced))
    _, sent_by_four = all_reduce(4, LARGE // 4, 3)
    absent = [name for name in ("zeromq", "elephas") if getattr(given, name) is None]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trainings = told(all_reduce_rows(folder, is_quick=given.quick))
        if given.elephas is not None:
            trainings += told(iter([elephas_row(given.elephas, folder)]))
        inputs = told(input_rows(folder))

    n_cpus, load = os.cpu_count(), os.getloadavg()[0]
    where = f"{n_cpus} CPUs shared with other work (load {load:.1f} at the end), torch {torch.__version__}"
    breaks = "\n"
    text = f"""# What training costs

`make bench-training`, {datetime.now(UTC):%Y-%m-%d}: {where},
loopback. Times vary with the machine's load; the ratios compare what ran back to back.
{"Not measured, for want of an interpreter that has them: " + ", ".join(absent) + "." + breaks if absent else ""}
| what | median | against | median | ratio of medians | ratio of bests |
|---|---|---|---|---|---|
{breaks.join(rows)}

Whole trainings, with everything that MLHub does beside (reports, agreement on when to stop, totals of the loss). Both
sides are alive at once and take turns, one stopped while the other trains; the same stopwatch, in the model's loss,
counts steps, their time and the processor time of all ranks. The median over turns, and what half of the turns lie
between. Goals: a ratio of speeds of at least 0.98 each.

{table(WHOLE_HEADS, trainings)}

How long a step waits for its examples, which another thread makes ready meanwhile:

{table(INPUT_HEADS, inputs)}

| bytes that a worker sends a step | counted by the kernel | 2X(n-1)/n | ratio |
|---|---|---|---|
{count(2, sent_by_two, 4 * LARGE)}
{count(4, sent_by_four, LARGE)}

Over parameter servers a worker sends X and receives X, whatever the number of workers; each server carries its part of
X for every worker.
"""
    RESULTS.write_text(text)
    print(text)


if __name__ == "__main__":
    main()
