# SPDX-License-Identifier: Apache-2.0
"""The same runs for benchmarks.dashboard_mlflow in both stores: MLHub's in PostgreSQL, MLflow's own in SQLite.

python -m benchmarks.dashboard_runs --organisation NAME [--runs 100] [--metrics 10] [--points 1000]

As a command it fills an installation (DATABASE_URL) and prints the ids of the runs that are visited, as JSON.
store_in_mlflow() fills the database of a server of MLflow's that has been started once.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import django

if TYPE_CHECKING:
    from mlhub.tracking.models import Run

PARAMS = {"lr": "0.001", "batch_size": "32", "optimizer": "adam", "layers": "4", "dropout": "0.1"}
KEYS = ("train/loss", "train/accuracy", "valid/loss", "valid/accuracy")
POINTS_EACH = 25  # of each metric of a usual run
METRIC_POINTS = 200  # of each metric of the run that has many
LONG_KEY = "train/loss"
COMPARED = 50
STEP_MS = 1000
VALUE = "2.0 / (1 + g / 50.0) + 0.05 * sin(g + {place})"  # SQL; value_at() says the same

ADD_PARAMS = """
INSERT INTO tracking_runparam (run_id, key, value, attempt_number)
SELECT r, p.key, p.value, 0 FROM unnest(%s::uuid[]) r, unnest(%s::text[], %s::text[]) AS p(key, value)
"""
ADD_SERIES = f"""
INSERT INTO tracking_runseries (run_id, key, n_points, last_step, last_ms, last_value)
SELECT runs.id, k, %(n)s, %(n)s, %(began)s + %(n)s * {STEP_MS}, {VALUE.format(place="runs.place").replace("g", "%(n)s")}
FROM unnest(%(runs)s::uuid[]) WITH ORDINALITY AS runs(id, place), unnest(%(keys)s::text[]) k
"""
ADD_POINTS = f"""
INSERT INTO tracking_runpoint (series_id, step, at_ms, value)
SELECT s.id, g, %(began)s + g * {STEP_MS}, {VALUE.format(place="runs.place")}
FROM unnest(%(runs)s::uuid[]) WITH ORDINALITY AS runs(id, place)
JOIN tracking_runseries s ON s.run_id = runs.id, generate_series(1, %(n)s) g
"""


@dataclass(frozen=True)
class RunShape:
    """n_runs usual runs; one more with n_metrics metrics, and one with a metric of n_points points."""

    n_runs: int
    n_metrics: int
    n_points: int


@dataclass(frozen=True)
class FilledRuns:
    """Ids of the runs that are visited; compared are the newest of the usual runs. newest: the name of the first of a
    list of all. oldest: of the first of the compared ones."""

    many: str
    long: str
    compared: list[str]
    newest: str
    oldest: str


@dataclass(frozen=True)
class RunData:
    """A run with n points of each of these metrics. place: makes its values differ from those of others."""

    id: str
    name: str
    place: int
    keys: tuple[str, ...]
    n: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dashboard_runs")
    parser.add_argument("--organisation", required=True)
    for name, default in (("runs", 100), ("metrics", 10), ("points", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mlhub.settings")
    django.setup()
    filled = store_in_mlhub(given.organisation, RunShape(given.runs, given.metrics, given.points))
    print(json.dumps(filled.__dict__))


def value_at(step: int, place: int) -> float:
    return 2.0 / (1 + step / 50.0) + 0.05 * math.sin(step + place)


def store_in_mlhub(organisation: str, shape: RunShape) -> FilledRuns:
    """Adds the runs to the project Vision of the organisation, which it makes where needed."""
    from django.db import connection

    from mlhub.tenants.models import Organisation, Project, User
    from mlhub.tracking.models import Run, RunStatus

    owner = Organisation.objects.get(name=organisation)
    project, _ = Project.objects.get_or_create(organisation=owner, name="Vision")
    person = User.objects.filter(memberships__organisation=owner).order_by("id")[0]
    began = _began_ms()

    def made(name: str) -> Run:
        times = {"started_ms": began, "ended_ms": began + 60_000}
        return Run(project=project, created_by=person, name=name, status=RunStatus.FINISHED, **times)

    many, long, *usual = [made(name) for name in _names(shape)]
    Run.objects.bulk_create([many, long, *usual], batch_size=2000)
    with connection.cursor() as cursor:
        everyone = [run.pk for run in (many, long, *usual)]
        cursor.execute(ADD_PARAMS, [everyone, list(PARAMS), list(PARAMS.values())])
        for runs, keys, n in (
            (usual, list(KEYS), POINTS_EACH),
            ([many], _many_keys(shape), METRIC_POINTS),
            ([long], [LONG_KEY], shape.n_points),
        ):
            about: dict[str, Any] = {"runs": [run.pk for run in runs], "keys": keys, "n": n, "began": began}
            cursor.execute(ADD_SERIES, about)
            cursor.execute(ADD_POINTS, about)
        cursor.execute("ANALYZE")
    compared = usual[-COMPARED:]
    ids = [str(run.pk) for run in compared]
    return FilledRuns(str(many.pk), str(long.pk), ids, newest=usual[-1].name, oldest=compared[0].name)


def store_in_mlflow(database: Path, shape: RunShape, *, experiment: int) -> FilledRuns:
    """Adds the runs to an experiment of MLflow's SQLite database, written as its own server (3.x) does."""
    many, long, *usual = [uuid4().hex for _ in _names(shape)]
    names = list(_names(shape))
    data = [
        RunData(many, names[0], 1, tuple(_many_keys(shape)), METRIC_POINTS),
        RunData(long, names[1], 1, (LONG_KEY,), shape.n_points),
        *(RunData(run, names[2 + i], 1 + i, KEYS, POINTS_EACH) for i, run in enumerate(usual)),
    ]
    began = _began_ms()
    with closing(sqlite3.connect(database)) as store, store:
        for table, rows in (
            ("runs (run_uuid, name, source_type, source_name, entry_point_name, user_id, status, start_time, end_time, "
             "source_version, lifecycle_stage, artifact_uri, experiment_id)",
             ((d.id, d.name, "UNKNOWN", "", "", "bench", "FINISHED", began + i, began + i + 60_000, "", "active",
               f"mlflow-artifacts:/{experiment}/{d.id}/artifacts", experiment) for i, d in enumerate(data))),
            ("tags (key, value, run_uuid)", ((k, v, d.id) for d in data for k, v in _tags(d).items())),
            ("params (key, value, run_uuid)", ((k, v, d.id) for d in data for k, v in PARAMS.items())),
            ("latest_metrics (key, value, timestamp, step, is_nan, run_uuid)",
             ((k, value_at(d.n, d.place), began + d.n * STEP_MS, d.n, 0, d.id) for d in data for k in d.keys)),
            ("metrics (key, value, timestamp, step, is_nan, run_uuid)",
             ((k, value_at(g, d.place), began + g * STEP_MS, g, 0, d.id)
              for d in data for k in d.keys for g in range(1, d.n + 1))),
        ):  # fmt: skip
            _insert(store, table, rows)
    return FilledRuns(many, long, usual[-COMPARED:], newest=names[-1], oldest=names[-COMPARED])


def _insert(store: sqlite3.Connection, table: str, rows: Iterator[tuple[Any, ...]]) -> None:
    marks = ", ".join("?" * (table.count(",") + 1))
    store.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _names(shape: RunShape) -> Iterator[str]:
    """Of the run with many metrics, of that with the long one, and of the usual ones, oldest first."""
    yield from ("many-metrics", "long-metric", *(f"run-{i}" for i in range(shape.n_runs)))


def _many_keys(shape: RunShape) -> list[str]:
    return [f"layer/{i:04}" for i in range(shape.n_metrics)]


def _tags(data: RunData) -> dict[str, str]:
    """What MLflow's client tells of each run."""
    return {"mlflow.runName": data.name, "mlflow.user": "bench", "mlflow.source.type": "LOCAL"}


def _began_ms() -> int:
    return (int(time.time()) - 3600) * 1000


if __name__ == "__main__":
    main()
