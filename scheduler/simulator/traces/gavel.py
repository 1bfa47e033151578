# SPDX-License-Identifier: Apache-2.0
"""Reads the traces of Gavel's artifact (stanford-futuredata/gavel): lines of ten cells between tabs, no header."""

from __future__ import annotations

import math

from scheduler.simulator.traces.trace import BadInput, Row, Trace, TraceJob, unique_jobs

GAVEL_CELLS = (
    "job type",
    "command",
    "directory",
    "steps argument",
    "needs_data",
    "total_steps",
    "scale_factor",
    "weight",
    "SLO",
    "arrival",
)


def is_gavel(first_line: str) -> bool:
    """Returns whether the text is such a trace: no other format has tabs."""
    return "\t" in first_line


def read_gavel(text: str, *, name: str) -> Trace:
    """Returns every job of the trace, of one GPU or several; ids are their numbers, from 0, as Gavel has them.

    model: the job type. duration_s is 0: the environment determines how long the steps take. A weight of 2 is a
    priority of 1, of 4 one of 2, and so on. extra: total_steps, and slo_s where there is one.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    return Trace(name, "gavel", unique_jobs(name, [(n, _job(line, i, name, n)) for i, (n, line) in enumerate(lines)]))


def _job(line: str, index: int, name: str, number: int) -> TraceJob:
    cells = line.split("\t")
    if len(cells) != len(GAVEL_CELLS):
        wanted = ", ".join(GAVEL_CELLS)
        raise BadInput(
            name, number, f"{len(cells)} cells between tabs; Gavel's format has {len(GAVEL_CELLS)}: {wanted}"
        )
    row = Row(name, number, dict(zip(GAVEL_CELLS, cells, strict=True)))
    if not row.text("job type"):
        raise BadInput(name, number, "the job type is empty; name one that was measured")
    weight = row.number("weight")
    if weight <= 0:
        raise BadInput(name, number, f"weight is {row.text('weight')!r}; it must be above 0")
    slo_s = row.number("SLO", least=-1.0)
    return TraceJob(
        id=str(index),
        submitted_at_s=row.number("arrival"),
        n_gpus=row.whole("scale_factor", least=1),
        duration_s=0.0,
        model=row.text("job type"),
        priority=round(math.log2(weight)),
        extra={"total_steps": row.whole("total_steps", least=1)} | ({"slo_s": slo_s} if slo_s >= 0 else {}),
    )
