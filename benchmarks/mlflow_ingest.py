# SPDX-License-Identifier: Apache-2.0
"""What batches of points that MLflow's unchanged client logs cost: MLHub, and MLflow's own server.

python -m benchmarks.mlflow_ingest [--mlflow PYTHON] [--batches 40] [--rounds 3] [--sizes 10 100 1000] [--page FILE]

--mlflow: the Python of an environment with the whole `mlflow`, whose server then runs on SQLite in the same run, in
turns with MLHub's, and with one that answers at once, which shows what the client alone takes. MLHub's web process is
killed in the middle of one more session, and what is stored then is counted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.ingest_sessions import START_S, IngestMeasured, IngestSession, TrackingServer, answers, own_server
from benchmarks.instant_tracking import instant_server
from benchmarks.process_times import platform_times
from tests.platform import RunningPlatform, running, wait

MLHUB, MLFLOW, INSTANT = "MLHub", "MLflow on SQLite", "answers at once, stores nothing"
IDLE_S = 20.0
LEAST_MS = 0.1  # of a process in the table
# What MLHub does in any case, batches or none: rounds, tasks on time, and what these ask of PostgreSQL
BACKGROUND = ("control", "worker", "beat", "supervisor")
IngestFound = dict[tuple[str, int], IngestMeasured]  # by server and size of batches

PAGE = """# Ingest by the MLflow protocol

Written by `python -m benchmarks.mlflow_ingest`: mlflow-skinny's unchanged client, one process, `log_batch` of points of
10 metrics, one batch after the other; the servers take turns, each with one process that answers. Counted is from the
fourth batch of a session to its last one: neither the client's start nor reading the points back. Points a second have
the client's own work in them: a server that answers at once and stores nothing is the most that there is to reach.
Processor times depend less than wall time on what else the machine does; they are a server's with its database and
Valkey, without MLHub's background processes, which work in any case.

{when}, on {n_processors} processors, at a load of {load}; medians of {rounds} sessions of {batches} batches.

{table}

{words}

## By process

MLHub's processes with {size:,} points a batch, and what each takes of a second without requests.

{by_process}

## When the web process is killed

{killed}
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mlflow_ingest")
    parser.add_argument("--mlflow", type=Path, help="Python of an environment with the whole mlflow")
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000], help="points of a batch")
    parser.add_argument("--page", type=Path, help="file to write the results to")
    given = parser.parse_args(arguments)
    found: IngestFound = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        place = Path(folder) / "platform"
        place.mkdir()
        platform = stack.enter_context(running(place))
        person = platform.person("bob", organisation="Ingest")
        token = person.post("/tokens", name="mlflow", scopes=["read", "write"])["token"]
        mlhub = TrackingServer(platform.url, token, lambda: platform_times(platform), is_of_batches)
        servers = {MLHUB: mlhub}
        if given.mlflow is not None:
            servers[MLFLOW] = stack.enter_context(own_server(given.mlflow, Path(folder)))
        servers[INSTANT] = TrackingServer(stack.enter_context(instant_server()))
        for _ in range(given.rounds):
            for size in given.sizes:
                for name, server in servers.items():
                    measured = found.setdefault((name, size), IngestMeasured())
                    measured.add_session(server, n_batches=given.batches, size=size)
        idle = idle_ms(platform)
        killed = with_a_kill(platform, mlhub, n_batches=given.batches, size=max(given.sizes))
    text = page(found, idle, killed, rounds=given.rounds, batches=given.batches)
    print(text)
    if given.page is not None:
        given.page.write_text(text)
    return 0


def is_of_batches(process: str) -> bool:
    return process.removeprefix("PostgreSQL, for ") not in BACKGROUND


def idle_ms(platform: RunningPlatform) -> Counter[str]:
    """Milliseconds of processor time in a second without requests, by process."""
    before = platform_times(platform)
    time.sleep(IDLE_S)
    return Counter({name: 1000 * (s - before[name]) / IDLE_S for name, s in platform_times(platform).items()})


def with_a_kill(platform: RunningPlatform, server: TrackingServer, *, n_batches: int, size: int) -> str:
    """What is stored of a session in which the web process was killed twice."""
    session = IngestSession(server, n_batches=n_batches, size=size)
    session.begin()
    n_kills = 0
    for _ in range(2):
        time.sleep(0.3)
        os.kill(platform.pids()["web"], signal.SIGKILL)
        n_kills += 1
        wait(lambda: answers(f"{platform.url}/healthz"), seconds=START_S)
    session.logged()
    return (
        f"Killed {n_kills} times during one more session, by the client's retries: {session.n_stored():,} points are "
        f"stored of {session.n_points:,} that were logged."
    )


def page(found: IngestFound, idle: Counter[str], killed: str, *, rounds: int, batches: int) -> str:
    size = max(size for _, size in found)
    return PAGE.format(
        when=f"{datetime.now(UTC):%Y-%m-%d}",
        n_processors=os.cpu_count(),
        load=f"{os.getloadavg()[0]:.0f}",
        rounds=rounds,
        batches=batches,
        table="\n".join(table(found)),
        words=in_words(found, size),
        size=size,
        by_process="\n".join(by_process(found[MLHUB, size], idle)),
        killed=killed,
    )


def table(found: IngestFound) -> Iterable[str]:
    yield "| points a batch | server | points a second | least and most | processor time of a batch, server | client |"
    yield "|---|---|---|---|---|---|"
    for (name, size), one in sorted(found.items(), key=lambda item: -item[0][1]):
        rates = f"{statistics.median(one.points_a_s):,.0f} | {min(one.points_a_s):,.0f} to {max(one.points_a_s):,.0f}"
        own = f"{statistics.median(one.server_ms):.1f} ms" if name != INSTANT else "-"
        yield f"| {size:,} | {name} | {rates} | {own} | {statistics.median(one.client_ms):.1f} ms |"


def by_process(measured: IngestMeasured, idle: Counter[str]) -> Iterable[str]:
    yield "| process | of a batch, ms | idle, ms a second |"
    yield "|---|---|---|"
    spent = {name: measured.median_of(name) for name in {name for one in measured.by_process_ms for name in one}}
    for name in sorted(spent, key=spent.__getitem__, reverse=True):
        if max(spent[name], idle[name]) >= LEAST_MS:
            background = "" if is_of_batches(name) else " (background)"
            yield f"| {name}{background} | {spent[name]:.1f} | {idle[name]:.1f} |"


def in_words(found: IngestFound, size: int) -> str:
    if (MLFLOW, size) not in found:
        return ""
    rate = {name: statistics.median(found[name, size].points_a_s) for name in (MLHUB, MLFLOW, INSTANT)}
    times = [
        f"**{ratio(found, of):.1f} times** as many in batches of {of:,}"
        for of in sorted({size for _, size in found}, reverse=True)
    ]
    return (
        f"By points a second, what a client sees, MLHub takes **{rate[MLHUB] / rate[MLFLOW]:.1f} times** as many as "
        f"MLflow's own server in batches of {size:,}; a server that answers at once takes "
        f"{rate[INSTANT] / rate[MLFLOW]:.1f} times as many, which bounds every server with this client. By processor "
        f"time of the server, which is what many clients share, MLHub takes {', '.join(times)}."
    )


def ratio(found: IngestFound, size: int) -> float:
    """Of MLflow's processor time to MLHub's."""
    return statistics.median(found[MLFLOW, size].server_ms) / statistics.median(found[MLHUB, size].server_ms)


if __name__ == "__main__":
    sys.exit(main())
