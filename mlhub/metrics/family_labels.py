# SPDX-License-Identifier: Apache-2.0
"""What people call a family of jobs: its model and dataset, where they may see a job of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mlhub.jobs.models import Job
from mlhub.metrics.models import SpeedSample


def family_labels(families: Collection[str], *, user: Any) -> dict[str, str]:
    """Returns the label of each family of which the user may see a job; others are absent."""
    if not families:
        return {}
    samples = SpeedSample.objects.filter(family__in=families, attempt__job__in=Job.objects.visible_to(user))
    rows = samples.order_by("family", "-id").distinct("family")
    names = rows.values_list(
        "family", "attempt__job__model_version__model__name", "attempt__job__dataset_version__dataset__name"
    )
    return {family: model if dataset is None else f"{model} on {dataset}" for family, model, dataset in names}
