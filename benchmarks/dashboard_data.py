# SPDX-License-Identifier: Apache-2.0
"""Fills an installation for benchmarks.dashboard: jobs that have ended, metrics of many points, a long log.

python -m benchmarks.dashboard_data --organisation NAME [--jobs 100] [--metrics 0] [--points 0] [--lines 0]

Rows are of the platform's own models, in its own database (DATABASE_URL). It prints the id of a job that has the
metrics, the points and the lines, which is made even where all are 0.
"""

from __future__ import annotations

import argparse
import os
import random
from datetime import UTC, datetime, timedelta

import django

NAMES = ("digits-cnn", "iris-mlp", "speech-ctc", "wiki-lm", "satellite-unet")
METRIC_POINTS = 200
STORE_POINTS = """
INSERT INTO metrics_metricpoint (series_id, step, epoch, value, at, seq)
SELECT s.id, g, g / 1000.0, 2.0 / (1 + g / 50.0) + 0.05 * random(), now(), g
FROM metrics_series s, generate_series(1, %s) g WHERE s.id = ANY(%s)
"""
STORE_LINES = """
INSERT INTO metrics_logline (attempt_id, role, index, number, text, at, seq, n_dropped)
SELECT %s, 'worker', 0, g, 'step ' || g || ' loss ' || random() || ' ' || repeat(md5(g::text), 14), now(), g, 0
FROM generate_series(1, %s) g
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard_data")
    parser.add_argument("--organisation", required=True)
    for name in ("jobs", "metrics", "points", "lines"):
        parser.add_argument(f"--{name}", type=int, default=0)
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")
    django.setup()
    add_jobs(given.organisation, n=given.jobs)
    print(add_long_job(given.organisation, n_metrics=given.metrics, n_points=given.points, n_lines=given.lines))


def _settings(organisation: str) -> dict[str, object]:
    """What all these jobs have in common: a project of the organisation, who made them, and a built-in model."""
    from mlhub.registry.models import ModelVersion
    from mlhub.tenants.models import Organisation, Project, User

    owner = Organisation.objects.get(name=organisation)
    project, _ = Project.objects.get_or_create(organisation=owner, name="Vision")
    return {
        "project": project,
        "created_by": User.objects.filter(memberships__organisation=owner).order_by("id")[0],
        "model_version": ModelVersion.objects.filter(model__project=None).order_by("id")[0],
        "epochs": 3,
        "batch_size": 32,
        "steps_total": 300,
    }


def add_jobs(organisation: str, *, n: int) -> None:
    """Adds n jobs that have ended, one a minute, most of them well."""
    from mlhub.jobs.models import Job
    from mlhub.jobs.states import JobState

    chance, now, common = random.Random(n), datetime.now(UTC), _settings(organisation)
    jobs = []
    for i in range(n):
        ended = now - timedelta(minutes=i)
        state = chance.choices([JobState.SUCCEEDED, JobState.CANCELLED], [9, 1])[0]
        facts = {"result_metrics": {"train/loss": chance.random()}, "gpu_s": chance.random() * 7200, "steps_done": 300}
        times = {"started_at": ended - timedelta(minutes=5), "finished_at": ended}
        jobs.append(
            Job(name=f"{chance.choice(NAMES)}-{i}", state=state, preflight="passed", **facts, **times, **common)
        )
    Job.objects.bulk_create(jobs, batch_size=500)


def add_long_job(organisation: str, *, n_metrics: int, n_points: int, n_lines: int) -> str:
    """Adds a job of n_metrics metrics of 200 points, one of n_points points, and a log; returns its id."""
    from django.db import connection
    from django.utils import timezone

    from mlhub.jobs.models import Attempt, Job
    from mlhub.jobs.states import JobState
    from mlhub.metrics.models import Series, StreamCursor

    now = timezone.now()
    ended = {"state": JobState.SUCCEEDED, "started_at": now, "finished_at": now, "steps_done": 300}
    job = Job.objects.create(name="long-job", preflight="passed", **ended, **_settings(organisation))
    over = {"started_at": now, "training_at": now, "ended_at": now, "outcome": "succeeded"}
    attempt = Attempt.objects.create(job=job, number=1, mode="allreduce", n_workers=1, token_hash="", **over)
    many = [Series(job=job, attempt=attempt, key=f"layer/{i:04}", n_points=METRIC_POINTS) for i in range(n_metrics)]
    many = Series.objects.bulk_create(many)
    long = Series.objects.create(job=job, attempt=attempt, key="train/loss", n_points=n_points)
    with connection.cursor() as cursor:
        cursor.execute(STORE_POINTS, [METRIC_POINTS, [series.pk for series in many]])
        cursor.execute(STORE_POINTS, [n_points, [long.pk]])
        cursor.execute(STORE_LINES, [attempt.pk, n_lines])
        cursor.execute("ANALYZE")
    n_stored = n_points + n_metrics * METRIC_POINTS
    StreamCursor.objects.create(job=job, last_seq=max(n_points, n_lines, METRIC_POINTS), n_points=n_stored)
    return str(job.pk)


if __name__ == "__main__":
    main()
