"""What a simulation comes to: completion times, makespan, utilisation, the cost of deciding. JSON values only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scheduler.simulator.engine import Outcome
from scheduler.topology import Node


def summary(outcome: Outcome, *, nodes: Sequence[Node]) -> dict[str, Any]:
    """The figures of one simulation; seconds, but for decision_ms. utilisation: GPU-seconds held of those there were.

    Raises ValueError if a job that was submitted did not complete.
    """
    unfinished = [job_id for job_id, life in outcome.lives.items() if life.jct_s is None]
    if unfinished:
        raise ValueError(
            f"{len(unfinished)} of {len(outcome.lives)} jobs did not complete, among them {unfinished[0]!r}"
        )
    jct_s = {job_id: life.jct_s or 0.0 for job_id, life in outcome.lives.items()}
    times = np.array(list(jct_s.values()))
    began_s = min(life.submitted_at_s for life in outcome.lives.values())
    makespan_s = max(life.ended_at_s or 0.0 for life in outcome.lives.values()) - began_s
    held = sum((to - since) * a.n_workers for life in outcome.lives.values() for since, to, a in life.spans)
    there_is = sum(node.n_gpus for node in nodes) * makespan_s
    decision_ms = np.array(outcome.decision_s or (0.0,)) * 1000
    return {
        "n_submitted": len(outcome.lives),
        "n_completed": len(jct_s),
        "avg_jct_s": float(times.mean()),
        "median_jct_s": float(np.median(times)),
        "p95_jct_s": float(np.percentile(times, 95)),
        "p99_jct_s": float(np.percentile(times, 99)),
        "makespan_s": float(makespan_s),
        "utilisation": float(held / there_is) if there_is else 0.0,
        "rounds": outcome.n_rounds,
        "decision_ms": {"mean": float(decision_ms.mean()), "p99": float(np.percentile(decision_ms, 99))},
        "jct_s": jct_s,
    }
