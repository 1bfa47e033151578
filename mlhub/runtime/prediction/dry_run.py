# SPDX-License-Identifier: Apache-2.0
"""Runs a prediction job on a few examples: misfits are found before it holds a GPU, and its speed is estimated."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mlhub.runtime.model.user_code import tried
from mlhub.runtime.prediction.prediction_job import PredictionJob, open_prediction_job
from mlhub.wire.launch import PodSpec

SMALL, LARGE = 4, 64  # examples
N_REPEATS = 3


def dry_run_prediction(spec: PodSpec, inputs: Mapping[str, Path], *, code: Path) -> dict[str, Any]:
    """Returns the job's profile, in the format of training's; its workers exchange no bytes.

    Raises BadInputError and whatever the model's code raises.
    """
    torch.set_num_threads(1)
    work = open_prediction_job(spec, inputs.__getitem__, code=code)
    small, large = min(SMALL, len(work.rows)), min(LARGE, len(work.rows))
    with tried("model", "It answered when it was trained: what does it depend on?"):
        small_s, large_s = _seconds(work, small), _seconds(work, large)
    example_s = max(1e-9, (large_s - small_s) / (large - small)) if large > small else max(1e-9, small_s / small)
    return {
        "n_parameters": sum(p.numel() for p in work.answers.model.parameters()),
        "parameters_bytes": 0,
        "example_s": example_s,
        "step_overhead_s": max(0.0, small_s - small * example_s),
        "n_examples": len(work.rows),
        "steps_per_epoch": work.n_parts,
        "steps_total": work.n_parts,
        "memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "servers_possible": False,
    }


def _seconds(work: PredictionJob, n: int) -> float:
    """Processor seconds for the first n examples: the fastest of several runs, whatever else the processors do."""
    times = []
    for _ in range(N_REPEATS + 1):
        began = time.perf_counter(), time.process_time()
        rows = work.rows[:n].astype(np.int64)
        if work.asked.kind == "evaluate":
            work.answers.sums(rows)
        elif work.asked.features:
            work.answers.features(rows, work.asked.features)
        else:
            work.answers.predictions(rows)
        times.append(min(time.perf_counter() - began[0], time.process_time() - began[1]))
    return min(times[1:])
