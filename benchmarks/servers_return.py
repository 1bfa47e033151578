# SPDX-License-Identifier: Apache-2.0
"""What a parameter server's death costs, and what it costs to be ready for it: python -m benchmarks.servers_return

Writes benchmarks/results/servers-return.md. A server under its guard is killed while a worker pushes to it, for models
of several sizes; the worker reports how long its exchange took, the server what was lost. Then the processor time of a
copy of the shard, and of the journal a batch.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import signal
import statistics
import tempfile
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

import torch
from torch import nn

from mlhub.runtime.launcher.fork_supervisor import ForkSupervisor, Incarnation
from mlhub.runtime.ps.client.client import Client
from mlhub.runtime.ps.layout import plan_shards
from mlhub.runtime.ps.leases import BatchLease, Leases
from mlhub.runtime.ps.server.coordination import WorkerCoordination
from mlhub.runtime.ps.server.server import Server
from mlhub.runtime.ps.server.shard_snapshots import SHARE, SnapshotWriter, has_snapshot
from mlhub.runtime.ps.server.waiting import ShardCondition
from mlhub.runtime.ps.server.write_ahead_log import WriteAheadLog
from mlhub.runtime.roles.server_setup import KEEP_EVERY_S, get_ready
from tests.runtime.gang import free_ports

SECRET = b"benchmark" * 4
SIZES = (10_000, 1_000_000, 25_000_000)  # elements; Adam keeps two more of each
PAGE = Path(__file__).parent / "results" / "servers-return.md"
N_ASKS = 20_000


def serve(port: int, folder: str, every_s: float) -> None:
    """One server with its guard; leaves what was lost, and what keeping took, in files."""

    def live(incarnation: Incarnation) -> int:
        snapshot_writer = SnapshotWriter(Path(folder), every_s=every_s)

        def report(server: Server) -> None:
            lost_s = incarnation.died_at - snapshot_writer.restored_at
            Path(folder, f"lost-{incarnation.number}").write_text(
                f"{server.n_lost} {lost_s} {time.time() - incarnation.died_at}"
            )

        server = Server(
            ("127.0.0.1", port), index=0, n_servers=1, n_workers=1, attempt="a", secret=SECRET,
            snapshot_writer=snapshot_writer,
            incarnation=incarnation.number, on_return=report,
        )  # fmt: skip
        server.serve(start_timeout_s=60)
        Path(folder, "kept").write_text(f"{snapshot_writer.n_snapshots} {snapshot_writer.processor_s}")
        return 0

    get_ready()
    os._exit(ForkSupervisor(live, lambda: has_snapshot(Path(folder))).run())


def measure(n_elements: int, *, n_deaths: int, every_s: float) -> dict[str, float]:
    """Kills a server n_deaths times; medians over them."""
    with tempfile.TemporaryDirectory() as folder:
        (port,) = free_ports(1)
        guard = get_context("forkserver").Process(target=serve, args=(port, folder, every_s))
        guard.start()
        client = _client(n_elements, port)
        plain_s, worst_s = _exchanges(client, seconds=2 * every_s), list[float]()
        for _ in range(n_deaths):
            _exchanges(client, seconds=every_s)
            children = Path(f"/proc/{guard.pid}/task/{guard.pid}/children").read_text().split()
            os.kill(int(children[0]), signal.SIGKILL)
            began = time.perf_counter()
            client.exchange()
            worst_s.append(time.perf_counter() - began)
        _exchanges(client, seconds=2 * every_s)
        client.close()
        guard.join(60)
        losses = [[float(word) for word in path.read_text().split()] for path in sorted(Path(folder).glob("lost-*"))]
        n_kept, processor_s = (float(word) for word in Path(folder, "kept").read_text().split())
        size_bytes = Path(folder, "shard").stat().st_size
    updates, lost_s, away_s = (statistics.median(column) for column in zip(*losses, strict=True))
    copy_s = processor_s / n_kept
    return {
        "elements": n_elements, "exchange_s": plain_s, "answered_s": statistics.median(worst_s), "away_s": away_s,
        "updates": updates, "lost_s": lost_s, "copy_s": copy_s, "size_bytes": size_bytes,
    }  # fmt: skip


def _client(n_elements: int, port: int) -> Client:
    weights, gradient = torch.zeros(n_elements), torch.full((n_elements,), 0.01)
    client = Client(
        [f"127.0.0.1:{port}"], weights, gradient, index=0, attempt="a", secret=SECRET, start_timeout_s=60,
        returns_within_s=60,
    )  # fmt: skip
    parameter = nn.Parameter(weights.clone())
    optimizer = torch.optim.Adam([parameter])
    strategy = {"name": "asp", "staleness_scaling": "none"}
    client.start(
        plan_shards([("w", parameter)], optimizer, n_shards=1, n_workers=1, resume_from=None, strategy=strategy)
    )
    client.pull()
    return client


def _exchanges(client: Client, *, seconds: float) -> float:
    """The median exchange's seconds."""
    took, until = list[float](), time.perf_counter() + seconds
    while time.perf_counter() < until:
        began = time.perf_counter()
        client.exchange()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def journal_s() -> float:
    """Processor seconds of a batch that is given out, more than without a journal."""

    def asks(journal: WriteAheadLog | None) -> float:
        assembly = WorkerCoordination(1, ShardCondition())
        assembly.leases = Leases(BatchLease(steps=10**9, steps_per_epoch=10**9), 1)
        if journal is not None:
            assembly.record_in(journal)
        began = resource.getrusage(resource.RUSAGE_SELF)
        for number in range(1, N_ASKS + 1):
            assembly.lease(0, number, stop=False, checkpoint=False, n_under_way=0)
        ended = resource.getrusage(resource.RUSAGE_SELF)
        return (ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime) / N_ASKS

    with tempfile.TemporaryDirectory() as folder:
        return asks(WriteAheadLog(Path(folder) / "journal")) - asks(None)


def page(rows: Sequence[dict[str, float]], *, batch_s: float, every_s: float) -> str:
    where = f"{platform.machine()}, {os.cpu_count()} processors, torch {torch.__version__}"
    columns = ("elements", "exchange, ms", "kill to first push answered, s", "updates lost", "of, s", "copy, MB",
               "processor s a copy", "share at the default pace")  # fmt: skip
    lines = [
        "# A parameter server that is killed",
        "",
        f"`make bench-servers-return`, {where}. One worker under asp with Adam; a server",
        f"that keeps its shard every {every_s:g} s here ({KEEP_EVERY_S:g} s by default). Medians.",
        "",
        f"| {' | '.join(columns)} |",
        "|---" * len(columns) + "|",
    ]
    for row in rows:
        share = row["copy_s"] / (row["copy_s"] + max(KEEP_EVERY_S, row["copy_s"] / SHARE))
        cells = (
            f"{row['elements']:,.0f}", f"{1e3 * row['exchange_s']:.2f}", f"{row['answered_s']:.2f}",
            f"{row['updates']:.0f}", f"{row['lost_s']:.2f}", f"{row['size_bytes'] / 1e6:.1f}",
            f"{row['copy_s']:.4f}", f"{share:.3%}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"The journal takes {1e6 * batch_s:.1f} µs of a processor a batch.", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--every", type=float, default=2.0, help="seconds from one copy to the next")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="elements")
    parser.add_argument("--out", type=Path, default=PAGE)
    arguments = parser.parse_args()
    rows = [measure(n, n_deaths=3, every_s=arguments.every) for n in arguments.sizes]
    arguments.out.write_text(page(rows, batch_s=journal_s(), every_s=arguments.every), encoding="utf-8")
    print(arguments.out.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
