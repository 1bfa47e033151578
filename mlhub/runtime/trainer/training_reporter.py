"""What a worker tells of its training, from the first step to what it leaves. Rank 0 speaks for the gang."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from mlhub.runtime.checkpoints import step_folders
from mlhub.runtime.data.readers import Split
from mlhub.runtime.errors import NotANumberError
from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.scripts import api
from mlhub.runtime.strategies.protocol import StepResult, Strategy, TrainingPosition
from mlhub.runtime.trainer.progress import Interval, Watched

PROGRESS_EVERY_S = 1.0


class TrainingReporter:
    """Of the training of a model on examples, along a course."""

    def __init__(self, pod: Pod, reporter: Reporter, model: nn.Module, data: Split, course: TrainingPosition) -> None:
        self._pod, self._reporter, self._model, self._data, self._course = pod, reporter, model, data, course
        self._speaks = pod.spec.index == 0
        self._bytes = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
        self._told_step, self._loss = course.start, 0.0
        self._interval, self._watched = Interval(), Watched()

    def begin(self) -> None:
        self._reporter.phase("training", step=self._course.start)
        spec = self._pod.spec
        self._say(
            f"training {self._bytes // 4:,} parameters from step {self._course.start} to {self._course.steps}: "
            f"{spec.training.strategy.get('name', spec.mode)}, {spec.n_workers} workers, {spec.n_servers} servers, "
            f"{len(self._data.train):,} examples to learn from, {len(self._data.held_out):,} held out"
        )

    def step(self, done: int, *, input_s: float, busy_s: float, now: float, result: StepResult) -> None:
        """After each one; done: how many there were. Raises NotANumberError."""
        self._interval.add(input_s=input_s, busy_s=busy_s, result=result)
        if result.noise is not None:
            self._watched.noise.add(result.noise)
        if result.loss is not None:
            if not math.isfinite(result.loss):
                raise NotANumberError(f"The loss is {result.loss} after step {done}.")
            self._loss = result.loss
        if now - self._interval.began > PROGRESS_EVERY_S:
            self.tell(done)

    def tell(self, step: int) -> None:
        """Reports how far the gang is, when it got further.

        Where workers take steps at their own pace, others may have made all of them.
        """
        if step == self._told_step:
            return
        self._told_step = step
        if self._speaks:
            self._reporter.send(
                self._interval.report(
                    self._pod.spec, self._course, step=step, parameters_bytes=self._bytes, watched=self._watched
                )
            )
        if self._interval.n_steps:
            self._metrics(step, {"train/loss": self._loss})
        self._interval = Interval()

    def go_on(self) -> None:
        """After a meeting, whose time belongs to no step."""
        self._interval.began = time.perf_counter()

    def evaluated(self, step: int, metrics: Mapping[str, float]) -> None:
        self._metrics(step, metrics)
        told = ", ".join(f"{name} {value:.4g}" for name, value in sorted(metrics.items()))
        epoch = step / self._course.steps_per_epoch
        self._say(f"epoch {epoch:g} of {self._pod.spec.training.epochs}, step {step}: {told}")

    def ends_early(self, step: int, reason: str) -> None:
        self._say(f"ends early, after step {step}: {reason}")

    def hand_in(self, step: int, metrics: dict[str, float], strategy: Strategy) -> None:
        """The reporter leaves weights and metadata for the launcher to upload, and reports the result."""
        pod, spec = self._pod, self._pod.spec.training
        if not pod.is_reporter:
            return
        pod.artifacts.mkdir(exist_ok=True)
        weights = _weights(self._model, strategy.further_weights())
        step_folders.write_tensors(pod.artifacts / "weights.safetensors", weights)
        metadata = {
            "hyperparameters": spec.hyperparameters,
            "strategy": spec.strategy,
            "facts": dict(self._data.facts),
            "epochs": spec.epochs,
            "batch_size": spec.batch_size,
            "seed": spec.seed,
            "steps": step,
            "mode": str(pod.spec.mode),
            "n_workers": pod.spec.n_workers,
            "n_servers": pod.spec.n_servers,
            "torch": torch.__version__,
        }
        (pod.artifacts / "metadata.json").write_text(json.dumps(metadata, indent=1))
        api.hand_in(pod, self._reporter, step=step, metrics=metrics)
        self._reporter.phase("done")

    def _metrics(self, step: int, values: Mapping[str, float]) -> None:
        self._reporter.metrics(step=step, epoch=step / self._course.steps_per_epoch, values=dict(values))

    def _say(self, line: str) -> None:
        if self._speaks:
            print(line, flush=True)


def _weights(model: nn.Module, further: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The model's state under the names that load_state_dict knows; further: members of an ensemble, beside it."""
    return {name: value.detach().cpu().clone() for name, value in model.state_dict().items()} | dict(further)
