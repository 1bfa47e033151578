# SPDX-License-Identifier: Apache-2.0
"""What one batch of points costs the web process and PostgreSQL: of a client of MLflow's, and of a job's pods.

    python -m benchmarks.ingest_cost [--sizes 10 100 1000] [--batches 60]

The real ASGI application in this process; requests come one after the other. Processor time of the web process is that
of all its threads, less what encoding the bodies takes here; PostgreSQL's is that of its processes for connections.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.process_times import found_processes, processor_s
from benchmarks.request_cost import QUOTA
from benchmarks.web_process import ask, web_process

N_WARM, KEYS = 5, 10
BatchRequest = tuple[str, dict[str, str], Callable[[int], Any]]  # its path, headers and body by the number of the batch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000], help="points of a batch")
    parser.add_argument("--batches", type=int, default=60)
    given = parser.parse_args()
    unlimited = {f"MLHUB_RATE_LIMITS_{budget}": QUOTA for budget in ("READS", "WRITES", "TRACKING")}
    with web_process(unlimited | {"MLHUB_RATE_LIMITS_REPORTS": "pod=9000000/60"}) as application:
        requests = dict(_prepared(given.sizes))
        print("| batch | points | web, ms | PostgreSQL, ms |\n|---|---|---|---|")
        for (name, size), request in requests.items():
            web_ms, database_ms = asyncio.run(_measured(application, request, given.batches))
            print(f"| {name} | {size:,} | {web_ms:.1f} | {database_ms:.1f} |", flush=True)


def _prepared(sizes: list[int]) -> Iterator[tuple[tuple[str, int], BatchRequest]]:
    from django.core.management import call_command
    from django.db import connections
    from django.utils import timezone

    call_command("migrate", verbosity=0)
    from mlhub.jobs import attempts
    from mlhub.tenants.actions import create_token
    from mlhub.tracking.models import Run
    from tests.cast import make_cast
    from tests.jobs.builders import job

    cast = make_cast()
    token = create_token(cast.bob, name="measured", scopes=["read", "write"], expires_in_days=None)[1]
    for size in sizes:
        run = Run.objects.create(project=cast.project_a, name=f"run {size}", created_by=cast.bob, started_ms=0)
        signed = {"authorization": f"Bearer {token}"}
        yield ("log-batch", size), ("/api/2.0/mlflow/runs/log-batch", signed, _logged(run.pk.hex, size))
        held = [attempts.Held("n0", (0, 1), 0)]
        attempt = attempts.open_attempt(
            job(cast.project_a, cast.bob), mode="all_reduce", n_workers=2, n_servers=0, held=held,
            predicted_step_s=0.1, reason="fits", now=timezone.now(),
        )  # fmt: skip
        assert attempt is not None
        of_pod = {"authorization": f"Bearer {attempts.token_of(attempt.id)}"}
        yield ("reports of a pod", size), (f"/api/v1/ingest/attempts/{attempt.id}/reports", of_pod, _reported(size))
    connections.close_all()


def _logged(run_id: str, size: int) -> Callable[[int], Any]:
    per_key = size // KEYS

    def body(batch: int) -> Any:
        steps = range(batch * per_key, (batch + 1) * per_key)
        metrics = [
            {"key": f"m{key}", "value": 1 / (1 + step), "timestamp": 1_700_000_000_000 + step, "step": step}
            for key in range(KEYS)
            for step in steps
        ]
        return {"run_id": run_id, "metrics": metrics}

    return body


def _reported(size: int) -> Callable[[int], Any]:
    """Two values a step, as a loop that reports loss and accuracy."""
    n_steps = size // 2

    def body(batch: int) -> Any:
        lines = [
            {
                "type": "metrics", "step": step, "epoch": step / 100, "at": 1.7e9 + step / 10,
                "values": {"train/loss": 1 / (1 + step), "train/accuracy": 1 - 1 / (2 + step)},
            }
            for step in range(batch * n_steps, (batch + 1) * n_steps)
        ]  # fmt: skip
        who = {"version": 1, "role": "worker", "index": 0, "stream": "reports"}
        return who | {"first": batch * n_steps, "lines": lines}

    return body


async def _measured(application: Any, request: BatchRequest, n_batches: int) -> tuple[float, float]:
    """Milliseconds of the web process and of PostgreSQL, of a batch."""
    path, headers, body = request
    bodies = [body(batch) for batch in range(N_WARM + n_batches)]
    for one in bodies[:N_WARM]:
        status, answer = await ask(application, "POST", path, headers, one)
        assert status == 200, (status, answer)
    database = await asyncio.to_thread(_connections)
    began = time.process_time()
    for one in bodies[N_WARM:]:
        json.dumps(one).encode()
    encoding_s = time.process_time() - began
    before, began = processor_s(database), time.process_time()
    for one in bodies[N_WARM:]:
        status, answer = await ask(application, "POST", path, headers, one)
        assert status == 200, (status, answer)
    web_s = time.process_time() - began - encoding_s
    return 1000 * web_s / n_batches, 1000 * (processor_s(database) - before) / n_batches


def _connections() -> list[int]:
    """PostgreSQL's processes for connections to the database; those of this machine."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        known = {row[0] for row in cursor.fetchall()}
    connection.close()  # of this thread
    return [pid for pid, *_ in found_processes() if pid in known]


if __name__ == "__main__":
    main()
