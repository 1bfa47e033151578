# SPDX-License-Identifier: Apache-2.0
"""Fills an installation for benchmarks.dashboard: jobs that have ended, metrics of many points, a long log.

python -m benchmarks.dashboard_data --organisation NAME [--jobs 100] [--metrics 0] [--points 0] [--lines 0]

Rows are of the platform's own models, in its own database (DATABASE_URL). The newest jobs, as many as can be compared,
differ in their hyperparameters and have curves. It prints the ids of these jobs, separated by commas, and then the id
of a job that has the metrics, the points and the lines, which is made even where all are 0.
"""

from __future__ import annotations

import argparse
import os
import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import django

if TYPE_CHECKING:
    from mlhub.jobs.models import Job

NAMES = ("digits-cnn", "iris-mlp", "speech-ctc", "wiki-lm", "satellite-unet")
METRIC_POINTS = 200
MOST_COMPARED = 1000  # frontend/src/features/compare/queries.ts
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
    print(",".join(add_jobs(given.organisation, n=given.jobs)))
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


def add_jobs(organisation: str, *, n: int) -> list[str]:
    """Adds n jobs that have ended, one a minute, most of them well; returns the ids of those with curves."""
    from mlhub.jobs.models import Job
    from mlhub.jobs.states import JobState

    chance, now, common = random.Random(n), datetime.now(UTC), _settings(organisation)
    jobs = []
    for i in range(n):
        ended = now - timedelta(minutes=i)
        state = chance.choices([JobState.SUCCEEDED, JobState.CANCELLED], [9, 1])[0]
        facts = {"result_metrics": {"train/loss": chance.random()}, "gpu_s": chance.random() * 7200, "steps_done": 300}
        times = {"started_at": ended - timedelta(minutes=5), "finished_at": ended}
        asked = {"hyperparameters": hyperparameters(chance), "seed": i} if i < MOST_COMPARED else {}
        name = f"{chance.choice(NAMES)}-{i}"
        jobs.append(Job(name=name, state=state, preflight="passed", **asked, **facts, **times, **common))
    Job.objects.bulk_create(jobs, batch_size=500)
    add_curves(jobs[:MOST_COMPARED])
    return [str(job.pk) for job in jobs[:MOST_COMPARED]]


def hyperparameters(chance: random.Random) -> dict[str, object]:
    """Of a search: five numbers on several scales and two choices."""
    return {
        "learning_rate": 10 ** chance.uniform(-5, -1),
        "weight_decay": 10 ** chance.uniform(-6, -2),
        "dropout": round(chance.uniform(0, 0.6), 2),
        "layers": chance.randint(2, 12),
        "width": 2 ** chance.randint(5, 10),
        "optimizer": chance.choice(["adam", "sgd", "lion"]),
        "activation": chance.choice(["relu", "gelu", "tanh"]),
    }


def add_curves(jobs: list[Job]) -> None:
    """Gives each of the jobs an attempt with two metrics of METRIC_POINTS points."""
    from django.db import connection

    from mlhub.jobs.models import Attempt
    from mlhub.metrics.models import Series

    attempts = Attempt.objects.bulk_create(
        Attempt(
            job=job, number=1, mode="all_reduce", n_workers=1, token_hash="", started_at=job.started_at,
            training_at=job.started_at, ended_at=job.finished_at, outcome="succeeded",
        )
        for job in jobs
    )  # fmt: skip
    series = Series.objects.bulk_create(
        Series(job=attempt.job, attempt=attempt, key=key, n_points=METRIC_POINTS)
        for attempt in attempts
        for key in ("train/loss", "valid/loss")
    )
    with connection.cursor() as cursor:
        cursor.execute(STORE_POINTS, [METRIC_POINTS, [each.pk for each in series]])


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
    attempt = Attempt.objects.create(job=job, number=1, mode="all_reduce", n_workers=1, token_hash="", **over)
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
