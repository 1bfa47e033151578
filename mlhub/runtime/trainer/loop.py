"""The training loop of a worker, read from top to bottom.

What it learns from is lessons.py's, what it tells of it chronicle.py's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

import torch
from safetensors.torch import load_file
from torch import Tensor

from mlhub.runtime.checkpoints import step_folders
from mlhub.runtime.checkpoints.step_folders import Checkpoint
from mlhub.runtime.data.node_cache import NodeCache
from mlhub.runtime.data.readers import Split, open_split
from mlhub.runtime.data.sampling import Schedule
from mlhub.runtime.errors import BadInputError, PreemptedError
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.model.contract import Contract, load_contract
from mlhub.runtime.model.hyperparameters import read_settings
from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.strategies.protocol import Barrier, ControlFlags, Strategy, TrainingPosition
from mlhub.runtime.strategies.registry import strategy_for
from mlhub.runtime.trainer.batches import BatchSource, ExampleSource
from mlhub.runtime.trainer.checkpoint_writer import Checkpointer
from mlhub.runtime.trainer.evaluation import evaluate
from mlhub.runtime.trainer.progress import Goal
from mlhub.runtime.trainer.training_reporter import TrainingReporter


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
        self.pulse = Heartbeat(pod.pulse)

    def run(self) -> None:
        """Raises PreemptedError after a checkpoint, and whatever ends training badly (errors.classify)."""
        self.data, self.contract = self._load()
        order = self.spec.seed + self.strategy.order
        schedule = Schedule(len(self.data.train), self.spec.batch_size, self.spec.epochs, order)
        seed = self.spec.seed + self.strategy.member
        source = ExampleSource(self.data, schedule, self.settings, seed)
        self.lessons = BatchSource(source, self.contract, self.strategy, self.pulse, n_workers=self.n_workers)
        torch.manual_seed(seed)
        values = self.contract.settings(self.spec.hyperparameters, self.data.facts)
        self.model = self.contract.build_model(values).to(self.strategy.device())
        self._join(self.contract.build_optimizer(self.model, values), schedule)
        step, metrics = self._steps()
        self.checkpointer.finish()
        self.chronicle.hand_in(step, metrics, self.strategy)
        self.lessons.close()
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
        return data, load_contract(
            spec.model, package, code=self.pod.code, facts=data.facts, standardise=self.settings.standardise
        )

    def _join(self, optimizer: torch.optim.Optimizer, schedule: Schedule) -> None:
        """Joins the gang from the newest whole checkpoint, or the weights to start from."""
        found = step_folders.latest(self.pod.checkpoints, before_attempt=self.pod.spec.attempt_number)
        if found is not None:
            self.model.load_state_dict(found.weights())
        elif self.pod.spec.model.weights is not None:
            self.model.load_state_dict(first_member(load_file(self.pod.input(self.pod.spec.model.weights))))
        self.course = TrainingPosition(
            steps=schedule.steps_total,
            steps_per_epoch=schedule.steps_per_epoch,
            start=0 if found is None else found.step,
            rates=self.settings.rates(schedule.steps_total),
            clip_norm=self.settings.clip_norm,
            pulse=self.pulse,
            scales_loss=self.settings.precision == "float16",
        )
        self.chronicle = TrainingReporter(self.pod, self.reporter, self.model, self.data, self.course)
        self.wrapped = self.strategy.prepare(self.model, optimizer, resume=found, course=self.course)
        self.wrapped.train()
        self.reporter.phase("gang_ready")
        if found is not None:
            self._check_alike(found)
            self.reporter.phase("resumed", step=found.step)

    def _check_alike(self, found: Checkpoint) -> None:
        """Every worker must have found the same one: a disk that lags would make the gang diverge."""
        if self.strategy.is_lockstep:
            (steps,) = self.strategy.total([float(found.step)])
            if steps != found.step * self.n_workers:
                raise BadInputError(
                    "Workers found different checkpoints.", field="checkpoint", remedy="Start the job anew."
                )

    def _steps(self) -> tuple[int, dict[str, float]]:
        """All steps that are left: how many are done, and the last evaluation. Raises PreemptedError."""
        metrics = dict[str, float]()
        self._saved_at = time.perf_counter()
        self.chronicle.begin()
        first = self.settings.evaluate_first
        if self.course.start == 0 and (self.contract.begins_trained if first is None else first):
            metrics = self._evaluate_at_start()
        if self.settings.evaluate_only:
            self.chronicle.ends_early(self.course.start, "nothing but an evaluation was asked for")
            return self.course.start, metrics or self._evaluate_at_start()
        if self.course.start >= self.course.steps:
            return self.course.start, self._evaluate_at_start()
        while True:
            began = time.perf_counter()
            order = self.strategy.next(self._wishes(began))
            self.pulse.beat("input", step=order.step)
            if isinstance(order, Barrier):
                self.chronicle.tell(order.step)
                metrics = self._meet(order) or metrics
                if self._is_end(order.step, metrics):
                    return order.step, metrics
                self.chronicle.go_on()
                continue
            lesson, n = self.lessons.begin(order, self.wrapped)
            result = self.strategy.step(lesson, n=n)
            now = time.perf_counter()
            self.chronicle.step(order.step + 1, input_s=lesson.input_s, busy_s=now - began, now=now, result=result)
            self.checkpointer.raise_error()

    def _wishes(self, now: float) -> ControlFlags:
        is_due = now - self._saved_at > self.spec.checkpoint_every_s and self.checkpointer.is_idle
        return ControlFlags(self.is_asked_to_stop, is_due and self.rank == 0)

    def _meet(self, meeting: Barrier) -> dict[str, float]:
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

    def _evaluate(self, meeting: Barrier) -> dict[str, float]:
        metrics = evaluate(
            self.model, self.contract, self.data, self.strategy,
            rank=meeting.rank, n_workers=meeting.n_members, pulse=self.pulse,
        )  # fmt: skip
        self.chronicle.evaluated(meeting.step, metrics)
        return metrics

    def _evaluate_at_start(self) -> dict[str, float]:
        return self._evaluate(Barrier(self.course.start, ControlFlags(), self.rank, self.n_workers))

    def _is_end(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Of the course, or because what was evaluated is good enough, or no longer gets better."""
        reason = self.goal.reason_to_stop(metrics) if step % self.course.steps_per_epoch == 0 else None
        if reason is not None and step < self.course.steps:
            self.chronicle.ends_early(step, reason)
        return reason is not None or step == self.course.steps


def first_member(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Of the weights that an ensemble left."""
    return {name: value for name, value in state.items() if not name.startswith("member-")}
