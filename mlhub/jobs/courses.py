"""How long to train, and on how many examples a step, where nobody says: by the size of the dataset alone."""

from __future__ import annotations

import math
from typing import Any

from mlhub.datasets.models import DatasetVersion

LEAST_EPOCHS, MOST_EPOCHS = 10, 60
LEAST_STEPS = 200  # fewer, and not even a small model has learnt what there is
BATCH_SIZES = ((2000, 64), (300, 32), (64, 16), (0, 4))  # from so many examples on


def with_usual_course(version: DatasetVersion, request: dict[str, Any]) -> dict[str, Any]:
    """The request, with epochs and batch_size where they were left out."""
    n_examples = int((version.schema or {}).get("n_examples") or 0)
    usual = next(size for least, size in BATCH_SIZES if n_examples >= least)
    batch_size = request.get("batch_size") or max(usual, request.get("min_workers") or 1)
    n_steps = max(1, math.ceil(n_examples / batch_size))
    epochs = min(MOST_EPOCHS, max(LEAST_EPOCHS, math.ceil(LEAST_STEPS / n_steps)))
    return {**request, "batch_size": batch_size, "epochs": request.get("epochs") or epochs}
