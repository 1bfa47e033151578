# SPDX-License-Identifier: Apache-2.0
"""What a simulation comes to: completion times, makespan, utilisation, the cost of deciding; a row for every job."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler.api.arrays import Floats
from scheduler.api.topology import NodeSnapshot
from scheduler.simulator.outcome import JobHistory, SimulationOutcome


def summary(outcome: SimulationOutcome, *, nodes: Sequence[NodeSnapshot]) -> dict[str, Any]:
    """Returns the figures of one simulation as JSON values; times are in seconds, but decision_ms in milliseconds.

    utilisation: GPU-seconds in which a GPU was held, of those there were; n_per_gpu: how many jobs held it then.
    Raises ValueError if a job that was submitted did not complete.
    """
    unfinished = [job_id for job_id, history in outcome.histories.items() if history.jct_s is None]
    if unfinished:
        raise ValueError(
            f"{len(unfinished)} of {len(outcome.histories)} jobs did not complete, among them {unfinished[0]!r}"
        )
    jct_s = {job_id: history.jct_s or 0.0 for job_id, history in outcome.histories.items()}
    times = np.array(list(jct_s.values()))
    began_s = min(history.submitted_at_s for history in outcome.histories.values())
    makespan_s = max(history.ended_at_s or 0.0 for history in outcome.histories.values()) - began_s
    since_I, to_I = busy_intervals(outcome)
    held = sum((to - since) * a.n_workers for history in outcome.histories.values() for since, to, a in history.spans)
    busy = float((to_I - since_I).sum())
    there_is = sum(node.n_gpus for node in nodes) * makespan_s
    decision_ms = np.array(outcome.decision_s or (0.0,)) * 1000
    return {
        "n_submitted": len(outcome.histories),
        "n_completed": len(jct_s),
        "avg_jct_s": float(times.mean()),
        "median_jct_s": float(np.median(times)),
        "p95_jct_s": float(np.percentile(times, 95)),
        "p99_jct_s": float(np.percentile(times, 99)),
        "makespan_s": float(makespan_s),
        "utilisation": float(busy / there_is) if there_is else 0.0,
        "n_per_gpu": float(held / busy) if busy else 0.0,
        "n_failures": outcome.n_failures,
        "lost_gpu_s": outcome.lost_gpu_s,
        "rounds": outcome.n_rounds,
        "decision_ms": {"mean": float(decision_ms.mean()), "p99": float(np.percentile(decision_ms, 99))},
        "jct_s": jct_s,
    }


def job_rows(outcome: SimulationOutcome, *, rho: Mapping[str, float] | None = None) -> list[dict[str, Any]]:
    """Returns a row for every job, in the order of submission. waited_s: without GPUs; gpu_s: held, starts included.

    rho: finish-time fairness by job, where it was worked out.
    """
    rows = []
    for job_id, history in outcome.histories.items():
        held_s = sum(to - since for since, to, _ in history.spans)
        rows.append(
            {
                "job": job_id,
                "tenant": history.job.tenant,
                "model": history.job.family,
                "submitted_at_s": history.submitted_at_s,
                "started_at_s": history.started_at_s,
                "ended_at_s": history.ended_at_s,
                "jct_s": history.jct_s,
                "waited_s": None if history.jct_s is None else history.jct_s - held_s,
                "n_restarts": history.n_restarts,
                "most_gpus": max((a.n_workers for _, _, a in history.spans), default=0),
                "gpu_s": sum((to - since) * a.n_workers for since, to, a in history.spans),
                "rho": None if rho is None else rho.get(job_id),
            }
        )
    return rows


def csv_of(rows: Sequence[Mapping[str, Any]], *, names: Sequence[str] = ()) -> str:
    """Returns the rows as CSV under these names, else the first row's; None is an empty cell."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names) or (list(rows[0]) if rows else []), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
    return text.getvalue()


def markdown_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns the rows as a Markdown table under the first row's names; large numbers without decimals."""
    names = list(rows[0]) if rows else []
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    lines += [f"| {' | '.join(_words(row.get(name)) for name in names)} |" for row in rows]
    return "\n".join(lines) + "\n"


