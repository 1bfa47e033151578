# SPDX-License-Identifier: Apache-2.0
"""Of what each worker's steps are made, and which of them are stragglers: workers that the others wait for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from django.utils import timezone

from mlhub.jobs.models import Attempt
from mlhub.metrics.models import WorkerSteps
from mlhub.wire.report import MAX_STEP, STEP_TIMES, PhaseReport

MAX_S = 1e7
SLACK = 1.1  # rounding of a step's parts
STRAGGLES_FROM = 1.3  # times the median of the gang: less is what one measurement differs from the next by
LEAST_DIFFERENCE_S = 0.001


@dataclass(frozen=True)
class WorkerAnatomy:
    """slowdown: its input and computation against the median of the other workers; 1 for one like them."""

    steps: WorkerSteps
    node: str
    slowdown: float
    is_straggler: bool


def record_worker_steps(attempt: Attempt, report: PhaseReport, *, worker: int) -> None:
    """Stores a worker's report in place of its former one; what cannot be true is passed over."""
    times = {name: _number(report.detail.get(name), at_most=MAX_S) for name in STEP_TIMES}
    counts = {name: _number(report.detail.get(name), at_most=MAX_STEP) for name in ("step", "n_steps")}
    if None in times.values() or None in counts.values() or not counts["n_steps"] or not times["step_s"]:
        return
    known = {name: value or 0.0 for name, value in times.items()}
    parts_s = known["input_s"] + known["compute_s"] + known["sync_s"]
    if parts_s > SLACK * known["step_s"] + 1e-3 or known["wait_s"] > known["sync_s"] + 1e-3:
        return
    found = known | {name: int(value or 0) for name, value in counts.items()} | {"at": timezone.now()}
    WorkerSteps.objects.update_or_create(attempt=attempt, worker=worker, defaults=found)


def anatomy_of(attempt: Attempt | None) -> list[WorkerAnatomy]:
    """The workers of a gang in the order of their ranks; empty where none has reported."""
    rows = [] if attempt is None else list(attempt.worker_steps.order_by("worker"))
    if attempt is None or not rows:
        return []
    own_s = [_own_s(row) for row in rows]
    nodes = [node for node, _ in attempt.workers()]
    return [_anatomy(row, nodes, others_s=own_s[:i] + own_s[i + 1 :]) for i, row in enumerate(rows)]


def _anatomy(row: WorkerSteps, nodes: Sequence[str], *, others_s: Sequence[float]) -> WorkerAnatomy:
    own_s = _own_s(row)
    usual_s = median(others_s) if others_s else own_s
    slowdown = own_s / usual_s if usual_s > 0 else 1.0
    node = nodes[row.worker] if row.worker < len(nodes) else ""
    is_straggler = slowdown >= STRAGGLES_FROM and own_s - usual_s >= LEAST_DIFFERENCE_S
    return WorkerAnatomy(row, node, slowdown, is_straggler)


def _own_s(row: WorkerSteps) -> float:
    """What a step takes of the worker's own time, whoever it waits for."""
    return row.input_s + row.compute_s


def _number(value: object, *, at_most: float) -> float | None:
    """The value, if it is a number from 0 to at_most."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= at_most:
        return None
    return float(value)
