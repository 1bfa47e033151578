# SPDX-License-Identifier: Apache-2.0
"""Rounds of the scheduler over one gang's reports: they choose its batch, and leave it where a launcher would.

In between a platform stores reports in its database and answers them with the decision; the rule and the trainer are
the same.
"""

from __future__ import annotations

import json
import threading
from dataclasses import asdict
from types import TracebackType
from typing import Any

from mlhub.wire.launch import BatchDecision
from scheduler import (
    ClusterSnapshot,
    JobSnapshot,
    Mode,
    NodeSnapshot,
    RackSnapshot,
    RoundMemory,
    SpeedObservation,
    TenantSnapshot,
    decide,
    policy_named,
)
from scheduler.api.plan import Reason
from scheduler.api.snapshot import GangAllocation, NodeAllocation, Phase
from tests.runtime.gang import Gang

PERIOD_S = 1.0


class Rounds:
    """Decides once a second while it is entered."""

    def __init__(self, gang: Gang, *, batch_size: int, max_batch_size: int, n_workers: int) -> None:
        self._gang, self._batch_size, self._most, self._n_workers = gang, batch_size, max_batch_size, n_workers
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> None:
        if self._gang.training.batch is not None:
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._is_over.wait(PERIOD_S):
            decision = self._decision(self._gang.reports("progress"))
            if decision is not None:
                file = self._gang.work() / "batch.json"
                file.with_suffix(".new").write_text(json.dumps(asdict(decision)))
                file.with_suffix(".new").rename(file)

    def _decision(self, reports: list[dict[str, Any]]) -> BatchDecision | None:
        """None while nothing was measured."""
        observations = observed(reports, n_workers=self._n_workers)
        if not observations:
            return None
        used, newest = reports[-1]["batch_size"], reports[-1]
        noises = [r["measured"]["noise_scale"] for r in reports if r["measured"].get("noise_scale")]
        held = GangAllocation(
            Mode.ALL_REDUCE, self._n_workers, 0, (NodeAllocation("n0", tuple(range(self._n_workers))),)
        )
        job = JobSnapshot(
            "job", "tenant", 0.0, newest["steps_total"], self._batch_size, family="f", phase=Phase.RUNNING,
            allocation=held, allocated_at_s=0.0, training_since_s=0.0, steps_done=newest["steps_done"],
            mode=Mode.ALL_REDUCE, min_workers=self._n_workers, max_workers=self._n_workers,
            parameters_bytes=newest["parameters_bytes"], observations=observations, max_batch_size=self._most,
            noise_scale=noises[-1] if noises else None, used_batch_size=used, counts_examples=True,
        )  # fmt: skip
        node = NodeSnapshot("n0", "r0", "cpu-slot", self._n_workers, 64.0, 1 << 36, 1e10)
        snapshot = ClusterSnapshot(
            60.0, (node,), (RackSnapshot("r0", 1e10),), (job,), (TenantSnapshot("tenant"),), seed=1
        )
        plan = decide(snapshot, policy=policy_named("mlhub", {}), memory=RoundMemory())
        choice = plan.batches["job"]
        why = [e.sentence for e in plan.of("job").explanations if e.reason is Reason.BATCH_SIZE_CHANGES]
        return BatchDecision(choice.batch_size, choice.noise_scale, "".join(why))


def observed(reports: list[dict[str, Any]], *, n_workers: int) -> tuple[SpeedObservation, ...]:
    """Means by batch; the first report of each warms up and counts for nothing."""
    by_batch: dict[int, list[tuple[int, dict[str, Any]]]] = {}
    for before, report in zip([{"steps_done": 0}, *reports], reports, strict=False):
        n_steps = report["steps_done"] - before["steps_done"]
        by_batch.setdefault(report["batch_size"], []).append((n_steps, report))
    found = []
    for size, each in by_batch.items():
        n = sum(n_steps for n_steps, _ in each[1:])
        if n > 0:
            means = {k: sum(m * r[k] for m, r in each[1:]) / n for k in ("step_s", "compute_s", "sync_s")}
            found.append(SpeedObservation(Mode.ALL_REDUCE, n_workers, 0, 1, 1, "cpu-slot", size, n_steps=n, **means))
    return tuple(found)
