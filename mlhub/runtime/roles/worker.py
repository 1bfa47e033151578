# SPDX-License-Identifier: Apache-2.0
"""The role of a worker: it trains, or answers with a trained model."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Protocol

from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.runtime.roles.outcome import exit_code_of
from mlhub.runtime.usage.network import recorded
from mlhub.wire.exits import ExitCode
from mlhub.wire.imports import without_garbage_collection


class Worker(Protocol):
    """is_asked_to_stop is set by SIGTERM; the worker then saves and raises PreemptedError."""

    is_asked_to_stop: bool

    def run(self) -> None: ...


def run_worker(pod: Pod, reporter: Reporter) -> int:
    """Runs the pod's worker and returns its exit code. Only the gang's first worker reports its progress."""

    def work() -> int:
        worker = _worker_of(pod, reporter if pod.is_reporter else Reporter(None))
        signal.signal(signal.SIGTERM, lambda *_: setattr(worker, "is_asked_to_stop", True))
        with recorded(pod.traffic):
            worker.run()
        pod.completed.touch()
        return ExitCode.DONE

    return exit_code_of(work, reporter, code=pod.code)


def _worker_of(pod: Pod, reporter: Reporter) -> Worker:
    make = trainer_class() if pod.spec.prediction is None else _prediction_worker_class()
    reporter.phase("imported")
    return make(pod, reporter)


def trainer_class() -> Callable[[Pod, Reporter], Worker]:
    """Imports late, so that no process pays for what it does not do."""
    with without_garbage_collection():
        from mlhub.runtime.trainer.loop import Trainer

    return Trainer


def _prediction_worker_class() -> Callable[[Pod, Reporter], Worker]:
    with without_garbage_collection():
        from mlhub.runtime.prediction.worker import PredictionWorker

    return PredictionWorker
