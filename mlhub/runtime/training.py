"""The training loop of a worker, read from top to bottom."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from mlhub.runtime import augmentation, checkpoints, script
from mlhub.runtime.beats import Pulse
from mlhub.runtime.contract import Contract, load_contract
from mlhub.runtime.errors import BadInputError, NotANumberError, PreemptedError
from mlhub.runtime.evaluation import evaluate
from mlhub.runtime.feeding import Feed, Micros
from mlhub.runtime.microbatches import MicroBatches
from mlhub.runtime.node_cache import NodeCache
from mlhub.runtime.pod import Pod
from mlhub.runtime.progress import Goal, Interval, Watched
from mlhub.runtime.readers import Split, open_split
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.sampling import Indices, Schedule
from mlhub.runtime.saving import Checkpointer
from mlhub.runtime.settings import read_settings
from mlhub.runtime.strategies.protocol import Batch, Course, Meeting, Strategy, Wishes
from mlhub.runtime.strategies.registry import strategy_for

PROGRESS_EVERY_S = 1.0
AUTOCAST = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


class Trainer:
    """One worker. is_asked_to_stop is set by SIGTERM; the gang then agrees on the step to stop after."""

    def __init__(self, pod: Pod, reporter: Reporter) -> None:
        """Raises BadInputError for a strategy or hyperparameters that mean nothing."""
        self.pod, self.reporter = pod, reporter
        self.spec = spec = pod.spec.training
        self.rank, self.n_workers = pod.spec.index, pod.spec.n_workers
        self.is_asked_to_stop = False
        self.settings = read_settings(
            spec.hyperparameters, target_metric=spec.target_metric, target_value=spec.target_value
        )
        self.goal = Goal(self.settings, metric=spec.target_metric, value=spec.target_value)
        self.strategy: Strategy = strategy_for(pod)
        self.checkpointer = Checkpointer(pod, reporter)
        self.pulse, self.watched = Pulse(pod.pulse), Watched()

    def run(self) -> None:
        """Raises PreemptedError after a checkpoint, and whatever ends training badly (errors.classify)."""
        self.data, self.contract = self._load()
        augmentation.check(self.settings.augment, self.data.facts.get("input_shape", ()))
        order = self.spec.seed + self.strategy.order
        self.schedule = Schedule(len(self.data.train), self.spec.batch_size, self.spec.epochs, order)
        torch.manual_seed(self.spec.seed + self.strategy.member)
        values = self.contract.settings(self.spec.hyperparameters, self.data.facts)
        self.model = self.contract.build_model(values).to(self.strategy.device())
        optimizer = self.contract.build_optimizer(self.model, values)
        self.parameters_bytes = sum(p.numel() * p.element_size() for p in self.model.parameters() if p.requires_grad)
        self.feed = Feed(self._made, self._foreseen)
        self._join(optimizer)
        step, metrics = self._steps()
        self._hand_in(step, metrics)
        self.feed.close()
        self.strategy.close()

    def _load(self) -> tuple[Split, Contract]:
        spec = self.pod.spec
        if spec.dataset is None:
            raise BadInputError("The job has no dataset.", field="dataset", remedy="Name one, or train with a script.")
        data = open_split(
            spec.dataset.format,
            self.pod.input(spec.dataset.files[0]),
            spec.dataset.schema,
            evaluation_fraction=self.spec.evaluation_fraction,
            cache=NodeCache(self.pod.cache),
            sha256=next(item.sha256 for item in spec.inputs if item.name == spec.dataset.files[0]),
        )
        package = None if spec.model.package is None else self.pod.input(spec.model.package)
        return data, load_contract(spec.model, package, code=self.pod.code, facts=data.facts)

    def _join(self, optimizer: torch.optim.Optimizer) -> None:
        """Joins the gang from the newest whole checkpoint, or the weights to start from."""
        found = checkpoints.latest(self.pod.checkpoints, before_attempt=self.pod.spec.attempt_number)
        if found is not None:
            self.model.load_state_dict(found.weights())
        elif self.pod.spec.model.weights is not None:
            self.model.load_state_dict(first_member(load_file(self.pod.input(self.pod.spec.model.weights))))
        self.course = Course(
            steps=self.schedule.steps_total,
            steps_per_epoch=self.schedule.steps_per_epoch,
            start=0 if found is None else found.step,
            rates=self.settings.rates(self.schedule.steps_total),
            clip_norm=self.settings.clip_norm,
            pulse=self.pulse,
            scales_loss=self.settings.precision == "float16",
        )
        self.wrapped = self.strategy.prepare(self.model, optimizer, resume=found, course=self.course)
        self.wrapped.train()
        self.reporter.phase("gang_ready")
        if found is None:
            return
        if self.strategy.is_lockstep:
            # every worker must have found the same one: a disk that lags would make the gang diverge
            steps = self.strategy.total([float(found.step)])
            if steps[0] != found.step * self.n_workers:
                raise BadInputError(
                    "Workers found different checkpoints.", field="checkpoint", remedy="Start the job anew."
                )
        self.reporter.phase("resumed", step=found.step)

    def _steps(self) -> tuple[int, dict[str, float]]:
        """All steps that are left: how many are done, and the last evaluation. Raises PreemptedError."""
        interval, loss, self._saved_at = Interval(), 0.0, time.perf_counter()
        done, metrics = self.course.start, dict[str, float]()
        self._told_step = done
        self._announce(done)
        if done >= self.course.steps:
            return done, self._evaluate(Meeting(done, Wishes(), self.rank, self.n_workers))
        while True:
            began = time.perf_counter()
            order = self.strategy.next(self._wishes(began))
            self.pulse.beat("input", step=order.step)
            if isinstance(order, Meeting):
                interval = self._tell(interval, order.step, loss)
                metrics = self._meet(order) or metrics
                ending = self.goal.reason_to_stop(metrics) if order.step % self.course.steps_per_epoch == 0 else None
                if ending is not None and order.step < self.course.steps and self.rank == 0:
                    print(f"ends early, after step {order.step}: {ending}", flush=True)
                if ending is not None or order.step == self.course.steps:
                    return order.step, metrics
                interval.began = time.perf_counter()
                continue
            own, share = self._share(order)
            torch.manual_seed(self._seed(order))  # dropout survives a resume
            lesson = self._lesson(order, own, share)
            result = self.strategy.step(lesson, n=min(self.settings.accumulation_steps, len(own)))
            now, done = time.perf_counter(), order.step + 1
            interval.add(input_s=lesson.input_s, busy_s=now - began, result=result)
            if result.noise is not None:
                self.watched.noise.add(result.noise)
            if result.loss is not None:
                loss = self._finite(result.loss, done)
            if now - interval.began > PROGRESS_EVERY_S:
                interval = self._tell(interval, done, loss)
            self.checkpointer.raise_error()

    def _tell(self, interval: Interval, step: int, loss: float) -> Interval:
        """Reports how far the gang is, when it got further; returns the next interval.

        Where workers take steps at their own pace, others may have made all of them.
        """
        if step == self._told_step:
            return interval
        self._told_step = step
        if self.rank == 0:
            found = interval.report(
                self.pod.spec, self.course, step=step, parameters_bytes=self.parameters_bytes, watched=self.watched
            )
            self.reporter.send(found)
        if interval.n_steps:
            self._report(step, {"train/loss": loss})
        return Interval()

    def _wishes(self, now: float) -> Wishes:
        is_due = now - self._saved_at > self.spec.checkpoint_every_s and self.checkpointer.is_idle
        return Wishes(self.is_asked_to_stop, is_due and self.rank == 0)

    def _meet(self, meeting: Meeting) -> dict[str, float]:
        """What the gang agreed to do here; returns the metrics when it evaluated. Raises PreemptedError."""
        is_end = meeting.step == self.course.steps
        if meeting.agreed.stop and not is_end:
            self.reporter.phase("saving", step=meeting.step)
            self.strategy.average_buffers(self.model)
            self.checkpointer.save(self.model, self.strategy, step=meeting.step, waits=True)
            self.strategy.total([0.0])  # nobody leaves before it is written
            self.strategy.close()
            raise PreemptedError(f"Asked to leave after step {meeting.step}.")
        if meeting.agreed.checkpoint:
            self.strategy.average_buffers(self.model)
            self.checkpointer.save(self.model, self.strategy, step=meeting.step, waits=False)
            self._saved_at = time.perf_counter()
        if is_end or meeting.step % self.course.steps_per_epoch == 0:
            return self._evaluate(meeting)
        return {}

    def _share(self, order: Batch) -> tuple[Indices, float]:
        """Positions of the examples to learn from, and their part of the step's batch."""
        whole = self.schedule.batch(order.step)
        own = self.schedule.share(order.step, rank=order.part, n_workers=order.parts)
        # without examples a worker takes part in the step, and weighs nothing
        return (own, len(own) / len(whole)) if len(own) else (whole[:1], 0.0)

    def _lesson(self, order: Batch, own: Indices, share: float) -> MicroBatches:
        device, ready = self.strategy.device(), Micros()

        def read(_: Indices) -> tuple[Any, Tensor]:
            if not ready:
                ready.extend(self.feed.take(order))
            inputs, targets = ready.pop(0)
            inputs = self.contract.preprocess(inputs.to(device, non_blocking=True))
            found = inputs, targets.to(device, non_blocking=True)
            self.pulse.beat("compute")
            return found

        return MicroBatches(
            self._micro(own),
            share,
            read=read,
            forward=self.wrapped,
            loss=self.contract.loss,
            autocast=AUTOCAST[self.settings.precision],
            device=device.type,
        )

    def _micro(self, own: Indices) -> list[Indices]:
        return np.array_split(own, min(self.settings.accumulation_steps, len(own)))

    def _made(self, order: Batch) -> Micros:
        """An order's micro-batches, on their way to the device. In another thread: with no randomness but its own."""
        own, _ = self._share(order)
        generator = torch.Generator().manual_seed(self._seed(order))
        found = []
        for positions in self._micro(own):
            inputs, targets = self.data.batch(self.data.train[positions])
            inputs = augmentation.augmented(inputs, self.settings.augment, generator)
            if self.strategy.device().type == "cuda":
                inputs, targets = inputs.pin_memory(), targets.pin_memory()
            found.append((inputs, targets))
        return found

    def _foreseen(self, order: Batch) -> Batch | None:
        """In lockstep everybody knows the next step; at their own pace workers take what is left."""
        is_known = self.strategy.is_lockstep or (self.n_workers == 1 and order.parts == 1)
        return replace(order, step=order.step + 1) if is_known and order.step + 1 < self.course.steps else None

    def _seed(self, order: Batch) -> int:
        return (self.spec.seed + self.strategy.member) * 1_000_003 + order.step * 1_009 + order.part

    def _finite(self, loss: float, step: int) -> float:
        if not math.isfinite(loss):
            raise NotANumberError(f"The loss is {loss} after step {step}.")
        return loss

    def _report(self, step: int, values: dict[str, float]) -> None:
        self.reporter.metrics(step=step, epoch=step / self.course.steps_per_epoch, values=values)

    def _evaluate(self, meeting: Meeting) -> dict[str, float]:
        metrics = evaluate(
            self.model, self.contract, self.data, self.strategy,
            rank=meeting.rank, n_workers=meeting.n_members, pulse=self.pulse,
        )  # fmt: skip
        self._report(meeting.step, metrics)
        if self.rank == 0:
            told = ", ".join(f"{name} {value:.4g}" for name, value in sorted(metrics.items()))
            epoch = meeting.step / self.course.steps_per_epoch
            print(f"epoch {epoch:g} of {self.spec.epochs}, step {meeting.step}: {told}", flush=True)
        return metrics

    def _announce(self, start: int) -> None:
        self.reporter.phase("training", step=start)
        if self.rank == 0:
            spec = self.pod.spec
            print(
                f"training {self.parameters_bytes // 4:,} parameters from step {start} to {self.course.steps}: "
                f"{spec.training.strategy.get('name', spec.mode)}, {spec.n_workers} workers, {spec.n_servers} servers, "
                f"{len(self.data.train):,} examples to learn from, {len(self.data.held_out):,} held out",
                flush=True,
            )

    def _hand_in(self, step: int, metrics: dict[str, float]) -> None:
        """Rank 0 leaves weights and metadata for the launcher to upload, and reports the result."""
        self.checkpointer.finish()
        if not self.pod.is_reporter:
            return
        self.pod.artifacts.mkdir(exist_ok=True)
        write_weights(self.pod.artifacts / "weights.safetensors", self.model, self.strategy.further_weights())
        metadata = {
            "hyperparameters": self.spec.hyperparameters,
            "strategy": self.spec.strategy,
            "facts": dict(self.data.facts),
            "epochs": self.spec.epochs,
            "batch_size": self.spec.batch_size,
            "seed": self.spec.seed,
            "steps": step,
            "mode": str(self.pod.spec.mode),
            "n_workers": self.n_workers,
            "n_servers": self.pod.spec.n_servers,
            "torch": torch.__version__,
        }
        (self.pod.artifacts / "metadata.json").write_text(json.dumps(metadata, indent=1))
        script.hand_in(self.pod, self.reporter, step=step, metrics=metrics)
        self.reporter.phase("done")


def write_weights(path: Path, model: nn.Module, further: Mapping[str, Tensor]) -> None:
    """The model's state under the names that load_state_dict knows; further: members of an ensemble, beside it."""
    state = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    checkpoints.write_tensors(path, {**state, **further})


def first_member(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: value for name, value in state.items() if not name.startswith("member-")}
