"""The training loop of a worker, read from top to bottom."""

from __future__ import annotations

import json
import math
import resource
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from mlhub.runtime import checkpoints, script
from mlhub.runtime.contract import Contract, load_contract, settings_of
from mlhub.runtime.errors import BadInputError, NotANumberError, PreemptedError
from mlhub.runtime.evaluation import evaluate
from mlhub.runtime.pod import Pod
from mlhub.runtime.readers import Split, open_split
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.sampling import Schedule
from mlhub.runtime.strategies import STRATEGIES
from mlhub.runtime.strategies.protocol import StepResult, Strategy, Wishes
from mlhub.wire.report import CheckpointReport, ProgressReport

PROGRESS_EVERY_S = 1.0


@dataclass
class Interval:
    """Sums since the last progress report; seconds."""

    began: float = field(default_factory=time.perf_counter)
    n_steps: int = 0
    input_s: float = 0.0
    sync_s: float = 0.0
    busy_s: float = 0.0

    def report(self, trainer: Trainer, *, step: int, last: StepResult) -> ProgressReport:
        step_s, sync_s, input_s = (v / self.n_steps for v in (self.busy_s, self.sync_s, self.input_s))
        spec = trainer.pod.spec
        return ProgressReport(
            at=time.time(),
            steps_done=step,
            steps_total=trainer.schedule.steps_total,
            epoch=step / trainer.schedule.steps_per_epoch,
            n_workers=spec.n_workers,
            n_servers=spec.n_servers,
            batch_size=spec.training.batch_size,
            step_s=step_s,
            compute_s=max(0.0, step_s - sync_s - input_s),
            sync_s=sync_s,
            input_s=input_s,
            bytes_sent=last.bytes_sent,
            bytes_received=last.bytes_received,
            parameters_bytes=trainer.parameters_bytes,
            peak_memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        )


