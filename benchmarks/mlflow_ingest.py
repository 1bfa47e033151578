# SPDX-License-Identifier: Apache-2.0
"""Points a second that MLflow's unchanged client logs in batches of 1,000: to MLHub, and to MLflow's own server.

python -m benchmarks.mlflow_ingest [--mlflow PYTHON] [--batches 40] [--rounds 3] [--page FILE]

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
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.instant_tracking import instant_server
from mlhub.embedded.ports import free_port
from tests.platform import RunningPlatform, running, wait

BATCH, KEYS = 1000, 10
MLHUB, MLFLOW, INSTANT = "MLHub", "MLflow on SQLite", "answers at once, stores nothing"
START_S = 300.0
# What logs: prints the seconds that it took, its own processor time of them, and the points that the server has then.
CLIENT = f"""
import sys, time
from mlflow import MlflowClient
from mlflow.entities import Metric
n_batches = int(sys.argv[1])
client = MlflowClient()
found = client.get_experiment_by_name("ingest")
experiment = found.experiment_id if found else client.create_experiment("ingest")
run = client.create_run(experiment).info.run_id
per_key = {BATCH} // {KEYS}
batches = [
    [
        Metric(f"m{{k}}", s * 0.5, 1_700_000_000_000 + s, s)
        for k in range({KEYS}) for s in range(b * per_key, (b + 1) * per_key)
    ]
    for b in range(n_batches)
]
print("ready", flush=True)
began, spent = time.perf_counter(), time.process_time()
for batch in batches:
    client.log_batch(run, metrics=batch)
took, spent = time.perf_counter() - began, time.process_time() - spent
stored = sum(len(client.get_metric_history(run, f"m{{k}}")) for k in range({KEYS}))
print(took, spent, stored, flush=True)
"""

PAGE = """# Ingest by the MLflow protocol

Written by `python -m benchmarks.mlflow_ingest`: mlflow-skinny's unchanged client, one process, `log_batch` of 1,000
points of 10 metrics, one batch after the other; the servers take turns, each with one process that
answers. Points a second are those of the whole session, the client's own work included: a server that answers at once
and stores nothing is the most that there is to reach. Processor times are of a batch, the servers' with their
databases: less than wall time they depend on what else the machine does.

{when}, on {n_processors} processors, at a load of {load}.

{table}

{killed}
"""


@dataclass(frozen=True)
class TrackingServer:
    """processes: the ids of those that answer and store."""

    url: str
    token: str = ""
    processes: Callable[[], list[int]] = list

    @property
    def stores(self) -> bool:
        return bool(self.processes())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mlflow_ingest")
    parser.add_argument("--mlflow", type=Path, help="Python of an environment with the whole mlflow")
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=Path, help="file to write the results to")
    given = parser.parse_args(arguments)
    rates: dict[str, list[float]] = {}
    processor_ms: dict[str, list[float]] = {}
    client_ms: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        place = Path(folder) / "platform"
        place.mkdir()
        platform = stack.enter_context(running(place))
        person = platform.person("bob", organisation="Ingest")
        token = person.post("/tokens", name="mlflow", scopes=["read", "write"])["token"]
        servers = {MLHUB: TrackingServer(platform.url, token, lambda: processes_of(platform))}
        if given.mlflow is not None:
            servers[MLFLOW] = stack.enter_context(own_server(given.mlflow, Path(folder)))
        servers[INSTANT] = TrackingServer(stack.enter_context(instant_server()))
        for _ in range(given.rounds):
            for name, server in servers.items():
                before = processor_s(server.processes())
                points_a_s, of_client_s = rate(server, n_batches=given.batches)
                rates.setdefault(name, []).append(points_a_s)
                spent = 1000 * (processor_s(server.processes()) - before) / given.batches
                processor_ms.setdefault(name, []).append(spent)
                client_ms.setdefault(name, []).append(1000 * of_client_s / given.batches)
        killed = with_a_kill(platform, token, n_batches=given.batches)
    text = page(rates, processor_ms, client_ms, killed)
    print(text)
    if given.page is not None:
        given.page.write_text(text)
    return 0


def processes_of(platform: RunningPlatform) -> list[int]:
    """The web server and PostgreSQL, with a process for each connection."""
    database = int(next(platform.home.glob("*/postmaster.pid")).read_text().split()[0])
    return [platform.pids()["web"], database, *(pid for pid, parent, _ in found_processes() if parent == database)]


def processes_of_session(session: int) -> list[int]:
    return [pid for pid, _, found in found_processes() if found == session]


def found_processes() -> Iterator[tuple[int, int, int]]:
    """Of each process on this machine its id, its parent's and its session's."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (fields := stat_of(int(folder.name))):
            yield int(folder.name), int(fields[1]), int(fields[3])


