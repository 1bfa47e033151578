"""In which order a pipeline's stages take micro-batches forward and back, and which worker holds which stages.

A worker holds one stage (gpipe, 1f1b), some in turn (interleaved: worker r of p has the stages r, r + p, ...), or two
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
    """In how many rows the workers stand: as asked, or as near to it as divides them into rows that can be filled."""
    wanted, most = int(spec.parameters["replicas"]), max(1, most_stages // stages_per_worker(spec))
    if wanted == 1:
        return 1
    possible = [n for n in range(1, n_workers + 1) if n_workers % n == 0 and n_workers // n <= most]
    return min(possible, key=lambda n: (abs(n - wanted), n))


@dataclass(frozen=True)
class Ordering:
    """schedule: of the strategy `pipeline`. per_worker: stages."""

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
        """By stage: the worker that holds it."""
        if self.schedule not in IN_A_V or self.n_workers == 1:
            return [stage % self.n_workers for stage in range(self.n_stages)]
        return [*range(self.n_workers), *reversed(range(self.n_workers))]

    def micro_batches(self, *, wanted: int, n_examples: int) -> int:
        """The most, up to those wanted, that divide a batch into equal parts in a number that the schedule takes."""
        dividing = [k for k in range(1, min(wanted, n_examples) + 1) if n_examples % k == 0]
        fitting = [k for k in dividing if micro_batches_fit(self.schedule, n_workers=self.n_workers, n=k)]
        return max(fitting or dividing)

    def made(self, stages: Sequence[PipelineStage], n: int, loss: Callable[..., Any]) -> AnySchedule:
        """stages: this worker's. n: micro-batches. An epoch's last batch may be too small for the schedule: it then
        goes by the simpler one of the same places."""
        if self.schedule in OF_ONE:
            # 1F1B keeps every stage busy from the start, with a micro-batch each
            name = self.schedule if n >= self.n_workers else "gpipe"
            return OF_ONE[name](stages[0], n, loss_fn=loss)
        fits = micro_batches_fit(self.schedule, n_workers=self.n_workers, n=n)
        made: PipelineScheduleMulti = OF_SEVERAL[self.schedule if fits else "zero_bubble_v"](
            list(stages), n, loss_fn=loss
        )
        return made
