# SPDX-License-Identifier: Apache-2.0
"""Reads the workloads of Pollux' artifact (petuum/adaptdl, branch osdi21-artifact)."""

from __future__ import annotations

from scheduler.simulator.traces.trace import Rows, Trace, TraceJob, unique_jobs

POLLUX_COLUMNS = ("name", "time", "application", "num_replicas", "batch_size")


def read_pollux(text: str, *, name: str) -> Trace:
    """Returns a workload of Pollux' artifact. duration_s is 0: the environment determines how long a job takes."""
    jobs = []
    for row in Rows(text, name=name, columns=POLLUX_COLUMNS):
        job = TraceJob(
            id=row.text("name"),
            submitted_at_s=row.number("time"),
            n_gpus=row.whole("num_replicas", least=1),
            duration_s=0.0,
            model=row.text("application"),
            extra={"batch_size": row.whole("batch_size", least=1)},
        )
        jobs.append((row.number_in_file, job))
    return Trace(name, "pollux", unique_jobs(name, jobs))
