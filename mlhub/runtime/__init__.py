# SPDX-License-Identifier: Apache-2.0
"""What runs in a pod: the launcher, the trainer, the strategies. Knows no Django, no Celery and no scheduler.

For scripts that train by themselves (docs/guides/scripts.md) it offers a few functions, free of torch; and the modules
hvd, kv and tables.
"""

from mlhub.runtime.scripts.api import (
    checkpoint_folder,
    dataset_folder,
    dataset_path,
    examples,
    finish,
    hyperparameters,
    job,
    output_folder,
    report,
    report_validation,
    should_preempt,
)
from mlhub.runtime.scripts.script_checkpoints import checkpoint, latest_checkpoint

__all__ = [
    "checkpoint",
    "checkpoint_folder",
    "dataset_folder",
    "dataset_path",
    "examples",
    "finish",
    "hyperparameters",
    "job",
    "latest_checkpoint",
    "output_folder",
    "report",
    "report_validation",
    "should_preempt",
]