def stat_of(pid: int) -> list[str]:
    """Its fields after the name; none of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def processor_s(pids: Iterable[int]) -> float:
    """What these processes have taken of processors so far."""
    ticks = sum(int(fields[11]) + int(fields[12]) for pid in pids if (fields := stat_of(pid)))
    return ticks / os.sysconf("SC_CLK_TCK")


def rate(server: TrackingServer, *, n_batches: int) -> tuple[float, float]:
    """Points a second of one session, and the client's processor time of it in seconds.

    Raises RuntimeError when not all points were stored once.
    """
    client = start_client(server.url, server.token, n_batches=n_batches)
    took_s, spent_s, n_stored = end_of(client)
    if server.stores and n_stored != n_batches * BATCH:
        raise RuntimeError(f"{n_stored:,} points of {n_batches * BATCH:,} are stored")
    return n_batches * BATCH / took_s, spent_s


def with_a_kill(platform: RunningPlatform, token: str, *, n_batches: int) -> str:
    """What is stored of a session in which the web process was killed twice."""
    client = start_client(platform.url, token, n_batches=n_batches)
    n_kills = 0
    for _ in range(2):
        time.sleep(0.3)
        os.kill(platform.pids()["web"], signal.SIGKILL)
        n_kills += 1
        wait(lambda: answers(f"{platform.url}/healthz"), seconds=START_S)
    *_, n_stored = end_of(client)
    return (
        f"With the web process killed {n_kills} times meanwhile, by the client's retries: {n_stored:,} points are "
        f"stored of {n_batches * BATCH:,} that were logged."
    )


def start_client(url: str, token: str, *, n_batches: int) -> subprocess.Popen[str]:
    """Returns once it is about to log."""
    variables = {**os.environ, "MLFLOW_TRACKING_URI": url, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "10"}
    if token:
        variables["MLFLOW_TRACKING_TOKEN"] = token
    command = [sys.executable, "-c", CLIENT, str(n_batches)]
    client = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
    assert client.stdout is not None
    if client.stdout.readline().strip() != "ready":
        raise RuntimeError("the client did not start; its output has the reason")
    return client


def end_of(client: subprocess.Popen[str]) -> tuple[float, float, int]:
    """The seconds that it took, its processor time, and the points that are stored."""
    output, _ = client.communicate()
    if client.returncode:
        raise RuntimeError("the client failed; its output has the reason")
    took_s, spent_s, n_stored = output.split()
    return float(took_s), float(spent_s), int(n_stored)


@contextlib.contextmanager
def own_server(python: Path, folder: Path) -> Iterator[TrackingServer]:
    """MLflow's own server on SQLite, with one process, as MLHub's web server, and without its runner of jobs."""
    port = free_port()
    store = [
        "--backend-store-uri",
        f"sqlite:///{folder}/mlflow.db",
        "--default-artifact-root",
        str(folder / "artifacts"),
    ]
    command = [str(python), "-m", "mlflow", "server", "--port", str(port), "--workers", "1", *store]
    variables = {
        **os.environ,
        "PATH": f"{python.parent}:{os.environ['PATH']}",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "0",
    }
    with (folder / "mlflow.log").open("wb") as log:
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=log, start_new_session=True)
    try:
        wait(lambda: answers(f"http://127.0.0.1:{port}/health"), seconds=START_S)
        own = process.pid
        yield TrackingServer(
            f"http://127.0.0.1:{port}",
            processes=lambda: [pid for pid, _, session in found_processes() if session == own],
        )
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # nosec B310 - an address of this machine
            return bool(answer.status == 200)
    except OSError:
        return False


def page(
    rates: dict[str, list[float]], processor_ms: dict[str, list[float]], client_ms: dict[str, list[float]], killed: str
) -> str:
    titles = "| server | points a second, median | least and most | processor time of server, median | of client |"
    rows = [titles, "|---|---|---|---|---|"]
    median = {name: statistics.median(found) for name, found in rates.items()}
    spent = {name: statistics.median(found) for name, found in processor_ms.items()}
    of_client = {name: statistics.median(found) for name, found in client_ms.items()}
    for name, found in rates.items():
        own = f"{spent[name]:.1f} ms" if name != INSTANT else "-"
        row = f"| {name} | {median[name]:,.0f} | {min(found):,.0f} to {max(found):,.0f} | {own} "
        rows.append(f"{row}| {of_client[name]:.1f} ms |")
    if MLFLOW in rates:
        rows += [
            "",
            f"By points a second, what a client sees, MLHub takes **{median[MLHUB] / median[MLFLOW]:.1f} times** as "
            "many as MLflow's own server; a server that answers at once takes "
            f"{median[INSTANT] / median[MLFLOW]:.1f} times as many, which bounds every server with this client. By "
            "processor time of the server, which is what many clients share, MLHub takes "
            f"**{spent[MLFLOW] / spent[MLHUB]:.1f} times** as many.",
        ]
    when, load = f"{datetime.now(UTC):%Y-%m-%d}", f"{os.getloadavg()[0]:.0f}"
    return PAGE.format(when=when, n_processors=os.cpu_count(), load=load, table="\n".join(rows), killed=killed)


if __name__ == "__main__":
    sys.exit(main())
