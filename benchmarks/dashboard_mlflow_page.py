# SPDX-License-Identifier: Apache-2.0
"""The page that benchmarks.dashboard_mlflow writes: for each measure a row a page, MLHub's value and MLflow's."""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING

from benchmarks.dashboard_runs import COMPARED, KEYS, METRIC_POINTS, POINTS_EACH
from mlhub._version import __version__

if TYPE_CHECKING:
    from benchmarks.dashboard_mlflow import ComparedDashboards, PageVisits

PAGE = """# The dashboard beside MLflow's own

Written by `python -m benchmarks.dashboard_mlflow`: pages of MLHub {mlhub} and of MLflow {mlflow} (its own UI and
server) in Chromium {chromium}, in turns (visits of each: {rounds}). {when}, on {n_processors} processors at a load of
{load:.0f}: times are of that machine, so read the ratios, of one run. A ratio is how many times MLHub's value MLflow's
is: above 1, MLHub is the better one.

Both have {runs:,} runs with 5 parameters and {n_keys} metrics of {each} points, one run with {metrics:,} metrics of
{of_many} points, and one with a metric of {points:,} points; MLHub has {runs:,} jobs, too, and a job with both of the
latter. Rows were stored by SQL ({mlhub_s:.0f} s and {mlflow_s:.0f} s), as the servers would store them,
not logged by either API. MLHub stores in PostgreSQL, MLflow {mlflow} in SQLite {sqlite}, its default; each has one
process that answers.

The pages are no copies of each other. MLflow's list has parameters and metrics as columns where they are chosen, and
their data in any case; MLHub's list of jobs has results and progress. Both draw charts as they come into view. Compared
are {compared} runs: MLflow shows their newest values as parallel coordinates and a table, MLHub the same and the curves
of a metric; MLflow has curves of several runs in its list of runs.

## Time to the content

Milliseconds (median) from the navigation until what the page is for is there: a run's name in a list, the first curve.

{content}

## First paint

Milliseconds (median) until the browser paints anything, as often an empty frame.

{paint}

## Bytes

kB that came over the network (median), with scripts and styles, as compressed as they came.

{all_bytes}

## Bytes of data

kB of the API's answers alone, as compressed as they came, without the browser's cache.

{api_bytes}

## Processor time of the server

Milliseconds a visit (median) of the processes that answer and store, PostgreSQL's among them, less what they take while
nobody visits (MLHub {mlhub_idle:.0f} ms a second with its control loop's queries, MLflow {mlflow_idle:.0f}).

{processor}

## Memory of the server

MB of the processes that answer and store (proportional set size: what they share counts once). MLHub's are the web
process and PostgreSQL with its buffers; SQLite lies within MLflow's.

| server | before the visits | after them |
|---|---|---|
{memory}
"""


def page_of(measured: ComparedDashboards, *, given: argparse.Namespace, load: float, when: datetime) -> str:
    def table(
        of: Callable[[PageVisits], list[float]], scale: float = 1.0, *, caches: tuple[bool, ...] = (False, True)
    ) -> str:
        return _table(measured, lambda visits: statistics.median(of(visits)) / scale, caches)

    ours, theirs = measured.servers["MLHub"], measured.servers["MLflow"]
    return PAGE.format(
        mlhub=__version__,
        mlflow=measured.versions.mlflow,
        sqlite=measured.versions.sqlite,
        chromium=measured.versions.chromium,
        rounds=given.rounds,
        runs=given.runs,
        metrics=given.metrics,
        points=given.points,
        n_keys=len(KEYS),
        each=POINTS_EACH,
        of_many=METRIC_POINTS,
        compared=COMPARED,
        mlhub_s=measured.filled_s["MLHub"],
        mlflow_s=measured.filled_s["MLflow"],
        when=f"{when:%d %B %Y}",
        n_processors=os.cpu_count(),
        load=load,
        content=table(lambda visits: visits.content_ms),
        paint=table(lambda visits: visits.paint_ms),
        all_bytes=table(lambda visits: visits.all_bytes, 1000.0),
        api_bytes=table(lambda visits: visits.api_bytes, 1000.0, caches=(False,)),
        processor=table(lambda visits: visits.processor_ms),
        mlhub_idle=1000 * ours.idle,
        mlflow_idle=1000 * theirs.idle,
        memory="\n".join(
            f"| {name} | {server.memory[0] / 1e6:.0f} | {server.memory[1] / 1e6:.0f} |"
            for name, server in measured.servers.items()
        ),
    )


def _table(measured: ComparedDashboards, value: Callable[[PageVisits], float], caches: tuple[bool, ...]) -> str:
    titles = {False: "MLHub | MLflow | ratio", True: "MLHub, cached | MLflow, cached | ratio, cached"}
    heads = " | ".join(titles[is_cached] for is_cached in caches)
    lines = [f"| page | {heads} |", f"|---|{'---|---|---|' * len(caches)}"]
    for page in dict.fromkeys(name for name, _, _ in measured.visits):
        cells = []
        for is_cached in caches:
            ours, theirs = (value(measured.visits[page, is_cached, name]) for name in ("MLHub", "MLflow"))
            cells += [f"{ours:,.0f}", f"{theirs:,.0f}", f"**{theirs / ours:.1f}**" if ours > 0 else "-"]
        lines.append(f"| {page} | {' | '.join(cells)} |")
    return "\n".join(lines)
