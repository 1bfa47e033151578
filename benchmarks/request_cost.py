# SPDX-License-Identifier: Apache-2.0
"""What requests of people cost the web process: processor time, queries and database connections of each.

    python -m benchmarks.request_cost [--out benchmarks/results/request-cost.md] [--profile FOLDER]

The real ASGI application in this process, with real PostgreSQL and Valkey, default rate limits and seats but for their
quotas; requests come one after the other. Processor time is this process's alone, all threads of it, and stays nearly
the same on a busy machine; PostgreSQL's own is not in it.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import os
import pstats
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.web_process import ask, web_process

N_WARM, N_MEASURED, GROUP = 3, 20, 5
N_JOBS = 200  # in the lists
QUOTA = "token=9000000/60,user=9000000/60,organisation=9000000/60"


@dataclass
class Counted:
    queries: int = 0
    connections: int = 0
    calls: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/request-cost.md"))
    parser.add_argument("--profile", type=Path, help="a folder for a profile of each kind of request")
    arguments = parser.parse_args()
    unlimited = {f"MLHUB_RATE_LIMITS_{budget}": QUOTA for budget in ("READS", "WRITES", "SUBMISSIONS")}
    with web_process(unlimited) as application:
        requests = _prepared()
        text = report(asyncio.run(_measure_all(application, requests, arguments.profile)))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(text)
    print(text)


def _prepared() -> list[tuple[str, str, str, dict[str, str], Any]]:
    """name, verb, path, headers, body of each kind of request. A body that is callable makes one for each request."""
    from django.core.management import call_command
    from django.db import connections

    call_command("migrate", verbosity=0)
    from mlhub.tenants.actions import create_token
    from tests.cast import make_cast
    from tests.jobs.builders import builtin, job, ready_dataset

    cast = make_cast()
    token = create_token(cast.bob, name="measured", scopes=["read", "write"], expires_in_days=None)[1]
    dataset = ready_dataset(cast.project_a, cast.bob)
    jobs = [job(cast.project_a, cast.bob, name=f"job {i}", is_tried=i % 2 == 0) for i in range(N_JOBS)]
    signed = {"authorization": f"Bearer {token}"}
    session = {"cookie": f"sessionid={cast.client(cast.bob).cookies['sessionid'].value}"}
    asked = {"model": str(builtin().model_id), "project": str(cast.project_a.pk), "epochs": 1, "batch_size": 2}
    by_name = {"dataset": dataset.dataset.name, "model": "mlp", "project": cast.project_a.name}

    def submission(i: int) -> Any:
        return {"dataset": str(dataset.dataset_id), "name": f"new {i}", "seed": i, **asked}

    found: list[Any] = [
        ("submit a job", "POST", "/api/v1/jobs", signed, submission),
        ("submit a job, all by name", "POST", "/api/v1/jobs", signed, lambda i: {**by_name, "name": f"named {i}"}),
        ("jobs, 25", "GET", "/api/v1/jobs?limit=25", signed, None),
        ("jobs, 25, in a browser", "GET", "/api/v1/jobs?limit=25", session, None),
        ("a job", "GET", f"/api/v1/jobs/{jobs[0].pk}", signed, None),
        ("events", "GET", "/api/v1/events?limit=50", signed, None),
        ("me", "GET", "/api/v1/auth/me", signed, None),
        ("datasets", "GET", "/api/v1/datasets", signed, None),
        ("models", "GET", "/api/v1/models", signed, None),
        ("organisations", "GET", "/api/v1/organisations", signed, None),
        ("no such route", "GET", "/api/v1/none", signed, None),
    ]
    connections.close_all()
    return found


async def _measure_all(application: Any, requests: list[Any], profile: Path | None) -> list[tuple[str, float, Counted]]:
    measured = []
    for name, verb, path, headers, body in requests:
        bodies: Iterator[Any] = ((body(i) if callable(body) else body) for i in range(10**6))
        for _ in range(N_WARM):
            status, answer = await ask(application, verb, path, headers, next(bodies))
            assert status < 300 or name == "no such route", (name, status, answer)
        groups = []
        for _ in range(N_MEASURED // GROUP):
            began = time.process_time()
            for _ in range(GROUP):
                await ask(application, verb, path, headers, next(bodies))
            groups.append(1000 * (time.process_time() - began) / GROUP)
        with _counting() as counted:
            await ask(application, verb, path, headers, next(bodies))
        measured.append((name, statistics.median(groups), counted))
        counted.calls = await _profiled(application, (name, verb, path, headers), bodies, profile)
    return measured


async def _profiled(
    application: Any, request: tuple[str, str, str, dict[str, str]], bodies: Any, folder: Path | None
) -> int:
    """How many calls of functions a request makes, in its thread too; a profile of where the time goes."""
    import threading

    name, verb, path, headers = request
    profiler = cProfile.Profile(time.thread_time)
    found: list[cProfile.Profile] = []

    def begin(*_: Any) -> None:
        own = cProfile.Profile(time.thread_time)
        found.append(own)
        own.enable()

    threading.setprofile(begin)
    with _threads_of_their_own():
        profiler.enable()
        for _ in range(GROUP):
            await ask(application, verb, path, headers, next(bodies))
        profiler.disable()
    threading.setprofile(None)
    stats = pstats.Stats(profiler)
    for one in found:
        one.create_stats()
        if one.stats:  # type: ignore[attr-defined]
            stats.add(one)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        stats.dump_stats(folder / f"{name.replace(' ', '-')}.prof")
    return int(stats.total_calls / GROUP)  # type: ignore[attr-defined]


@contextmanager
def _threads_of_their_own() -> Iterator[None]:
    """Each request has a new thread: one that runs already is not profiled."""
    from mlhub import asgi
    from mlhub.core import asgi_handler

    usual, asgi_handler.MOST_IDLE = asgi_handler.MOST_IDLE, 0
    asgi.django_application._idle_threads.clear()
    try:
        yield
    finally:
        asgi_handler.MOST_IDLE = usual


@contextmanager
def _counting() -> Iterator[Counted]:
    """Queries and new connections of all threads."""
    from django.db.backends.postgresql.base import DatabaseWrapper
    from django.db.backends.utils import CursorWrapper

    counted = Counted()
    usual_query, usual_connect = CursorWrapper._execute_with_wrappers, DatabaseWrapper.get_new_connection

    def query(self: Any, sql: Any, params: Any, many: Any, executor: Any) -> Any:
        counted.queries += 1
        if os.environ.get("SHOW_QUERIES"):
            print(counted.queries, str(sql)[:300], flush=True)
        return usual_query(self, sql, params, many, executor)

    def connect(self: Any, parameters: Any) -> Any:
        counted.connections += 1
        return usual_connect(self, parameters)

    CursorWrapper._execute_with_wrappers = query  # type: ignore[method-assign]
    DatabaseWrapper.get_new_connection = connect  # type: ignore[method-assign]
    try:
        yield counted
    finally:
        CursorWrapper._execute_with_wrappers = usual_query  # type: ignore[method-assign]
        DatabaseWrapper.get_new_connection = usual_connect  # type: ignore[method-assign]


def report(measured: list[tuple[str, float, Counted]]) -> str:
    rows = [f"| {name} | {ms:.1f} | {c.calls:,} | {c.queries} | {c.connections} |" for name, ms, c in measured]
    return "\n".join([
        "# What a request costs the web process", "",
        "By `python -m benchmarks.request_cost`: the median of the processor time of the web process, all its threads,",
        "and how many functions of Python and C it calls, which no other load of the machine changes.",
        "", "| request | processor, ms | calls of functions | queries | new connections |", "|---|---|---|---|---|",
        *rows, "",
    ])  # fmt: skip


if __name__ == "__main__":
    main()
