# SPDX-License-Identifier: Apache-2.0
"""Trainers as processes of their own, forked from one that has torch imported already: a start costs milliseconds."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from mlhub.runtime.launcher.main import MEMORY

PRELOADED = [
    # what strategies that split a model import: once here, and not in each of their workers
    "torch._dynamo",
    "torch.distributed.fsdp",
    "torch.distributed.pipelining",
    "torch.distributed.tensor.parallel",
    "mlhub.runtime.roles.server",
    "mlhub.runtime.roles.script",
    "mlhub.runtime.roles.worker",
    "mlhub.runtime.trainer.loop",
    "mlhub.runtime.strategies.synchronous.all_reduce",
]

PAUSE_AFTER = "TESTS_PAUSE_AFTER_STEP"  # a variable: the trainer waits there until it is asked to leave
PROGRESS_EVERY_S = "TESTS_PROGRESS_EVERY_S"  # a variable: more often than by default, for who acts at a step
NOISE_SCALE = "TESTS_NOISE_SCALE"  # a variable: what the trainer measures, whatever its gradients are
DECISION = "TESTS_BATCH_DECISION"  # a variable: JSON that worker 0's launcher receives after the step `after`
PAUSED = "paused"  # the file that says that it waits

_context: ForkServerContext | None = None


def _fork_server() -> ForkServerContext:
    global _context
    if _context is None:
        for name, value in {"OMP_NUM_THREADS": "1", **MEMORY}.items():
            os.environ.setdefault(name, value)
        _context = multiprocessing.get_context("forkserver")
        _context.set_forkserver_preload(PRELOADED)
    return _context


class TrainerProcess:
    """python -m mlhub.runtime.roles, with this environment, in this folder. Looks like a subprocess.Popen."""

    def __init__(self, environment: dict[str, str], folder: Path, output: Path) -> None:
        self._process = _fork_server().Process(target=_train, args=(environment, str(folder), str(output)))
        self._process.start()
        self.pid = self._process.pid or 0

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Raises TimeoutError."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise TimeoutError(f"the process {self.pid} still runs")
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def terminate(self) -> None:
        self._process.terminate()

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)


def _train(environment: dict[str, str], folder: str, output: str) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    from mlhub.runtime.roles.__main__ import main

    if PAUSE_AFTER in environment:
        _pause_after(int(environment[PAUSE_AFTER]))
    if PROGRESS_EVERY_S in environment:
        _report_progress_every(float(environment[PROGRESS_EVERY_S]))
    if NOISE_SCALE in environment:
        _measure_noise_scale(float(environment[NOISE_SCALE]))
    if DECISION in environment:
        _receive_decision(**json.loads(environment[DECISION]))
    status = main()
    used = os.times()
    Path("processor_s").write_text(str(used.user + used.system + used.children_user + used.children_system))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _pause_after(step: int) -> None:
    """Has the trainer of this process wait after that step for SIGTERM, so that it leaves there on any machine."""
    from mlhub.runtime.strategies.toolkit import process_group
    from mlhub.runtime.trainer.training_reporter import TrainingReporter

    process_group.MAX_STEPS_BETWEEN = 5  # or none might be left for an agreement: small models make 50 steps in no time
    report_step = TrainingReporter.step
    asked: list[int] = []  # no Event: a handler that sets one while this thread enters its wait() never returns

    def report_and_pause(reporter: TrainingReporter, done: int, **measured: Any) -> None:
        report_step(reporter, done, **measured)
        if asked:
            time.sleep(0.1)  # workers agree on leaving now and then, at the latest when one of them is done
        if done < step or asked:
            return
        leave = signal.getsignal(signal.SIGTERM)
        assert callable(leave)
        signal.signal(signal.SIGTERM, lambda number, frame: (leave(number, frame), asked.append(number)))
        Path(PAUSED).touch()
        while not asked:
            time.sleep(0.01)

    TrainingReporter.step = report_and_pause  # type: ignore[method-assign]


def _report_progress_every(seconds: float) -> None:
    from mlhub.runtime.trainer import training_reporter

    training_reporter.PROGRESS_EVERY_S = seconds


def _measure_noise_scale(examples: float) -> None:
    """Estimates come at certain times, so that how many there are depends on the machine."""
    from mlhub.runtime.trainer.training_reporter import TrainingReporter

    TrainingReporter.noise_scale = property(lambda _: examples)  # type: ignore[assignment, misc]


def _receive_decision(*, after: int, **decision: Any) -> None:
    """Leaves the scheduler's decision where a launcher would, after the same step on any machine."""
    from mlhub.runtime.pod import Pod
    from mlhub.runtime.trainer.training_reporter import TrainingReporter

    report_step, file = TrainingReporter.step, Pod.from_environment().batch_decision

    def report_and_receive(reporter: TrainingReporter, done: int, **measured: Any) -> None:
        if done == after:
            file.write_text(json.dumps(decision))
        report_step(reporter, done, **measured)

    TrainingReporter.step = report_and_receive  # type: ignore[method-assign]
