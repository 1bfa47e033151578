# SPDX-License-Identifier: Apache-2.0
"""Do predictions hold? Every round's P50 and P90 of a job's end, compared with when it did end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scheduler.api.plan import Plan
from scheduler.api.snapshot import ClusterSnapshot, Phase
from scheduler.simulator.outcome import SimulationOutcome


@dataclass(frozen=True)
class Calibration:
    """Holds how well predictions held, over (job, round) pairs. held_p50, held_p90: shares that ended no later than
    predicted.

    median_error: of the seconds that were left, relative to what they came to.
    """

    n: int
    held_p50: float
    held_p90: float
    median_error: float


class Calibrator:
    """Collects predictions: give it to simulate() as on_round, and ask it when the simulation is over."""

    def __init__(self) -> None:
        self._predicted: list[tuple[str, float, float, float, bool]] = []

    def __call__(self, snapshot: ClusterSnapshot, plan: Plan) -> None:
        waits = {job.id for job in snapshot.jobs if job.phase is Phase.WAITING}
        for decision in plan.decisions:
            predicted = decision.prediction
            if predicted.finish_p50_s is not None and predicted.finish_p90_s is not None:
                is_waiting = decision.job in waits
                self._predicted.append(
                    (decision.job, snapshot.now_s, predicted.finish_p50_s, predicted.finish_p90_s, is_waiting)
                )

    def result(self, outcome: SimulationOutcome, *, waiting: bool | None = None) -> Calibration:
        """Returns the calibration of all predictions, or of those made while the job waited (or did not).

        Raises ValueError for none.
        """
        rows = [
            (now_s, half_s, most_s, ended_s)
            for job_id, now_s, half_s, most_s, was_waiting in self._predicted
            if (ended_s := outcome.histories[job_id].ended_at_s) is not None and waiting in (None, was_waiting)
        ]
        if not rows:
            raise ValueError("there were no predictions to compare")
        now_P, half_P, most_P, ended_P = np.array(rows).T
        grain_s = 1.0
        errors_P = np.abs(half_P - ended_P) / np.maximum(ended_P - now_P, grain_s)
        return Calibration(
            n=len(rows),
            held_p50=float(np.mean(ended_P <= half_P + grain_s)),
            held_p90=float(np.mean(ended_P <= most_P + grain_s)),
            median_error=float(np.median(errors_P)),
        )
