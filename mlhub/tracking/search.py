# SPDX-License-Identifier: Apache-2.0
"""Search of runs and jobs together. What filter and order name is read of all, the rest of a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mlhub.jobs.models import Job
from mlhub.metrics.points.curves import newest_values
from mlhub.tenants.models import Project
from mlhub.tracking.access import Caller
from mlhub.tracking.filters import Column, SearchRow, in_order, read_filter, read_orders
from mlhub.tracking.job_runs import configuration, own_tags, status_of, stored_name
from mlhub.tracking.models import Run, RunParam, RunSeries, RunTag

MAX_PAGE = 50_000  # MLflow's: what a client may ask for
SEARCH_PAGE = 1000  # what it gets at once
MAX_EXPERIMENTS = 100  # of one search
OF_EVERY_JOB = ("id", "name", "state", "submitted_at", "finished_at", "created_by__username")
OF_PARAMS = ("epochs", "batch_size", "seed", "hyperparameters")
OWN: Mapping[str, Callable[[Job], dict[str, str]]] = {"params": configuration, "tags": own_tags}
PARTS = ("params", "tags", "datasets", "models__logged_model")
ALL, ACTIVE_ONLY, DELETED_ONLY = "ALL", "ACTIVE_ONLY", "DELETED_ONLY"


def search_runs(
    caller: Caller, projects: Sequence[Project], *, text: str, orders: Sequence[str], view: str, offset: int, limit: int
) -> tuple[list[Run | Job], bool]:
    """The runs of a page, and whether there are more. Raises InvalidInputError."""
    comparisons, sorting = read_filter(text), read_orders(orders)
    runs = caller.runs.filter(project__in=projects)
    if view != ALL:
        runs = runs.filter(deleted_at__isnull=view != DELETED_ONLY)
    jobs = caller.jobs.none() if view == DELETED_ONLY else caller.jobs.filter(project__in=projects)
    if not comparisons and not sorting:  # newest first: what is older than this page is not read
        runs = runs.order_by("-started_ms", "id")[: offset + limit + 1]
        jobs = jobs.order_by("-submitted_at", "id")[: offset + limit + 1]
    columns = {c.column for c in comparisons} | {o.column for o in sorting}
    rows = _rows_of_runs(runs, columns) + _rows_of_jobs(jobs, columns)
    found = [row for row in rows if all(c.holds(row.get(c.column)) for c in comparisons)]
    page = in_order(found, sorting)[offset : offset + limit]
    return _loaded(page), len(found) > offset + limit


def _rows_of_runs(runs: Any, columns: Iterable[Column]) -> list[SearchRow]:
    names = ("id", "name", "status", "started_ms", "ended_ms", "created_by__username")
    rows = {row[0]: SearchRow(str(row[0]), _attributes(*row)) for row in runs.values_list(*names)}
    tables: dict[str, tuple[Any, str]] = {
        "metrics": (RunSeries, "last_value"), "params": (RunParam, "value"), "tags": (RunTag, "value"),
    }  # fmt: skip
    for column in columns:
        if column.kind in tables:
            model, name = tables[column.kind]
            values = model.objects.filter(run__in=runs, key=column.key).values_list("run_id", name)
            for run_id, value in values:
                if run_id in rows:  # not one that was made in between
                    rows[run_id].values[column] = value
    return list(rows.values())


def _rows_of_jobs(jobs: Any, columns: Iterable[Column]) -> list[SearchRow]:
    """Parameters and tags of a job are its own words, and what was logged beyond them."""
    found: dict[Any, SearchRow] = {}
    wanted = list(columns)
    fields = [*OF_EVERY_JOB, *(OF_PARAMS if any(column.kind == "params" for column in wanted) else ())]
    for job in jobs.select_related("created_by").only(*fields):
        ended = None if job.finished_at is None else int(job.finished_at.timestamp() * 1000)
        started = int(job.submitted_at.timestamp() * 1000)
        about = _attributes(job.pk, job.name, status_of(job).value, started, ended, job.created_by.get_username())
        row = found[job.pk] = SearchRow(str(job.pk), about)
        row.values = {c: OWN[c.kind](job).get(c.key) for c in wanted if c.kind in OWN}
    for column in wanted:
        if column.kind in ("params", "tags"):
            model: Any = RunParam if column.kind == "params" else RunTag
            for run_id, value in model.objects.filter(run__job__in=jobs, key=column.key).values_list("run_id", "value"):
                if run_id in found:
                    found[run_id].values[column] = value
        elif column.kind == "metrics":
            for job_id, value in newest_values(list(found), [column.key, stored_name(column.key)]).items():
                found[job_id].values[column] = value
    return list(found.values())


def _attributes(pk: Any, name: str, status: str, started: int, ended: int | None, user: str) -> dict[str, Any]:
    return {
        "run_id": str(pk),
        "run_name": name,
        "status": status,
        "start_time": started,
        "end_time": ended,
        "user_id": user,
    }


def _loaded(page: Sequence[SearchRow]) -> list[Run | Job]:
    ids = [row.run_id for row in page]
    related = ("project__organisation", "created_by")
    runs = Run.objects.external().filter(pk__in=ids).select_related(*related).prefetch_related("series", *PARTS)
    found: dict[str, Run | Job] = {str(run.pk): run for run in runs}
    jobs = Job.objects.filter(pk__in=[pk for pk in ids if pk not in found])
    jobs = jobs.select_related("tracked_run", *related).prefetch_related(*(f"tracked_run__{part}" for part in PARTS))
    found |= {str(job.pk): job for job in jobs}
    return [found[pk] for pk in ids if pk in found]
