# SPDX-License-Identifier: Apache-2.0
"""Reads traces; the format is recognised by the first line. MLHub's own is described in docs/guides/simulator.md."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from scheduler.simulator.traces.gavel import is_gavel, read_gavel
from scheduler.simulator.traces.pollux import POLLUX_COLUMNS, read_pollux
from scheduler.simulator.traces.trace import BadInput, Row, Rows, Trace, TraceJob, unique_jobs

MLHUB_COLUMNS = ("job", "submitted_at_s", "n_gpus", "duration_s")
MLHUB_OPTIONAL = (
    "tenant", "model", "priority", "min_gpus", "max_gpus", "study", "user", "inputs", "inputs_bytes",
)  # fmt: skip
MLHUB_EXTRAS = ("step_s", "parameters_bytes", "batch_size")  # for environments that know of steps and networks
TIRESIAS_COLUMNS = ("job_id", "num_gpu", "submit_time", "iterations", "model_name", "duration", "interval")
MURI_COLUMNS = (
    "job_id",
    "num_gpu",
    "submit_time",
    "iterations",
    "model_name",
    "batch_size",
    "duration",
    "iteration_time",
    "resource_time_0",
    "resource_time_1",
    "resource_time_2",
)


def read_trace(text: str, *, name: str) -> Trace:
    """Returns the trace of a file's text. Raises BadInput, naming the file and the row."""
    if text.lstrip().startswith(("{", "[")):
        return _read_mlhub_json(text, name)
    lines = text.strip().splitlines()
    if lines and is_gavel(lines[0]):
        return read_gavel(text, name=name)
    header = {cell.strip() for cell in lines[0].split(",")} if lines else set()
    if "resource_time_0" in header or "iteration_time" in header:
        return _read_muri(text, name)
    if {"application", "num_replicas"} & header:
        return read_pollux(text, name=name)
    if {"job_id", "num_gpu"} & header:
        return _read_tiresias(text, name)
    if {"job", "n_gpus", "submitted_at_s", "duration_s"} & header:
        return _read_mlhub_csv(text, name)
    known = (
        f"{', '.join(MLHUB_COLUMNS)} (MLHub), {', '.join(TIRESIAS_COLUMNS[:4])} ... (Tiresias, Muri), "
        f"{', '.join(POLLUX_COLUMNS)} (Pollux), and ten cells between tabs without a header (Gavel)"
    )
    raise BadInput(name, 1, f"the header is of no known format; known are: {known}")


def trace_to_csv(trace: Trace) -> str:
    """Returns the trace in MLHub's own format."""
    names = (*MLHUB_COLUMNS, *MLHUB_OPTIONAL, *MLHUB_EXTRAS)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for job in trace.jobs:
        numbers = (job.submitted_at_s, job.n_gpus, job.duration_s)
        optional = (getattr(job, name) for name in MLHUB_OPTIONAL)
        writer.writerow([job.id, *numbers, *optional, *(job.extra.get(name) for name in MLHUB_EXTRAS)])
    return text.getvalue()


def _read_tiresias(text: str, name: str) -> Trace:
    jobs = [
        (
            row.number_in_file,
            TraceJob(
                id=_id(row, "job_id"),
                submitted_at_s=row.number("submit_time"),
                n_gpus=row.whole("num_gpu", least=1),
                duration_s=row.number("duration"),
                model=row.text("model_name"),
                extra={"iterations": row.number("iterations")},
            ),
        )
        for row in Rows(text, name=name, columns=TIRESIAS_COLUMNS[:-1])
    ]
    return Trace(name, "tiresias", unique_jobs(name, jobs))


def _read_muri(text: str, name: str) -> Trace:
    """Times in ms. duration there is that of the trace; the job's work is iterations of iteration_time."""
    jobs = [
        (
            row.number_in_file,
            TraceJob(
                id=_id(row, "job_id"),
                submitted_at_s=row.number("submit_time") / 1000,
                n_gpus=row.whole("num_gpu", least=1),
                duration_s=row.number("duration") / 1000,
                model=row.text("model_name"),
                extra={
                    "iterations": row.number("iterations"),
                    "batch_size": row.whole("batch_size"),
                    "iteration_s": row.number("iteration_time") / 1000,
                    "cpu_io_s": row.number("resource_time_0") / 1000,
                    "gpu_s": row.number("resource_time_1") / 1000,
                    "network_s": row.number("resource_time_2") / 1000,
                    "is_opportunistic": row.text("priority") == "1",
                },
            ),
        )
        for row in Rows(text, name=name, columns=MURI_COLUMNS)
    ]
    return Trace(name, "muri", unique_jobs(name, jobs))


def _read_mlhub_csv(text: str, name: str) -> Trace:
    rows = Rows(text, name=name, columns=MLHUB_COLUMNS)
    return Trace(name, "mlhub", unique_jobs(name, [(row.number_in_file, _mlhub_job(row)) for row in rows]))


def _read_mlhub_json(text: str, name: str) -> Trace:
    """{"jobs": [{...}, ...]} or the list alone; the same names as the CSV's columns."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadInput(name, error.lineno, f"not JSON: {error.msg}") from error
    entries = value.get("jobs") if isinstance(value, dict) else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise BadInput(name, None, 'expected {"jobs": [{...}, ...]}')
    jobs = []
    for number, entry in enumerate(entries, start=1):
        missing = [column for column in MLHUB_COLUMNS if column not in entry]
        if missing:
            raise BadInput(name, number, f"the job has no {missing[0]!r}; it needs {', '.join(MLHUB_COLUMNS)}")
        jobs.append((number, _mlhub_job(Row(name, number, {k: _cell(v) for k, v in entry.items()}))))
    return Trace(name, "mlhub", unique_jobs(name, jobs))


def _mlhub_job(row: Row) -> TraceJob:
    n_gpus = row.whole("n_gpus", least=1)
    least = row.whole("min_gpus", least=1) if row.text("min_gpus") else None
    most = row.whole("max_gpus", least=1) if row.text("max_gpus") else None
    if not (least or n_gpus) <= n_gpus <= (most or n_gpus):
        raise BadInput(row.name, row.number_in_file, "it must be min_gpus <= n_gpus <= max_gpus")
    priority = row.text("priority")
    if priority and not priority.lstrip("-").isdigit():
        raise BadInput(row.name, row.number_in_file, f"priority is {priority!r}; it must be a whole number")
    return TraceJob(
        id=_id(row, "job"),
        submitted_at_s=row.number("submitted_at_s"),
        n_gpus=n_gpus,
        duration_s=row.number("duration_s"),
        tenant=row.text("tenant") or "default",
        model=row.text("model"),
        priority=int(priority or 0),
        min_gpus=least,
        max_gpus=most,
        study=row.text("study"),
        user=row.text("user"),
        inputs=row.text("inputs"),
        inputs_bytes=row.whole("inputs_bytes") if row.text("inputs_bytes") else 0,
        extra={name: row.number(name) for name in MLHUB_EXTRAS if row.text(name)},
    )


def _id(row: Row, column: str) -> str:
    if not row.text(column):
        raise BadInput(row.name, row.number_in_file, f"{column} is empty; every job needs an id")
    return row.text(column)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)
