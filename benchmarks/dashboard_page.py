# SPDX-License-Identifier: Apache-2.0
"""The page that benchmarks.dashboard writes: a row a page of the dashboard, a column a size."""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.dashboard import DashboardVisits, Visits

LIMIT_BYTES = 200_000
PAGE = """# The dashboard with much data

Written by `python -m benchmarks.dashboard`: pages in Chromium (visits of each: {rounds}), of organisations with {sizes}
jobs, in turns. The largest has {metrics:,} metrics of 200 points, one of {points:,} points, and a log of {lines:,}
lines of about 470 bytes, all in the job of the rows *Job*; the others have their share of it. *Compare* has all jobs,
1,000 at most, with a curve of 200 points each. {when}, on {n_processors}
processors at a load of {load:.0f}: times are of that machine, so read the ratios to the empty organisation (0 jobs) of
the same run.

## First paint

Milliseconds (median), and how many times those of the empty organisation.

{paint}

## The longest task while scrolling

Milliseconds on the main thread, of the worst visit, and in brackets the most processor time of a task: the rest it
waited, because browser, server and database share the processors here. The limit is 50 ms.

{tasks}

## Memory of the page

MB of JavaScript's heap after scrolling (median).

{heap}

## The largest response

kB of the API's largest answer, not compressed; the limit is 200 kB.

{responses}

The web process holds {before:.0f} MB before the visits and {after:.0f} MB after them.
"""


def page_of(
    measured: DashboardVisits, *, sizes: Sequence[int], given: argparse.Namespace, load: float, when: datetime
) -> str:
    def table(cell: Callable[[Visits, Visits], str]) -> str:
        return _table(measured, sizes, cell)

    before, after = (n / 1e6 for n in measured.server_bytes)
    return PAGE.format(
        rounds=given.rounds,
        sizes=", ".join(f"{size:,}" for size in sizes),
        metrics=sizes[-1] // 10,
        points=given.points,
        lines=given.lines,
        when=f"{when:%d %B %Y}",
        n_processors=os.cpu_count(),
        load=load,
        paint=table(lambda of, empty: f"{of.paint():.0f} ({of.paint() / empty.paint():.1f})"),
        tasks=table(lambda of, _: f"{max(of.tasks_ms):.0f} ({max(of.tasks_cpu_ms):.0f})"),
        heap=table(lambda of, _: f"{statistics.median(of.heap_bytes) / 1e6:.1f}"),
        responses=table(lambda of, _: _size(of)),
        before=before,
        after=after,
    )


def _table(measured: DashboardVisits, sizes: Sequence[int], cell: Callable[[Visits, Visits], str]) -> str:
    head = f"| page | {' | '.join(f'{size:,}' for size in sizes)} |\n|---|{'---|' * len(sizes)}"
    empty = measured.visits[sizes[0]]
    rows = [
        f"| {name} | {' | '.join(cell(measured.visits[size][name], empty[name]) for size in sizes)} |" for name in empty
    ]
    return "\n".join([head, *rows])


def _size(of: Visits) -> str:
    """In kB; an answer over the limit is named."""
    text = f"{of.response_bytes / 1000:.0f}"
    return f"**{text}** `{of.response_path}`" if of.response_bytes > LIMIT_BYTES else text
