# SPDX-License-Identifier: Apache-2.0
"""How far and how fast a training goes: sums over an interval, as a progress report."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass, field

from mlhub.runtime.optimization.gradient_noise import NoiseScale
from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.strategies.protocol import StepResult, TrainingPlan
from mlhub.runtime.usage import gpu
from mlhub.runtime.usage.network import Traffic
from mlhub.wire.launch import PodSpec
from mlhub.wire.measurements import known
from mlhub.wire.report import STEP_TIMES, STEP_TIMES_PHASE, ProgressReport

FIRST_AFTER_S, EVERY_S, EVERY_S_PER_WORKER = 1.0, 5.0, 0.25


class WorkerStepTimes:
    """Reports of what the steps of this worker are made, so that people see which worker the others wait for.

    The first report comes after a second, later ones seldom: of a gang of hundreds each would be a request.
    """

    def __init__(self, pod: Pod) -> None:
        self._reporter = Reporter(pod.reports) if pod.spec.n_workers > 1 else None
        self._every_s = max(EVERY_S, EVERY_S_PER_WORKER * pod.spec.n_workers)
        self._interval, self._next_at = Interval(), time.perf_counter() + FIRST_AFTER_S

    def add(self, step: int, *, input_s: float, busy_s: float, result: StepResult) -> None:
        """Takes a step in, the last of `step` ones, and reports now and then."""
        if self._reporter is None:
            return
        self._interval.add(input_s=input_s, busy_s=busy_s, result=result)
        if time.perf_counter() >= self._next_at:
            self.report(step)

    def report(self, step: int) -> None:
        """Reports the steps since the last report, if there are any."""
        if self._reporter is None or not self._interval.n_steps:
            return
        self._next_at = time.perf_counter() + self._every_s
        self._reporter.phase(STEP_TIMES_PHASE, step=step, n_steps=self._interval.n_steps, **self._interval.times())
        self._interval = Interval()


@dataclass
class Measurements:
    """What is measured over a whole training."""

    noise: NoiseScale = field(default_factory=NoiseScale)
    traffic: Traffic = field(default_factory=Traffic)
    cpus: CpuUse = field(default_factory=lambda: CpuUse())


class CpuUse:
    """Counts the processor time of this process, of all its threads."""

    def __init__(self) -> None:
        self._at, self._used_s = time.perf_counter(), time.process_time()

    def since_last_call(self) -> float | None:
        """Returns the CPUs that were kept busy on average since the last call; None where no time has passed."""
        at, used_s = time.perf_counter(), time.process_time()
        passed_s, busy_s = at - self._at, used_s - self._used_s
        self._at, self._used_s = at, used_s
        return busy_s / passed_s if passed_s > 0 else None


@dataclass
class Interval:
    """Sums over the steps since the last progress report, in seconds and bytes."""

    began: float = field(default_factory=time.perf_counter)
    n_steps: int = 0
    input_s: float = 0.0
    sync_s: float = 0.0
    wait_s: float = 0.0
    busy_s: float = 0.0
    bytes_sent: float = 0.0
    bytes_received: float = 0.0

    def add(self, *, input_s: float, busy_s: float, result: StepResult) -> None:
        self.n_steps += 1
        self.input_s += input_s
        self.sync_s += result.sync_s
        self.wait_s += result.wait_s
        self.busy_s += busy_s
        self.bytes_sent += result.bytes_sent
        self.bytes_received += result.bytes_received

    def times(self) -> dict[str, float]:
        """Means a step by the names of STEP_TIMES: input, compute and sync add up to it, wait is a part of sync."""
        n = max(1, self.n_steps)
        step_s, sync_s, input_s, wait_s = (v / n for v in (self.busy_s, self.sync_s, self.input_s, self.wait_s))
        compute_s = max(0.0, step_s - sync_s - input_s)
        return dict(zip(STEP_TIMES, (step_s, input_s, compute_s, sync_s, min(wait_s, sync_s)), strict=True))

    def report(
        self, spec: PodSpec, plan: TrainingPlan, *, step: int, parameters_bytes: int, measurements: Measurements,
        batch_size: int,
    ) -> ProgressReport:  # fmt: skip
        """Means a step, which has batch_size examples.

        Traffic is the kernel's count, or the strategy's where that is 0 (GPUs that share memory).
        """
        n = max(1, self.n_steps)
        sent, received = measurements.traffic.since_last_call()
        used = gpu.use()
        return ProgressReport(
            at=time.time(),
            steps_done=step,
            steps_total=plan.steps,
            epoch=step / plan.steps_per_epoch,
            n_workers=spec.n_workers,
            n_servers=spec.n_servers,
            batch_size=batch_size,
            parameters_bytes=parameters_bytes,
            **self.times(),
            measured=known(
                {
                    "bytes_sent": (sent or self.bytes_sent) / n,
                    "bytes_received": (received or self.bytes_received) / n,
                    "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                    "noise_scale": measurements.noise.value(batch_size=spec.training.batch_size),
                    "gpu_utilisation": None if used is None else used.utilisation,
                    "gpu_memory_bytes": None if used is None else used.memory_bytes,
                    "memory_bandwidth": None if used is None else used.memory_bandwidth,
                    "cpus_used": measurements.cpus.since_last_call(),
                }
            ),
        )
