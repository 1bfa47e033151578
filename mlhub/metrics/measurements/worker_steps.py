# SPDX-License-Identifier: Apache-2.0
"""Of what each worker's steps are made, and which of them are stragglers: workers that the others wait for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.utils import timezone

from mlhub.jobs.models import Attempt
from mlhub.metrics.models import WorkerSteps
from mlhub.wire.report import MAX_STEP, STEP_TIMES, PhaseReport

COUNTS = ("step", "n_steps")
MAX_S = 1e7
SLACK, SLACK_S = 1.1, 1e-3  # rounding of a step's parts
STRAGGLER_FACTOR = 1.3  # times the median of the others: less is what one measurement differs from the next by
LEAST_DIFFERENCE_S = 0.001


@dataclass(frozen=True)
class StepTimeBreakdown:
    """slowdown: its input and computation against the median of the other workers; 1 for one like them."""

    steps: WorkerSteps
    node: str
    slowdown: float
    is_straggler: bool


def record_worker_steps(attempt: Attempt, report: PhaseReport, *, worker: int) -> None:
    """Stores a worker's report in place of its former one; what cannot be true is passed over."""
    found = {name: report.detail.get(name, 0) for name in (*STEP_TIMES, *COUNTS)}
    if _is_plausible(found):
        WorkerSteps.objects.update_or_create(attempt=attempt, worker=worker, defaults={**found, "at": timezone.now()})


def breakdown_by_worker(attempt: Attempt | None) -> list[StepTimeBreakdown]:
    """The workers of a gang in the order of their ranks; empty where none has reported."""
    if attempt is None:
        return []
    rows = list(attempt.worker_steps.order_by("worker"))
    nodes = [node for node, _ in attempt.placement().workers]
    own_s = [row.input_s + row.compute_s for row in rows]  # whichever worker it waits for
    return [_breakdown(row, nodes, own_s[i], others_s=own_s[:i] + own_s[i + 1 :]) for i, row in enumerate(rows)]


def _breakdown(row: WorkerSteps, nodes: Sequence[str], own_s: float, *, others_s: Sequence[float]) -> StepTimeBreakdown:
    usual_s = median(others_s) if others_s else own_s
    slowdown = own_s / usual_s if usual_s > 0 else 1.0
    node = nodes[row.worker] if row.worker < len(nodes) else ""
    is_straggler = slowdown >= STRAGGLER_FACTOR and own_s - usual_s >= LEAST_DIFFERENCE_S
    return StepTimeBreakdown(row, node, slowdown, is_straggler)


def _is_plausible(found: Mapping[str, Any]) -> bool:
    """Whether these are whole counts and times of steps whose parts fit into them."""
    if not all(type(found[name]) is int and 0 < found[name] <= MAX_STEP for name in COUNTS):
        return False
    if not all(type(found[name]) in (int, float) and 0 <= found[name] <= MAX_S for name in STEP_TIMES):
        return False
    parts_s = found["input_s"] + found["compute_s"] + found["sync_s"]
    return 0 < found["step_s"] >= (parts_s - SLACK_S) / SLACK and found["wait_s"] <= found["sync_s"] + SLACK_S