class Trainer:
    """One worker. is_asked_to_stop is set by SIGTERM; the gang then agrees on the step to stop after."""

    def __init__(self, pod: Pod, reporter: Reporter) -> None:
        self.pod, self.reporter = pod, reporter
        self.spec = pod.spec.training
        self.rank, self.n_workers = pod.spec.index, pod.spec.n_workers
        self.is_asked_to_stop = False
        self.strategy: Strategy = STRATEGIES[pod.spec.mode](pod)
        self._saving: threading.Thread | None = None
        self._save_error: BaseException | None = None

    def run(self) -> None:
        """Raises PreemptedError after a checkpoint, and whatever ends training badly (errors.classify)."""
        self.data, self.contract = self._load()
        self.schedule = Schedule(len(self.data.train), self.spec.batch_size, self.spec.epochs, self.spec.seed)
        torch.manual_seed(self.spec.seed)
        settings = settings_of(self.spec.hyperparameters, self.data.facts)
        self.model = self.contract.build_model(settings).to(self.strategy.device())
        optimizer = self.contract.build_optimizer(self.model, settings)
        self.parameters_bytes = sum(p.numel() * p.element_size() for p in self.model.parameters() if p.requires_grad)
        start = self._resume(optimizer)
        step = self._steps(start)
        metrics = self._evaluate(step)
        self._hand_in(step, metrics)
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
        )
        package = None if spec.model.package is None else self.pod.input(spec.model.package)
        return data, load_contract(spec.model, package, code=self.pod.code, task=data.facts.get("task", ""))

    def _resume(self, optimizer: torch.optim.Optimizer) -> int:
        """Joins the gang from the newest whole checkpoint; returns the number of steps that are done."""
        found = checkpoints.latest(self.pod.checkpoints, before_attempt=self.pod.spec.attempt_number)
        if found is not None:
            self.model.load_state_dict(found.weights())
        elif self.pod.spec.model.weights is not None:
            self.model.load_state_dict(load_file(self.pod.input(self.pod.spec.model.weights)))
        self.wrapped = self.strategy.prepare(self.model, optimizer, resume=found)
        self.wrapped.train()
        self.reporter.phase("gang_ready")
        if found is None:
            return 0
        # every worker must have found the same one: a disk that lags would make the gang diverge
        steps = self.strategy.total([float(found.step)])
        if steps[0] != found.step * self.n_workers:
            raise BadInputError(
                "Workers found different checkpoints.", field="checkpoint", remedy="Start the job anew."
            )
        self.reporter.phase("resumed", step=found.step)
        return found.step

    def _steps(self, start: int) -> int:
        """All steps that are left. Raises PreemptedError when the gang agreed to leave."""
        interval, saved_at, reported_loss = Interval(), time.perf_counter(), 0.0
        self.reporter.phase("training", step=start)
        if self.rank == 0:
            spec = self.pod.spec
            print(
                f"training {self.parameters_bytes // 4:,} parameters from step {start} to {self.schedule.steps_total}: "
                f"{spec.mode}, {spec.n_workers} workers, {spec.n_servers} servers, "
                f"{len(self.data.train):,} examples to learn from, {len(self.data.held_out):,} held out",
                flush=True,
            )
        for step in range(start, self.schedule.steps_total):
            began = time.perf_counter()
            inputs, targets, share = self._batch(step)
            input_ended = time.perf_counter()
            torch.manual_seed(self.spec.seed * 1_000_003 + step * 1_009 + self.rank)  # dropout survives a resume
            loss = self.contract.loss(self.wrapped(inputs), targets)
            wants_checkpoint = began - saved_at > self.spec.checkpoint_every_s and self._saving is None
            result = self.strategy.step(
                loss, share=share, wishes=Wishes(self.is_asked_to_stop, wants_checkpoint and self.rank == 0)
            )
            now, done = time.perf_counter(), step + 1
            interval.n_steps += 1
            interval.input_s += input_ended - began
            interval.sync_s += result.sync_s
            interval.busy_s += now - began
            if result.loss is not None:
                reported_loss = self._finite(result.loss, done)
            is_epoch = done % self.schedule.steps_per_epoch == 0
            if now - interval.began > PROGRESS_EVERY_S or is_epoch:
                self.reporter.send(interval.report(self, step=done, last=result))
                self._report_loss(done, reported_loss)
                interval = Interval()
            if result.agreed.stop and done < self.schedule.steps_total:
                self._checkpoint(done, in_background=False)
                self.strategy.close()
                raise PreemptedError(f"Asked to leave after step {done}.")
            if result.agreed.checkpoint:
                self._checkpoint(done, in_background=True)
                saved_at = time.perf_counter()
            self._raise_save_error()
            if is_epoch and done < self.schedule.steps_total:
                self._evaluate(done)
                interval.began = time.perf_counter()
        return self.schedule.steps_total

    def _batch(self, step: int) -> tuple[Any, Tensor, float]:
        """This worker's inputs and targets, and its share of the global batch."""
        n_batch = len(self.schedule.batch(step))
        own = self.schedule.share(step, rank=self.rank, n_workers=self.n_workers)
        share = len(own) / n_batch
        if not len(own):
            own = self.schedule.batch(step)[:1]  # it takes part in the step, and weighs nothing
        inputs, targets = self.data.batch(self.data.train[own])
        device = self.strategy.device()
        return self.contract.preprocess(inputs.to(device)), targets.to(device), share

    def _finite(self, loss: float, step: int) -> float:
        if not math.isfinite(loss):
            raise NotANumberError(f"The loss is {loss} after step {step}.")
        return loss

    def _report_loss(self, step: int, loss: float) -> None:
        self.reporter.metrics(step=step, epoch=step / self.schedule.steps_per_epoch, values={"train/loss": loss})

    def _evaluate(self, step: int) -> dict[str, float]:
        metrics = evaluate(
            self.model, self.contract, self.data, self.strategy, rank=self.rank, n_workers=self.n_workers
        )
        epoch = step / self.schedule.steps_per_epoch
        self.reporter.metrics(step=step, epoch=epoch, values=metrics)
        if self.rank == 0:
            told = ", ".join(f"{name} {value:.4g}" for name, value in sorted(metrics.items()))
            print(f"epoch {epoch:g} of {self.spec.epochs}, step {step}: {told}", flush=True)
        return metrics

    def _checkpoint(self, step: int, *, in_background: bool) -> None:
        """Rank 0 copies now and writes beside training; the others go on."""
        self.strategy.average_buffers(self.model)
        if self.rank != 0:
            if not in_background:
                self.strategy.total([0.0])  # nobody leaves before it is written
            return
        self._join_saving()
        began = time.perf_counter()
        folder = checkpoints.folder_for(self.pod.checkpoints, attempt=self.pod.spec.attempt_number, step=step)
        weights = {name: value.detach().cpu().clone() for name, value in self.model.state_dict().items()}
        saving = self.strategy.save_optimizer(folder)
        stall_s = time.perf_counter() - began

        def write() -> None:
            try:
                checkpoints.write_tensors(folder / checkpoints.WEIGHTS, weights)
                saving.write()
                whole = checkpoints.complete(folder, step=step, attempt=self.pod.spec.attempt_number)
                self.reporter.send(
                    CheckpointReport(
                        at=time.time(),
                        step=step,
                        name=folder.name,
                        size_bytes=whole.size_bytes,
                        write_s=time.perf_counter() - began,
                        stall_s=stall_s if in_background else time.perf_counter() - began,
                    )
                )
            except BaseException as error:
                self._save_error = error

        if in_background:
            self._saving = threading.Thread(target=write, name="checkpoint")
            self._saving.start()
            return
        self.reporter.phase("saving", step=step)
        write()
        self._raise_save_error()
        self.strategy.total([0.0])

    def _raise_save_error(self) -> None:
        if self._saving is not None and not self._saving.is_alive():
            self._join_saving()
        if self._save_error is not None:
            raise self._save_error

    def _join_saving(self) -> None:
        if self._saving is not None:
            self._saving.join()
            self._saving = None

    def _hand_in(self, step: int, metrics: dict[str, float]) -> None:
        """Rank 0 leaves weights and metadata for the launcher to upload, and reports the result."""
        self._join_saving()
        if not self.pod.is_reporter:
            return
        self.pod.artifacts.mkdir(exist_ok=True)
        write_weights(self.pod.artifacts / "weights.safetensors", self.model)
        metadata = {
            "hyperparameters": self.spec.hyperparameters,
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


def write_weights(path: Path, model: nn.Module) -> None:
    """The model's state under the names that load_state_dict knows."""
    state = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    checkpoints.write_tensors(path, state)
