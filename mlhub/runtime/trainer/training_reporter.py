# SPDX-License-Identifier: Apache-2.0
"""Reports of a training: progress, metrics, and the result. Rank 0 reports for the gang."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints import step_folders
from mlhub.runtime.checkpoints.best_weights import BestWeights
from mlhub.runtime.data.readers import Split
from mlhub.runtime.errors import NotANumberError
from mlhub.runtime.model.whole_set_metrics import CONFUSION
from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.scripts import api
from mlhub.runtime.strategies.protocol import StepResult, Strategy, TrainingPlan
from mlhub.runtime.trainer.progress import Interval, Measurements, WorkerStepTimes
from mlhub.wire.words import counted

PROGRESS_EVERY_S = 1.0


class TrainingReporter:
    """Reports the training of a model on a dataset, along a plan."""

    def __init__(self, pod: Pod, reporter: Reporter, model: nn.Module, data: Split, plan: TrainingPlan) -> None:
        self._pod, self._reporter, self._model, self._data, self._plan = pod, reporter, model, data, plan
        self._is_reporter = pod.spec.index == 0
        self._bytes = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
        self._reported_step, self._loss = plan.start, 0.0
        self._interval, self._measurements = Interval(), Measurements()
        self._own_steps = WorkerStepTimes(pod)
        self._batch_size = pod.spec.training.batch_size
        self._has_stepped = False

    def report_start(self) -> None:
        self._reporter.phase("training", step=self._plan.start)
        spec = self._pod.spec
        self._print(
            f"training {self._bytes // 4:,} parameters from step {self._plan.start} to {self._plan.steps}: "
            f"{spec.training.strategy.get('name', spec.mode)}, {counted(spec.n_workers, 'worker')}, "
            f"{counted(spec.n_servers, 'server')}, "
            f"{counted(len(self._data.train), 'training example')}, {len(self._data.held_out):,} held out"
        )

    def step(self, done: int, *, input_s: float, began: float, result: StepResult, length: int = 1) -> None:
        """Records a step, and reports progress now and then. Raises NotANumberError.

        done: declared steps that are made, of which this one was `length`. input_s: seconds that the step spent
        reading. began: on time.perf_counter().
        """
        now = time.perf_counter()
        if not self._has_stepped:
            self._has_stepped = True
            self._reporter.phase("first_step", step=done)
        self._interval.add(input_s=input_s, busy_s=now - began, result=result)
        self._own_steps.add(done, input_s=input_s, busy_s=now - began, result=result)
        if result.noise is not None:
            self._measurements.noise.add(result.noise.in_parts_of(length))
        if result.loss is not None:
            if not math.isfinite(result.loss):
                raise NotANumberError(f"The loss is {result.loss} after step {done}.")
            self._loss = result.loss
        if now - self._interval.began > PROGRESS_EVERY_S:
            self.report_progress(done)

    def report_progress(self, step: int) -> None:
        """Reports the gang's step, if it has advanced; under asynchronous strategies others may have made the steps."""
        if step == self._reported_step:
            return
        self._reported_step = step
        if self._is_reporter:
            self._reporter.send(
                self._interval.report(
                    self._pod.spec,
                    self._plan,
                    step=step,
                    parameters_bytes=self._bytes,
                    measurements=self._measurements,
                    batch_size=self._batch_size,
                )
            )
        if self._interval.n_steps:
            self._metrics(step, {"train/loss": self._loss})
        self._interval = Interval()

    def report_last_steps(self, step: int) -> None:
        """Reports this worker's steps, at the end of a training that may have been too short for a report before."""
        self._own_steps.report(step)

    def restart_interval(self) -> None:
        """Starts a new interval after a barrier, whose time belongs to no step."""
        self._interval.began = time.perf_counter()

    @property
    def noise_scale(self) -> float | None:
        """The gradient noise scale in examples; None while it is unknown."""
        return self._measurements.noise.value(batch_size=self._pod.spec.training.batch_size)

    def plot(self, step: int, values: Mapping[str, float]) -> None:
        """Reports values of the gang, which are the same on every worker."""
        if self._is_reporter:
            self._metrics(step, values)

    def report_first_batch(self, batch_size: int, learning_rate_factor: float) -> None:
        """Reports that steps from the first one of this attempt on have such a batch."""
        self._batch_size = batch_size
        self.plot(
            self._plan.start, {"train/batch_size": batch_size, "train/learning_rate_factor": learning_rate_factor}
        )

    def report_batch_change(
        self, step: int, *, was: int, batch_size: int, learning_rate_factor: float, reason: str
    ) -> None:
        """Reports that steps from now on have another batch, with the factor of the learning rate and the reason."""
        self._batch_size = batch_size
        self._reporter.phase(
            "batch_changed", step=step, was=was, batch_size=batch_size, learning_rate_factor=learning_rate_factor,
            reason=reason,
        )  # fmt: skip
        self.plot(step, {"train/batch_size": batch_size, "train/learning_rate_factor": learning_rate_factor})
        self._print(f"step {step}: batches of {batch_size}, learning rate times {learning_rate_factor:.3g}. {reason}")

    def report_evaluation(self, step: int, metrics: Mapping[str, float]) -> None:
        """Reports the metrics of an evaluation as points of curves; a confusion matrix is of the result alone."""
        metrics = {name: value for name, value in metrics.items() if not name.startswith(CONFUSION)}
        self._metrics(step, metrics)
        values = ", ".join(f"{name} {value:.4g}" for name, value in sorted(metrics.items()))
        epoch = step / self._plan.steps_per_epoch
        self._print(f"epoch {epoch:g} of {self._pod.spec.training.epochs}, step {step}: {values}")

    def report_early_stop(self, step: int, reason: str) -> None:
        self._print(f"ends early, after step {step}: {reason}")

    def publish_result(
        self, step: int, metrics: dict[str, float], strategy: Strategy, *, best: BestWeights | None = None
    ) -> None:
        """Leaves weights and metadata for the launcher to upload, and reports the result; only rank 0 does.

        best: the weights to hand in instead of the model's; metrics are then theirs.
        """
        pod, spec = self._pod, self._pod.spec.training
        if not pod.is_reporter:
            return
        pod.artifacts.mkdir(exist_ok=True)
        if best is None:
            weights = all_weights(self._model, strategy.extra_weights())
            step_folders.write_tensors(pod.artifacts / step_folders.WEIGHTS, weights)
        else:
            shutil.copyfile(best.folder / step_folders.WEIGHTS, pod.artifacts / step_folders.WEIGHTS)
            metrics = dict(best.metrics)
            self._print(f"hands in the weights of step {best.step}, the best of those that were evaluated")
        metadata = {
            "hyperparameters": spec.hyperparameters,
            "strategy": spec.strategy,
            "facts": dict(self._data.facts),
            "epochs": spec.epochs,
            "batch_size": spec.batch_size,
            "seed": spec.seed,
            "steps": step,
            "selected_step": step if best is None else best.step,
            "mode": str(pod.spec.mode),
            "n_workers": pod.spec.n_workers,
            "n_servers": pod.spec.n_servers,
            "torch": torch.__version__,
        }
        (pod.artifacts / "metadata.json").write_text(json.dumps(metadata, indent=1))
        api.hand_in(pod, self._reporter, step=step, metrics=metrics)
        self._reporter.phase("done")

    def _metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._reporter.metrics(step=step, epoch=step / self._plan.steps_per_epoch, values=dict(values))

    def _print(self, line: str) -> None:
        if self._is_reporter:
            print(line, flush=True)


def all_weights(model: nn.Module, extra: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The model's state under the names of load_state_dict(), and extra tensors such as members of an ensemble."""
    return {name: value.detach().cpu().clone() for name, value in model.state_dict().items()} | dict(extra)
