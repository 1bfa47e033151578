# SPDX-License-Identifier: Apache-2.0
"""What is believable on the cluster's timeline: attempts, marks and waits of some hours, and what is predicted."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.e2e.scene import HOUR_S, JOBS, NOW, ORGANISATIONS, iso, uuid

# when each job was submitted and got its first GPUs, in hours
WAITS = ((-0.7, 0.2), (1.6, 2.7), (0.3, 0.5), (-1.1, -1.0), (0.3, 0.8), (0.7, 2.9), (3.6, None))


def large_timeline(name: str) -> dict[str, Any]:
    """That of many nodes, whose jobs have long names."""
    few = timeline()
    nodes = [{**node, "name": f"{node['name']}-{at}"} for at in range(20) for node in few["nodes"]]
    jobs = [{**job, "name": f"{name}-{at}"} for at, job in enumerate(few["jobs"])]
    return {**few, "nodes": nodes, "jobs": jobs, "waiting": few["waiting"] * 10, "n_waiting": 10 * few["n_waiting"]}


def timeline() -> dict[str, Any]:
    """Six hours of three nodes and the next two as predicted; a preemption, a resize, a failure, checkpoints, waits."""
    since, until = NOW - timedelta(hours=6), NOW + timedelta(hours=2)

    def hours_in(hours: float | None) -> str | None:
        return None if hours is None else iso(since + timedelta(hours=hours))

    jobs = [
        {"id": uuid(at), "name": name, "organisation": ORGANISATIONS[at % 2],
         "submitted_at": hours_in(submitted), "allocated_at": hours_in(allocated)}
        for at, (name, (submitted, allocated)) in enumerate(zip((*JOBS, "sentiment-lstm"), WAITS, strict=True))
    ]  # fmt: skip

    def bar(gpu: int, n: int, since_h: float, until_h: float, job: int | None, **predicted: float) -> dict[str, Any]:
        p50, p90 = predicted.get("p50"), predicted.get("p90")
        return {
            "first_gpu": gpu, "n_gpus": n, "since_s": since_h * HOUR_S, "until_s": until_h * HOUR_S, "job": job, "n": 1,
            "p50_s": None if p50 is None else p50 * HOUR_S, "p90_s": None if p90 is None else p90 * HOUR_S,
        }  # fmt: skip

    def mark(kind: str, gpu: int, at_h: float, job: int | None) -> dict[str, Any]:
        return {"kind": kind, "gpu": gpu, "at_s": at_h * HOUR_S, "job": job}

    nodes = [
        {"name": "node-a1", "gpu_type": "A100", "n_gpus": 4,
         "bars": [bar(0, 2, 0.2, 2.6, 0), bar(0, 4, 2.7, 6, 1, p50=6.9, p90=7.6), bar(2, 2, 0.5, 2.5, 2)],
         "marks": [mark("preempted", 2, 2.5, 1), mark("checkpoint", 0, 1.4, 0), mark("checkpoint", 0, 4.3, 1)]},
        {"name": "node-a2", "gpu_type": "A100", "n_gpus": 4,
         "bars": [bar(0, 1, 0, 3.4, 3), bar(0, 2, 3.4, 6, 3, p50=6.6, p90=7.9), bar(2, 2, 1.1, 4.2, None)],
         "marks": [mark("resized", 0, 3.4, 3)]},
        {"name": "node-b1", "gpu_type": "H100", "n_gpus": 2,
         "bars": [bar(0, 2, 0.8, 1.9, 4), bar(0, 1, 2.2, 5.1, 4), bar(1, 1, 2.9, 6, 5, p50=7.2, p90=7.8)],
         "marks": [mark("failed", 0, 1.9, 4), mark("checkpoint", 0, 3.7, 4)]},
    ]  # fmt: skip

    def pending(job: int, start: float, start_p90: float | None, finish: float, finish_p90: float) -> dict[str, Any]:
        hours = {"start_p50_s": start, "start_p90_s": start_p90, "finish_p50_s": finish, "finish_p90_s": finish_p90}
        return {"job": job, **{name: None if h is None else h * HOUR_S for name, h in hours.items()}}

    waiting = [pending(2, 6.9, 7.6, 7.8, 8), pending(6, 6.6, None, 7.1, 7.7)]
    return {"since": iso(since), "until": iso(until), "now": iso(NOW), "next_after": None, "nodes": nodes,
            "waiting": waiting, "n_waiting": len(waiting), "jobs": jobs}  # fmt: skip
