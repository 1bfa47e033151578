"""How far and how fast training goes, for rank 0's reports; and when it is good enough, or no longer gets better."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from mlhub.runtime.model.hyperparameters import Settings, is_better_when_low
from mlhub.runtime.optimization.gradient_noise import NoiseScale
from mlhub.runtime.strategies.protocol import StepResult, TrainingPosition
from mlhub.runtime.trainer import gpu_usage
from mlhub.runtime.trainer.network_traffic import Traffic
from mlhub.wire.launch import PodSpec
from mlhub.wire.report import ProgressReport


@dataclass
class Watched:
    """What is followed over a whole training."""

    noise: NoiseScale = field(default_factory=NoiseScale)
    traffic: Traffic = field(default_factory=Traffic)


@dataclass
class Interval:
    """Sums since the last progress report; seconds."""

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

    def report(
        self, spec: PodSpec, course: TrainingPosition, *, step: int, parameters_bytes: int, watched: Watched
    ) -> ProgressReport:
        """Traffic as the kernel counted it; where it counted nothing (memory shared by GPUs), as the strategy did."""
        n = max(1, self.n_steps)
        step_s, sync_s, input_s, wait_s = (v / n for v in (self.busy_s, self.sync_s, self.input_s, self.wait_s))
        sent, received = watched.traffic.look()
        used = gpu_usage.use()
        return ProgressReport(
            at=time.time(),
            steps_done=step,
            steps_total=course.steps,
            epoch=step / course.steps_per_epoch,
            n_workers=spec.n_workers,
            n_servers=spec.n_servers,
            batch_size=spec.training.batch_size,
            step_s=step_s,
            compute_s=max(0.0, step_s - sync_s - input_s),
            sync_s=sync_s,
            input_s=input_s,
            bytes_sent=(sent or self.bytes_sent) / n,
            bytes_received=(received or self.bytes_received) / n,
            parameters_bytes=parameters_bytes,
            peak_memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            wait_s=min(wait_s, sync_s),
            noise_scale=watched.noise.value(batch_size=spec.training.batch_size),
            gpu_utilisation=None if used is None else used.utilisation,
            gpu_memory_bytes=None if used is None else used.memory_bytes,
        )


class Goal:
    """Whether training may end early, by the target metric of each evaluation."""

    def __init__(self, settings: Settings, *, metric: str | None, value: float | None) -> None:
        self._settings, self._metric, self._value = settings, metric, value
        self._best: float | None = None
        self._n_without_gain = 0

    def reason_to_stop(self, metrics: Mapping[str, float]) -> str | None:
        """The same on every worker, since all have the same metrics."""
        if self._metric is None or self._metric not in metrics:
            return None
        sign = -1.0 if is_better_when_low(self._metric) else 1.0
        found = metrics[self._metric]
        if self._settings.stop_at_target and self._value is not None and sign * found >= sign * self._value:
            return f"{self._metric} {found:.4g} has reached the target {self._value:g}"
        if self._best is None or sign * found > sign * self._best:
            self._best, self._n_without_gain = found, 0
            return None
        self._n_without_gain += 1
        if self._settings.patience and self._n_without_gain >= self._settings.patience:
            return f"{self._metric} has not improved on {self._best:.4g} in {self._n_without_gain} evaluations"
        return None
