# SPDX-License-Identifier: Apache-2.0
"""What the platform itself costs as work grows: a control round over jobs, and the ingest of points and lines.

    python -m benchmarks.platform_cost [--out benchmarks/results/platform.md]

Real PostgreSQL and Valkey, the real views and the real loop; gangs are the fake backend's. Machines are noisy: the
figures to hold on to are the ratios from one size to the next.
"""

from __future__ import annotations

import argparse
import os
import secrets
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = (10, 100, 1000)
GIB = 2**30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/platform.md"))
    arguments = parser.parse_args()
    from mlhub.embedded.servers import temporary_servers

    with temporary_servers() as servers:
        os.environ |= {"DATABASE_URL": servers.database_url, "REDIS_URL": servers.redis_url, "MLHUB_LOG_LEVEL": "ERROR"}
        os.environ.setdefault("MLHUB_SECRET_KEY", secrets.token_urlsafe(48))
        os.environ["DJANGO_SETTINGS_MODULE"] = "mlhub.settings"
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        text = "\n".join([*_rounds(), "", *_ingest()]) + "\n"
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("# What the platform costs\n\nBy `python -m benchmarks.platform_cost`.\n\n" + text)
    print(text)


def _rounds() -> list[str]:
    """A round in which nothing changes, with a third of the jobs running and the others waiting, decided in a separate
    process as live.

    decide: the policy alone, without the way to its process and back. stored: the newest round, as PostgreSQL keeps it.
    """
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from mlhub.backends.fake import FakeBackend
    from mlhub.backends.protocol import NodeStatus
    from mlhub.control.deciding.deciders import SubprocessDecider
    from mlhub.control.models import Round
    from mlhub.control.rounds.loop import Loop
    from mlhub.jobs.models import Job
    from tests.cast import make_cast
    from tests.jobs.builders import job

    rows = ["| jobs | GPUs | round, ms | of it decide, ms | queries | stored, kB |", "|---|---|---|---|---|---|"]
    decider = SubprocessDecider()
    cast = make_cast()
    n_before = 0
    for n_jobs in SIZES:
        for i in range(n_before, n_jobs):
            job(cast.project_a, cast.bob, name=f"job {i}", min_workers=1, max_workers=1)
        n_before = n_jobs
        n_nodes = max(1, n_jobs // 12)
        nodes = [NodeStatus(f"n{i}", f"r{i // 16}", "gpu", 4, 64.0, 512 * GIB, 1e11, 4e11) for i in range(n_nodes)]
        loop = Loop(FakeBackend(nodes), decider=decider)
        for _ in range(3):
            loop.round()
        took, decided = [], []
        for _ in range(5):
            began = time.perf_counter()
            record = loop.round()
            took.append(1000 * (time.perf_counter() - began))
            decided.append(record.decide_ms if record else 0.0)
        with CaptureQueriesContext(connection) as queries:
            loop.round()
        stored = Round.objects.latest("id")
        with connection.cursor() as cursor:
            columns = "pg_column_size(snapshot) + pg_column_size(plan)"
            cursor.execute(f"SELECT {columns} FROM control_round WHERE id = %s", [stored.pk])
            stored_kb = cursor.fetchone()[0] / 1000
        running = Job.objects.filter(state="running").count()
        rows.append(
            f"| {n_jobs:,} ({running:,} running) | {4 * n_nodes:,} | {statistics.median(took):.0f} "
            f"| {statistics.median(decided):.0f} | {len(queries)} | {stored_kb:,.0f} |"
        )
    decider.close()
    return rows


def _ingest() -> list[str]:
    from tests.cast import make_cast
    from tests.jobs.builders import job
    from tests.metrics.test_ingest import metric, opened, post

    cast = _renamed(make_cast)
    rows = ["| batch | points/s | log lines/s |", "|---|---|---|"]
    for n_lines in SIZES:
        points, lines = opened(job(cast.project_a, cast.bob)), opened(job(cast.project_a, cast.bob))

        def send_points(first: int, n: int = n_lines, of: Any = points) -> Any:
            return post(of, first, *(metric(first + i, loss=1) for i in range(n)))

        points_s = _rate(send_points, n_lines)
        lines_s = _rate(lambda first, n=n_lines, of=lines: post(of, first, *["x" * 100] * n, stream="log"), n_lines)
        rows.append(f"| {n_lines:,} | {points_s:,.0f} | {lines_s:,.0f} |")
    return rows


def _rate(send: Callable[[int], Any], n_lines: int, *, seconds: float = 2.0) -> float:
    began, first = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        answer = send(first)
        assert answer.status_code == 200, answer.content
        first += n_lines
    return first / (time.perf_counter() - began)


def _renamed(make: Callable[[], Any]) -> Any:
    """A second cast next to the first one."""
    from mlhub.tenants.models import Organisation, User

    for model, field in ((Organisation, "name"), (User, "username")):
        for row in model.objects.all():
            setattr(row, field, f"earlier {getattr(row, field)}")
            row.save()
    return make()


if __name__ == "__main__":
    main()
