"""For scripts that train by themselves, torchrun style: report, leave when asked, hand in the result.

Outside a pod every function works too, and reports go nowhere, so that a script can be tried on a laptop.
Standard library only.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter
from mlhub.wire import environment as names
from mlhub.wire.report import ProgressReport, ResultReport

_stop_asked = False


@functools.cache
def _pod() -> Pod | None:
    return Pod.from_environment() if names.SPEC_PATH in os.environ else None


@functools.cache
def _reporter() -> Reporter:
    pod = _pod()
    return Reporter(pod.reports if pod is not None and pod.is_reporter else None)


def hyperparameters() -> dict[str, Any]:
    """What the job was submitted with, and epochs, batch_size and seed. Empty outside a pod."""
    pod = _pod()
    if pod is None:
        return {}
    training = pod.spec.training
    return {
        **training.hyperparameters,
        "epochs": training.epochs,
        "batch_size": training.batch_size,
        "seed": training.seed,
    }


def dataset_path() -> Path | None:
    """The job's dataset as one file in its own format; None when there is none."""
    pod = _pod()
    if pod is None or pod.spec.dataset is None:
        return None
    return pod.input(pod.spec.dataset.files[0])


def checkpoint_folder() -> Path | None:
    """A folder that outlives this attempt; write whole files (write aside, then rename). None outside a pod."""
    pod = _pod()
    if pod is None:
        return None
    folder = pod.checkpoints / "script"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def report(step: int, *, total_steps: int = 0, epoch: float = 0.0, step_s: float = 0.0, **metrics: float) -> None:
    """Metrics at a step, by name ("loss" becomes train/loss; a name with a slash stays). Only rank 0 is heard."""
    pod = _pod()
    named = {key if "/" in key else f"train/{key}": value for key, value in metrics.items()}
    _reporter().metrics(step=step, epoch=epoch, values=named)
    if pod is not None and total_steps:
        _reporter().send(
            ProgressReport(
                at=time.time(),
                steps_done=step,
                steps_total=total_steps,
                epoch=epoch,
                n_workers=pod.spec.n_workers,
                n_servers=pod.spec.n_servers,
                batch_size=pod.spec.training.batch_size,
                step_s=step_s,
                compute_s=step_s,
                sync_s=0.0,
                input_s=0.0,
            )
        )


def watch_for_preemption() -> None:
    """From now on SIGTERM only sets should_preempt(); called by the trainer before the script."""
    signal.signal(signal.SIGTERM, _on_sigterm)


def should_preempt() -> bool:
    """Whether the platform asks to leave: save into checkpoint_folder() and exit with status 75."""
    return _stop_asked


def finish(*, step: int, metrics: dict[str, float], weights: Path | str) -> None:
    """Hands in the trained weights (a safetensors file) and the final metrics on held-out examples; rank 0 only."""
    pod = _pod()
    if pod is None or not pod.is_reporter:
        return
    pod.artifacts.mkdir(exist_ok=True)
    shutil.copyfile(weights, pod.artifacts / "weights.safetensors")
    (pod.artifacts / "metadata.json").write_text(json.dumps({"hyperparameters": hyperparameters(), "steps": step}))
    hand_in(pod, _reporter(), step=step, metrics=metrics)


def hand_in(pod: Pod, reporter: Reporter, *, step: int, metrics: dict[str, float]) -> None:
    """Lists the files of the artifacts folder with their hashes, for the launcher, and reports the result."""
    listed = {path.name: _sha256(path) for path in sorted(pod.artifacts.iterdir()) if path.name != "artifacts.json"}
    (pod.artifacts / "artifacts.json").write_text(json.dumps(listed))
    reporter.send(ResultReport(at=time.time(), steps=step, metrics=metrics, artifacts=listed))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _on_sigterm(*_: object) -> None:
    global _stop_asked
    _stop_asked = True
