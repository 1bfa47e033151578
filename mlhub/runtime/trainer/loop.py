# SPDX-License-Identifier: Apache-2.0
"""The training loop of a worker, from top to bottom: prepare, steps, barriers, result. batches.py gives losses."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from mlhub.runtime.errors import BadInputError, PreemptedError
from mlhub.runtime.heartbeat import Heartbeat
from mlhub.runtime.model.hyperparameters import read_settings
from mlhub.runtime.pod import Pod
from mlhub.runtime.profiling.recorder import StepRecorder
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.strategies.protocol import Barrier, ControlFlags, Strategy
from mlhub.runtime.strategies.registry import strategy_for
from mlhub.runtime.strategies.synchronous.all_reduce import AllReduce
from mlhub.runtime.trainer.batches import BatchSource
from mlhub.runtime.trainer.checkpoint_writer import CheckpointWriter
from mlhub.runtime.trainer.evaluation import evaluate
from mlhub.runtime.trainer.growing_batch import growing_batch
from mlhub.runtime.trainer.metric_monitor import MetricMonitor
from mlhub.runtime.trainer.selection import BestSelection
from mlhub.runtime.trainer.setup import TrainingSetup, set_up
from mlhub.runtime.trainer.training_reporter import TrainingReporter
from mlhub.runtime.trainer.weight_averaging import WeightAverage


class Trainer:
    """One worker. is_asked_to_stop is set by SIGTERM; the gang then agrees on the step to stop after."""

    def __init__(self, pod: Pod, reporter: Reporter) -> None:
        """Raises BadInputError for an invalid strategy or invalid hyperparameters."""
        self.pod, self.reporter = pod, reporter
        self.spec = spec = pod.spec.training
        self.rank, self.n_workers = pod.spec.index, pod.spec.n_workers
        self.is_asked_to_stop = False
        self.settings = read_settings(
            spec.hyperparameters, target_metric=spec.target_metric, target_value=spec.target_value
        )
        self.monitor = MetricMonitor(self.settings, metric=spec.target_metric, value=spec.target_value)
        self.strategy: Strategy = strategy_for(pod)
        self.checkpoints = CheckpointWriter(pod, reporter, n_kept=self.settings.keep_checkpoints)
        self.selection = BestSelection(pod, reporter, self.settings)
        self.heartbeat = Heartbeat(pod.heartbeat)

    def run(self) -> None:
        """Raises PreemptedError after a checkpoint, and whatever ends training badly (errors.classify)."""
        self._prepare(set_up(self.pod, self.settings, self.strategy, self.heartbeat))
        step, metrics = self._train()
        self.report.report_last_steps(step)
        self.profiler.close("the training ended.")
        self.checkpoints.finish()
        with self._averaged():
            self.report.publish_result(step, metrics, self.strategy, best=self.selection.best())
        self.batches.close()
        self.strategy.close()

    def _prepare(self, setup: TrainingSetup) -> None:
        """Joins the gang."""
        self.data, self.contract, self.model, self.plan = setup.data, setup.contract, setup.model, setup.plan
        self.batches = BatchSource(setup.source, self.contract, self.strategy, self.heartbeat, n_workers=self.n_workers)
        self.report = TrainingReporter(self.pod, self.reporter, self.model, self.data, self.plan)
        resume = setup.checkpoint
        self.reporter.phase("prepared")
        self.module = self.strategy.prepare(self.model, setup.optimizer, resume=resume, plan=self.plan)
        self.module.train()
        self.profiler = StepRecorder(self.pod, epoch_steps=setup.plan.steps_per_epoch, heartbeat=self.heartbeat)
        self.growing_batch = growing_batch(self.settings, self.strategy, self.report, setup.optimizer, pod=self.pod)
        self.reporter.phase("gang_ready")
        self.average: WeightAverage | None = None
        if self.settings.ema_decay is not None:
            saved = None if resume is None else resume.average()
            self.average = WeightAverage(self.model, self.settings.ema_decay, saved=saved)
        if resume is not None:
            self.monitor.restore(resume.state)
            self._apply_rate_factor()
            self._check_same_checkpoint(resume.step)
            self.reporter.phase("resumed", step=resume.step)

    def _train(self) -> tuple[int, dict[str, float]]:
        """Makes the remaining steps. Returns how many are done, and the last metrics. Raises PreemptedError."""
        metrics = self._evaluate_before_training()
        is_over = self.settings.evaluate_only or self.plan.start >= self.plan.steps
        if is_over or (metrics and self.plan.start and self._is_finished(self.plan.start, metrics)):
            return self.plan.start, metrics
        self._saved_at = time.perf_counter()
        while True:
            began = time.perf_counter()
            work = self.strategy.next(self._flags(began))
            self.heartbeat.record("input", step=work.step)
            if isinstance(work, Barrier):
                metrics = self._at_barrier(work) or metrics
                if self._is_finished(work.step, metrics):
                    return work.step, metrics
                continue
            self.profiler.before_step(work.step, began)
            losses = self.batches.losses(work, self.module)
            result = self.strategy.step(losses, n=losses.n)
            done = work.step + work.length
            if self.average is not None:
                self.average.update(done)
            self.report.step(done, input_s=losses.input_s, began=began, result=result, length=work.length)
            if self.growing_batch is not None:
                self.growing_batch.observe(time.perf_counter() - began)
            self.profiler.after_step(began=began, input_s=losses.input_s, sync_s=result.sync_s, wait_s=result.wait_s)
            self.checkpoints.raise_error()

    def _flags(self, now: float) -> ControlFlags:
        interval_s = max(self.spec.checkpoint_every_s, self.checkpoints.least_interval_s)
        is_due = now - self._saved_at > interval_s and self.checkpoints.is_idle
        return ControlFlags(self.is_asked_to_stop, is_due and self.rank == 0)

    def _at_barrier(self, barrier: Barrier) -> dict[str, float]:
        """Does what the gang agreed on; returns the metrics when it evaluated. Raises PreemptedError."""
        self.report.report_progress(barrier.step)
        is_end = barrier.step == self.plan.steps
        metrics: dict[str, float] = {}
        if barrier.agreed.stop and not is_end:
            self.profiler.close("the job was asked to leave.")
            self._save_and_leave(barrier.step)
        if barrier.agreed.checkpoint:
            self._save(barrier.step, waits=False)
            self._saved_at = time.perf_counter()
        is_epoch_end = barrier.step % self.plan.steps_per_epoch == 0
        if is_end or is_epoch_end:
            self.profiler.end_early("the epoch ended.")
            metrics = self._evaluate(barrier)
        if self.growing_batch is not None and not is_end and (is_epoch_end or barrier.agreed.checkpoint):
            self.growing_batch.at_boundary(barrier.step, is_epoch_end=is_epoch_end)
        self.report.restart_interval()
        return metrics

    def _save_and_leave(self, step: int) -> None:
        """Raises PreemptedError once a checkpoint is written."""
        self.reporter.phase("saving", step=step)
        self._save(step, waits=True)
        self.strategy.sum_over_workers([0.0])  # no worker leaves before it is written
        self.strategy.close()
        raise PreemptedError(f"Asked to leave after step {step}.")

    def _save(self, step: int, *, waits: bool) -> None:
        self.strategy.average_buffers(self.model)
        average = None if self.average is None else self.average.copy()
        self.checkpoints.save(
            self.model, self.strategy, step=step, waits=waits, state=self.monitor.state(), average=average
        )

    def _averaged(self) -> AbstractContextManager[None]:
        """Gives the model the moving average of its weights for a while, where the job has one."""
        return nullcontext() if self.average is None else self.average.applied()

    def _apply_rate_factor(self) -> None:
        """Lowers the learning rate to what plateaus have left of it."""
        if self.settings.lr_schedule == "plateau" and isinstance(self.strategy, AllReduce):
            self.strategy.scheduler.scale = self.monitor.rate_factor

    def _evaluate_before_training(self) -> dict[str, float]:
        """Evaluates where no step is left to make, and where that is asked for or the model comes trained."""
        self.report.report_start()
        start, asked = self.plan.start, self.settings.evaluate_first
        evaluates = start == 0 and (self.contract.begins_trained if asked is None else asked)
        if self.settings.evaluate_only:
            self.report.report_early_stop(start, "only an evaluation was asked for")
        # the attempt before was asked to leave after an epoch's last step, before it evaluated
        is_missed = self.monitor.is_used and start % self.plan.steps_per_epoch == 0 and start > 0
        is_missed = is_missed and self.monitor.evaluated_step != start
        if not (evaluates or is_missed or self.settings.evaluate_only or start >= self.plan.steps):
            return {}
        return self._evaluate(Barrier(start, ControlFlags(), self.rank, self.n_workers))

    def _evaluate(self, barrier: Barrier) -> dict[str, float]:
        with self._averaged():
            metrics = evaluate(
                self.model, self.contract, self.data, self.strategy,
                rank=barrier.rank, n_workers=barrier.n_members, heartbeat=self.heartbeat,
                metrics=self.settings.metrics,
            )  # fmt: skip
            self.report.report_evaluation(barrier.step, metrics)
            self.monitor.observe(barrier.step, metrics)
            self.selection.consider(self.model, self.strategy, step=barrier.step, metrics=metrics)
        self._apply_rate_factor()
        if self.settings.lr_schedule == "plateau":
            self.report.plot(barrier.step, {"train/learning_rate_factor": self.monitor.rate_factor})
        return metrics

    def _is_finished(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Whether all steps are made, or the metrics of this epoch are reason enough to stop early."""
        is_epoch_end = step % self.plan.steps_per_epoch == 0
        reason = self.monitor.reason_to_stop(metrics) if is_epoch_end else None
        if reason is not None and step < self.plan.steps:
            self.report.report_early_stop(step, reason)
        return reason is not None or step == self.plan.steps

    def _check_same_checkpoint(self, step: int) -> None:
        """Raises BadInputError when workers found different ones, as on a disk that lags: they would diverge."""
        if not self.strategy.is_lockstep:
            return
        (total,) = self.strategy.sum_over_workers([float(step)])
        if total != step * self.n_workers:
            raise BadInputError(
                "Workers found different checkpoints.", field="checkpoint", remedy="Start the job anew."
            )
