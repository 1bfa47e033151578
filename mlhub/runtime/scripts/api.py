# SPDX-License-Identifier: Apache-2.0
"""For scripts that train by themselves, torchrun style: report, leave when asked, hand in the result.

Outside a pod every function works too, and reports go nowhere, so that a script can be tried on a laptop.
Standard library only, except where a docstring says that torch is needed.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlhub.runtime.pod import Pod
from mlhub.runtime.reporting import Reporter, script_progress
from mlhub.runtime.scripts import outputs
from mlhub.runtime.scripts.lines.epochs import REPORTS_PROGRESS, announce_epochs
from mlhub.wire import environment as names

if TYPE_CHECKING:
    from mlhub.runtime.data.readers import Split

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
    """The job's dataset as one file in its own format, or the folder of its shards; None when there is none."""
    from mlhub.runtime.data.shard_folders import dataset_data

    pod = _pod()
    if pod is None or pod.spec.dataset is None:
        return None
    return dataset_data(pod.spec.dataset, pod.spec.inputs, pod.input, pod.work).path


def dataset_folder() -> Path | None:
    """The folder with the files of the job's dataset, an archive unpacked; None when there is none.

    Outside of a pod it is what MLHUB_DATA_DIR says.
    """
    folder = os.environ.get(names.DATA_DIR)
    return Path(folder) if folder else None


@dataclass(frozen=True)
class JobFacts:
    """Who this worker is. Outside of a pod: the only one of a job without a name."""

    job_id: str = ""
    attempt_number: int = 1  # of the job: 2 after its first restart
    rank: int = 0
    n_workers: int = 1
    n_servers: int = 0
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)


def job() -> JobFacts:
    pod = _pod()
    if pod is None:
        return JobFacts(rank=int(os.environ.get(names.RANK, "0")), n_workers=int(os.environ.get(names.WORLD_SIZE, "1")))
    spec = pod.spec
    return JobFacts(spec.job_id, spec.attempt_number, spec.index, spec.n_workers, spec.n_servers, hyperparameters())


def examples() -> Split | None:
    """The job's dataset as tensors, split as MLHub's own loop does: .train and .held_out index .batch(). Needs torch.

    None when there is no dataset.
    """
    from mlhub.runtime.data.node_cache import NodeCache
    from mlhub.runtime.data.readers import open_split
    from mlhub.runtime.data.shard_folders import dataset_data
    from mlhub.runtime.data.validation_options import read_validation

    pod = _pod()
    if pod is None or pod.spec.dataset is None:
        return None
    dataset, training = pod.spec.dataset, pod.spec.training
    data = dataset_data(dataset, pod.spec.inputs, pod.input, pod.work)
    return open_split(
        dataset.format,
        data.path,
        dataset.schema,
        validation=read_validation(training.hyperparameters, fraction=training.evaluation_fraction),
        cache=NodeCache(pod.cache),
        sha256=data.sha256,
    )


def checkpoint_folder() -> Path | None:
    """A folder that outlives this attempt; write whole files (write aside, then rename). None outside a pod."""
    pod = _pod()
    if pod is None:
        return None
    folder = pod.checkpoints / "script"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def output_folder() -> Path | None:
    """A folder whose files become the job's artifacts when it succeeds; all attempts share it. None outside a pod."""
    pod = _pod()
    return None if pod is None else outputs.output_folder(pod)


def report(step: int, *, total_steps: int = 0, epoch: float = 0.0, step_s: float = 0.0, **metrics: float) -> None:
    """Metrics at a step, by name ("loss" becomes train/loss; a name with a slash stays). Only rank 0 reports."""
    pod = _pod()
    named = {key if "/" in key else f"train/{key}": value for key, value in metrics.items()}
    _reporter().metrics(step=step, epoch=epoch, values=named)
    if pod is not None and total_steps:
        _announce_progress()
        _reporter().send(
            script_progress(pod.spec, steps_done=step, steps_total=total_steps, epoch=epoch, step_s=step_s)
        )


@functools.cache
def _announce_progress() -> None:
    """From now on what the script prints is not taken for its progress."""
    if (pod := _pod()) is not None:
        announce_epochs(pod.work, REPORTS_PROGRESS)


def report_validation(step: int, **metrics: float) -> None:
    """Metrics on held-out examples at a step ("accuracy" becomes eval/accuracy). Only rank 0 reports."""
    named = {key if "/" in key else f"eval/{key}": value for key, value in metrics.items()}
    _reporter().metrics(step=step, epoch=0.0, values=named)


def watch_for_preemption() -> None:
    """From now on SIGTERM only sets should_preempt(); called by the trainer before the script."""
    signal.signal(signal.SIGTERM, _on_sigterm)


def should_preempt(*, together: bool = False) -> bool:
    """Whether the platform asks to leave: save into checkpoint_folder() and exit with status 75.

    Workers are asked at different moments. together: all of them call this, and all get the same answer, by way of the
    script's own process group of torch.
    """
    if not together:
        return _stop_asked
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        return _stop_asked
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    asked = torch.tensor([float(_stop_asked)], device=device)
    dist.all_reduce(asked, dist.ReduceOp.MAX)
    return bool(asked.item())


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
    """Lists the files of the artifacts folder, and reports the result."""
    listed = list_artifacts(pod)
    reporter.result(steps=step, values=metrics, artifacts=listed)


def list_artifacts(pod: Pod) -> dict[str, str]:
    """Writes the hashes of the files of the artifacts folder by name, from which the launcher sends them."""
    listed = {path.name: _sha256(path) for path in sorted(pod.artifacts.iterdir()) if path.name != "artifacts.json"}
    (pod.artifacts / "artifacts.json").write_text(json.dumps(listed))
    return listed


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _on_sigterm(*_: object) -> None:
    global _stop_asked
    _stop_asked = True
