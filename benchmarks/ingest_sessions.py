# SPDX-License-Identifier: Apache-2.0
"""Sessions of MLflow's unchanged client that log batches of points, one after the other, to one tracking server."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.process_times import found_processes, processor_s
from mlhub.embedded.ports import free_port
from tests.platform import wait

KEYS, N_WARM = 10, 3
START_S = 300.0
# What logs. It says when it is about to log, and when it has logged, and waits for a line before it goes on: what it
# takes to start it and to read the points back, is no part of a batch. The first batches make rows and load modules.
CLIENT = f"""
import sys, time
from mlflow import MlflowClient
from mlflow.entities import Metric
n_batches, size = int(sys.argv[1]), int(sys.argv[2])
client = MlflowClient()
found = client.get_experiment_by_name("ingest")
experiment = found.experiment_id if found else client.create_experiment("ingest")
run = client.create_run(experiment).info.run_id
keys = min({KEYS}, size)
per_key = size // keys
batches = [
    [
        Metric(f"m{{k}}", s * 0.5, 1_700_000_000_000 + s, s)
        for k in range(keys) for s in range(b * per_key, (b + 1) * per_key)
    ]
    for b in range(n_batches + {N_WARM})
]
for batch in batches[:{N_WARM}]:
    client.log_batch(run, metrics=batch)
print("ready", flush=True)
sys.stdin.readline()
began, spent = time.perf_counter(), time.process_time()
for batch in batches[{N_WARM}:]:
    client.log_batch(run, metrics=batch)
print(time.perf_counter() - began, time.process_time() - spent, flush=True)
sys.stdin.readline()
print(sum(len(client.get_metric_history(run, f"m{{k}}")) for k in range(keys)), flush=True)
"""
ProcessTimes = Counter[str]  # seconds of processor time by what took it


@dataclass(frozen=True)
class TrackingServer:
    """times: what its processes have taken so far; those that `answer` are counted as what a batch costs."""

    url: str
    token: str = ""
    times: Callable[[], ProcessTimes] = Counter
    answer: Callable[[str], bool] = bool
    processes: Callable[[], list[int]] = list

    @property
    def stores(self) -> bool:
        return bool(self.times())


@dataclass
class IngestMeasured:
    """Of the sessions with one server and one size of batches; times: milliseconds a batch."""

    points_a_s: list[float] = field(default_factory=list)
    server_ms: list[float] = field(default_factory=list)
    client_ms: list[float] = field(default_factory=list)
    by_process_ms: list[ProcessTimes] = field(default_factory=list)

    def add_session(self, server: TrackingServer, *, n_batches: int, size: int) -> None:
        """Raises RuntimeError when not all points were stored once."""
        session = IngestSession(server, n_batches=n_batches, size=size)
        before = server.times()
        took_s, client_s = session.log()
        spent = {name: 1000 * (s - before[name]) / n_batches for name, s in server.times().items()}
        n_stored = session.n_stored()
        if server.stores and n_stored != session.n_points:
            raise RuntimeError(f"{n_stored:,} points of {session.n_points:,} are stored")
        self.points_a_s.append(n_batches * size / took_s)
        self.client_ms.append(1000 * client_s / n_batches)
        self.by_process_ms.append(Counter(spent))
        self.server_ms.append(sum(ms for name, ms in spent.items() if server.answer(name)))

    def median_of(self, process: str) -> float:
        return statistics.median(times[process] for times in self.by_process_ms)


class IngestSession:
    """One client, which is about to log when this is made."""

    def __init__(self, server: TrackingServer, *, n_batches: int, size: int) -> None:
        self.n_points = (n_batches + N_WARM) * size
        variables = {**os.environ, "MLFLOW_TRACKING_URI": server.url, "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "10"}
        if server.token:
            variables["MLFLOW_TRACKING_TOKEN"] = server.token
        command = [sys.executable, "-c", CLIENT, str(n_batches), str(size)]
        self._client = subprocess.Popen(
            command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._line()

    def begin(self) -> None:
        """It begins to log."""
        assert self._client.stdin is not None
        self._client.stdin.write("go on\n")
        self._client.stdin.flush()

    def logged(self) -> tuple[float, float]:
        """Once it has logged: the seconds that it took, and its own processor time of them."""
        took_s, client_s = self._line().split()
        return float(took_s), float(client_s)

    def log(self) -> tuple[float, float]:
        self.begin()
        return self.logged()

    def n_stored(self) -> int:
        """The points that the server has of this session, as the client reads them; it ends then."""
        self.begin()
        found = int(self._line())
        self._client.wait()
        return found

    def _line(self) -> str:
        assert self._client.stdout is not None
        if not (line := self._client.stdout.readline().strip()):
            raise RuntimeError("the client failed; its output has the reason")
        return line


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

        def processes() -> list[int]:
            return [pid for pid, _, session in found_processes() if session == own]

        yield TrackingServer(
            f"http://127.0.0.1:{port}",
            times=lambda: Counter(server=processor_s(processes())),
            processes=processes,
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
