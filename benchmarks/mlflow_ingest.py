# SPDX-License-Identifier: Apache-2.0
"""Points a second that MLflow's unchanged client logs in batches of 1,000: to MLHub, and to MLflow's own server.

python -m benchmarks.mlflow_ingest [--mlflow PYTHON] [--batches 40] [--rounds 3] [--page FILE]

--mlflow: the Python of an environment with the whole `mlflow`, whose server then runs on SQLite in the same run, in
turns with MLHub's. MLHub's web process is killed in the middle of one more session, and what is stored then is
counted.
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
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from mlhub.embedded.ports import free_port
from tests.platform import RunningPlatform, running, wait

BATCH, KEYS = 1000, 10
START_S = 300.0
# What logs: prints the seconds that it took, and the points that the server has afterwards.
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
began = time.perf_counter()
for batch in batches:
    client.log_batch(run, metrics=batch)
took = time.perf_counter() - began
stored = sum(len(client.get_metric_history(run, f"m{{k}}")) for k in range({KEYS}))
print(took, stored, flush=True)
"""

PAGE = """# Ingest by the MLflow protocol

Written by `python -m benchmarks.mlflow_ingest`: mlflow-skinny's unchanged client, one process, `log_batch` of 1,000
points of 10 metrics, one batch after the other; the servers take turns, each with one process that
answers. Points a second are those of the whole session, the client's own work included.

{when}, on {n_processors} processors, at a load of {load}.

{table}

{killed}
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mlflow_ingest")
    parser.add_argument("--mlflow", type=Path, help="Python of an environment with the whole mlflow")
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--page", type=Path, help="file to write the results to")
    given = parser.parse_args(arguments)
    rates: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        place = Path(folder) / "platform"
        place.mkdir()
        platform = stack.enter_context(running(place))
        person = platform.person("bob", organisation="Ingest")
        token = person.post("/tokens", name="mlflow", scopes=["read", "write"])["token"]
        servers = {"MLHub": (platform.url, token)}
        if given.mlflow is not None:
            servers["MLflow on SQLite"] = (stack.enter_context(own_server(given.mlflow, Path(folder))), "")
        for _ in range(given.rounds):
            for name, (url, credential) in servers.items():
                rates.setdefault(name, []).append(rate(url, credential, n_batches=given.batches))
        killed = with_a_kill(platform, token, n_batches=given.batches)
    text = page(rates, killed)
    print(text)
    if given.page is not None:
        given.page.write_text(text)
    return 0


def rate(url: str, token: str, *, n_batches: int) -> float:
    """Points a second of one session. Raises RuntimeError when not all of them were stored once."""
    client = start_client(url, token, n_batches=n_batches)
    took_s, n_stored = end_of(client)
    if n_stored != n_batches * BATCH:
        raise RuntimeError(f"{n_stored:,} points of {n_batches * BATCH:,} are stored")
    return n_batches * BATCH / took_s


def with_a_kill(platform: RunningPlatform, token: str, *, n_batches: int) -> str:
    """What is stored of a session in which the web process was killed twice."""
    client = start_client(platform.url, token, n_batches=n_batches)
    n_kills = 0
    for _ in range(2):
        time.sleep(0.3)
        os.kill(platform.pids()["web"], signal.SIGKILL)
        n_kills += 1
        wait(lambda: answers(f"{platform.url}/healthz"), seconds=START_S)
    _, n_stored = end_of(client)
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


def end_of(client: subprocess.Popen[str]) -> tuple[float, int]:
    """The seconds that it took, and the points that are stored."""
    output, _ = client.communicate()
    if client.returncode:
        raise RuntimeError("the client failed; its output has the reason")
    took_s, n_stored = output.split()
    return float(took_s), int(n_stored)


@contextlib.contextmanager
def own_server(python: Path, folder: Path) -> Iterator[str]:
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
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # nosec B310 - an address of this machine
            return bool(answer.status == 200)
    except OSError:
        return False


def page(rates: dict[str, list[float]], killed: str) -> str:
    rows = ["| server | points a second, median | least and most |", "|---|---|---|"]
    for name, found in rates.items():
        rows.append(f"| {name} | {statistics.median(found):,.0f} | {min(found):,.0f} to {max(found):,.0f} |")
    medians = [statistics.median(found) for found in rates.values()]
    if len(medians) == 2:
        rows += ["", f"MLHub takes {medians[0] / medians[1]:.1f} times as many."]
    when, load = f"{datetime.now(UTC):%Y-%m-%d}", f"{os.getloadavg()[0]:.0f}"
    return PAGE.format(when=when, n_processors=os.cpu_count(), load=load, table="\n".join(rows), killed=killed)


if __name__ == "__main__":
    sys.exit(main())