def busy_intervals(outcome: SimulationOutcome) -> tuple[Floats, Floats]:
    """Returns (since_I, to_I): the stretches in which each GPU was held, once where several jobs share it."""
    numbers: dict[tuple[str, int], int] = {}
    found = []
    for history in outcome.histories.values():
        for since, to, allocation in history.spans:
            for share in allocation.shares:
                found += [(numbers.setdefault((share.node, gpu), len(numbers)), since, to) for gpu in share.gpus]
    if not found:
        return np.zeros(0), np.zeros(0)
    gpu_I, since_I, to_I = np.array(found).T
    order = np.lexsort((since_I, gpu_I))
    gpu_I, since_I, to_I = gpu_I[order], since_I[order], to_I[order]
    apart_I = gpu_I * (to_I.max() - since_I.min() + 1.0)  # so that one running maximum serves all GPUs
    covered_I = np.concatenate(([-np.inf], np.maximum.accumulate(to_I + apart_I)[:-1])) - apart_I
    return np.clip(covered_I, since_I, to_I), to_I


def utilisation_curve(
    outcome: SimulationOutcome, *, nodes: Sequence[NodeSnapshot], n_bins: int = 200
) -> tuple[Floats, Floats]:
    """Returns (at_B, share_B): the share of GPUs held, averaged over equal stretches from the first submission to the
    end.
    """
    began_s = min(history.submitted_at_s for history in outcome.histories.values())
    edges = np.linspace(began_s, max(_last_end_s(outcome), began_s + 1e-9), n_bins + 1)
    since_I, to_I = busy_intervals(outcome)
    return _middles(edges), np.diff(job_seconds(edges, since_I, to_I)) / np.diff(edges) / max(
        1, sum(n.n_gpus for n in nodes)
    )


def jobs_curve(outcome: SimulationOutcome, *, n_bins: int = 200) -> tuple[Floats, Floats]:
    """Returns (at_B, n_jobs_B): jobs submitted and not ended, averaged over equal stretches."""
    histories = list(outcome.histories.values())
    since_J = np.array([history.submitted_at_s for history in histories])
    to_J = np.array([_end_of(history, outcome) for history in histories])
    edges = np.linspace(since_J.min(), max(_last_end_s(outcome), since_J.min() + 1e-9), n_bins + 1)
    return _middles(edges), np.diff(job_seconds(edges, since_J, to_J)) / np.diff(edges)


@dataclass(frozen=True)
class Curves:
    """Holds what the figures of one policy are drawn from. utilisation, jobs: (at_B in seconds, value_B)."""

    jct_s: Sequence[float]
    rho: Sequence[float]
    utilisation: tuple[Floats, Floats]
    jobs: tuple[Floats, Floats]


def curves_of(outcome: SimulationOutcome, *, nodes: Sequence[NodeSnapshot], rho: Mapping[str, float]) -> Curves:
    """Returns what the figures of one policy are drawn from."""
    return Curves(
        [history.jct_s for history in outcome.histories.values() if history.jct_s is not None],
        list(rho.values()),
        utilisation_curve(outcome, nodes=nodes),
        jobs_curve(outcome),
    )


def curve_rows(curves: Curves) -> list[dict[str, float]]:
    """Returns the curves over time as rows: seconds, share of GPUs held, jobs in the cluster."""
    at_B, share_B = curves.utilisation
    found = zip(at_B.tolist(), share_B.tolist(), curves.jobs[1].tolist(), strict=True)
    return [{"at_s": at_s, "utilisation": share, "jobs": n} for at_s, share, n in found]


def job_seconds(at_T: Floats, since_I: Floats, to_I: Floats) -> Floats:
    """Returns, for each instant, the seconds of all the intervals before it."""
    return _passed(at_T, np.sort(since_I)) - _passed(at_T, np.sort(to_I))


def _passed(at_T: Floats, start_I: Floats) -> Floats:
    """For each instant the sum of what has passed since the starts before it; start_I ascending."""
    n_T = np.searchsorted(start_I, at_T)
    total_I = np.concatenate(([0.0], np.cumsum(start_I)))
    result: Floats = n_T * at_T - total_I[n_T]
    return result


def _middles(edges: Floats) -> Floats:
    return (edges[1:] + edges[:-1]) / 2


def _end_of(history: JobHistory, outcome: SimulationOutcome) -> float:
    return outcome.ended_at_s if history.ended_at_s is None else history.ended_at_s


def _last_end_s(outcome: SimulationOutcome) -> float:
    """When the last job ended; a policy may have asked to be woken later."""
    return max((_end_of(history, outcome) for history in outcome.histories.values()), default=0.0)


def _cell(value: Any) -> Any:
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else value


def _words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
