# SPDX-License-Identifier: Apache-2.0
"""The family of a job: what step times, start costs and stage profiles are learned for. This is the only definition.

A family is the version of the code, the image that brings its packages, the version of the dataset, and what changes
the shape of a step: the strategy and those hyperparameters that may change what a step computes (precision,
accumulation, sizes of layers). A learning rate changes no step, so that a sweep over learning rates learns from
itself. The batch size and the number of workers are variables of the speed model, carried by every observation, and
no part of the key.
"""

from __future__ import annotations

import hashlib
import json

from mlhub.jobs.models import Job, JobKind

# They change what is learned, never how long a step takes; the second line: what scripts usually call them.
WITHOUT_EFFECT_ON_STEPS = frozenset({
    "learning_rate", "weight_decay", "momentum", "lr_schedule", "warmup_steps", "warmup_from", "final_learning_rate",
    "lr", "wd", "betas", "eps", "gamma", "dropout", "label_smoothing", "seed",
    "patience", "stop_at_target", "evaluate_first", "evaluate_only", "l1", "max_batch_size", "learning_rate_scaling",
    "lr_decay_steps", "lr_decay", "metrics", "validation_fraction", "validation_seed", "validation_stratified",
    "validation_folds", "validation_fold", "class_weights", "sampling", "lr_patience", "weight_decay_on", "monitor",
    "monitor_mode", "keep_best", "keep_checkpoints",
})  # fmt: skip


def family_of(job: Job) -> str:
    """The family's key, 40 hexadecimal digits. Works for jobs that were never saved."""
    code = job.model_version.code_version_id or job.model_version_id
    shape = {name: value for name, value in job.hyperparameters.items() if name not in WITHOUT_EFFECT_ON_STEPS}
    parts = [str(code), str(job.dataset_version_id), job.kind, shape, job.strategy]
    if job.datasets:
        parts.append({name: further["version"] for name, further in job.datasets.items()})
    if job.image:
        parts.append({"image": job.image})
    if job.kind != JobKind.TRAIN:
        parts.append(job.prediction)
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:40]
