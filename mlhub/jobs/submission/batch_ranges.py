# SPDX-License-Identifier: Apache-2.0
"""The range of a job's batch: from its batch_size to the hyperparameter max_batch_size, where it has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlhub.core.errors import InvalidInputError
from mlhub.jobs.models import Job, JobKind, ModeChoice
from mlhub.registry.models import Kind

HYPERPARAMETER = "max_batch_size"
MOST = 2**31 - 1  # of the database's column
STRATEGIES = ("auto", "all_reduce")  # only workers that step together on one optimiser can change their batch


def batch_range_of(job: Job) -> int | None:
    """Returns the largest batch that the job's user allows; None where the batch is fixed."""
    most = _whole(job.hyperparameters.get(HYPERPARAMETER))
    if most is None or most < job.batch_size or job.kind != JobKind.TRAIN:
        return None
    is_possible = job.strategy.get("name", "auto") in STRATEGIES and job.mode != ModeChoice.PARAMETER_SERVER
    return most if is_possible and job.model_version.kind != Kind.SCRIPT else None


def check_batch_range(request: Mapping[str, Any]) -> None:
    """Raises InvalidInputError where a training's strategy keeps its batch, or its range ends below the batch."""
    given = (request.get("hyperparameters") or {}).get(HYPERPARAMETER)
    if given is None:
        return
    most = _whole(given)
    if most is None or most > MOST:
        raise InvalidInputError(
            f"The largest batch is {str(given)[:50]}.",
            field="hyperparameters.max_batch_size",
            remedy=f"Give a whole number, at most {MOST:,}.",
        )
    batch_size, mode = request["batch_size"], request.get("mode")
    strategy = (request.get("strategy") or {}).get("name", "auto")
    if most < batch_size:
        raise InvalidInputError(
            f"The largest batch {most} is below the batch size {batch_size}.",
            field="hyperparameters.max_batch_size",
            remedy=f"Give at least {batch_size}, from which the batch grows.",
        )
    if strategy not in STRATEGIES or mode == ModeChoice.PARAMETER_SERVER:
        name = f"strategy {strategy}" if strategy not in STRATEGIES else "mode parameter_server"
        raise InvalidInputError(
            f"The {name} keeps its batch; only workers that all-reduce can change it together.",
            field="batch_size.max",
            remedy="Give one number, or the mode all_reduce with the strategy all_reduce.",
        )


def _whole(value: object) -> int | None:
    """The number, also of 256.0, which reads as one where options are read."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not float(value).is_integer():
        return None
    return int(value)
