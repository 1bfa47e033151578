# SPDX-License-Identifier: Apache-2.0
"""The order in which a pipeline's stages process micro-batches, and which worker holds which stages.

A worker holds one stage (gpipe, 1f1b), several interleaved ones (worker r of p has the stages r, r + p, ...), or two
in a V (worker 0 has the first and the last). More stages a worker leave smaller bubbles, and send more.
Sources: Huang et al., NeurIPS '19 (GPipe); Narayanan et al., SOSP '19 and SC '21 (1F1B, interleaved); Qi et al., 2023
and 2024 (zero bubble, in a V); DeepSeek-V3, 2024 (DualPipe; its half, DualPipeV); torch.distributed.pipelining.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch.distributed.pipelining import (
    PipelineStage,
    Schedule1F1B,
    ScheduleDualPipeV,
    ScheduleGPipe,
    ScheduleInterleaved1F1B,
    ScheduleInterleavedZeroBubble,
    ScheduleZBVZeroBubble,
)
from torch.distributed.pipelining.schedules import PipelineScheduleMulti, PipelineScheduleSingle

from mlhub.runtime.strategies.catalogue.schema import StrategySpec, micro_batches_fit, stages_per_worker

AnySchedule = PipelineScheduleSingle | PipelineScheduleMulti
IN_A_V = ("zero_bubble_v", "dualpipe_v")
OF_ONE: Mapping[str, type[PipelineScheduleSingle]] = {"gpipe": ScheduleGPipe, "1f1b": Schedule1F1B}
OF_SEVERAL: Mapping[str, type[Any]] = {
    "interleaved_1f1b": ScheduleInterleaved1F1B,
    "interleaved_zero_bubble": ScheduleInterleavedZeroBubble,
    "zero_bubble_v": ScheduleZBVZeroBubble,
    "dualpipe_v": ScheduleDualPipeV,
}


def replicas_for(spec: StrategySpec, *, n_workers: int, most_stages: int) -> int:
    """The number of replicas: the requested one, or the nearest that divides the workers into complete pipelines."""
    wanted, most = int(spec.parameters["replicas"]), max(1, most_stages // stages_per_worker(spec))
    if wanted == 1:
        return 1
    possible = [n for n in range(1, n_workers + 1) if n_workers % n == 0 and n_workers // n <= most]
    return min(possible, key=lambda n: (abs(n - wanted), n))


@dataclass(frozen=True)
class Ordering:
    """A schedule for a number of workers. schedule: of the strategy `pipeline`. per_worker: stages of each worker."""

    schedule: str
    n_workers: int
    per_worker: int

    @classmethod
    def of(cls, spec: StrategySpec, *, n_workers: int) -> Ordering:
        """One worker holds one stage, whatever the schedule."""
        return cls(spec.parameters["schedule"], n_workers, stages_per_worker(spec) if n_workers > 1 else 1)

    @property
    def n_stages(self) -> int:
        return self.n_workers * self.per_worker

    @property
    def holders(self) -> list[int]:
        """The worker that holds each stage, by stage."""
        if self.schedule not in IN_A_V or self.n_workers == 1:
            return [stage % self.n_workers for stage in range(self.n_stages)]
        return [*range(self.n_workers), *reversed(range(self.n_workers))]

    def micro_batches(self, *, wanted: int, n_examples: int) -> int:
        """The largest number up to `wanted` that divides a batch into equal parts and suits the schedule."""
        divisors = [k for k in range(1, min(wanted, n_examples) + 1) if n_examples % k == 0]
        suitable = [k for k in divisors if micro_batches_fit(self.schedule, n_workers=self.n_workers, n=k)]
        return max(suitable or divisors)

    def build(self, stages: Sequence[PipelineStage], n: int, loss: Callable[..., Any]) -> AnySchedule:
        """Builds torch's schedule for this worker's stages and n micro-batches.

        An epoch's last batch may be too small for it; a simpler schedule with the same stages is then used.
        """
        if self.schedule in OF_ONE:
            # 1F1B needs a micro-batch a stage to start with
            name = self.schedule if n >= self.n_workers else "gpipe"
            return OF_ONE[name](stages[0], n, loss_fn=loss)
        fits = micro_batches_fit(self.schedule, n_workers=self.n_workers, n=n)
        schedule: PipelineScheduleMulti = OF_SEVERAL[self.schedule if fits else "zero_bubble_v"](
            list(stages), n, loss_fn=loss
        )
        return schedule
