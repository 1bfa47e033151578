# SPDX-License-Identifier: Apache-2.0
"""The container image of a job's workers, when it is submitted: its own, or the one that its code brings."""

from __future__ import annotations

from mlhub.environments.images import check_image
from mlhub.jobs.execution.inputs import code_of
from mlhub.registry.models import ModelVersion


def check_image_of(image: str, model_version: ModelVersion) -> None:
    """image: the job's own, "": none. Raises InvalidInputError, also where its code's is not allowed any more."""
    if image:
        check_image(image)
    else:
        check_image(code_of(model_version).image, origin="pyproject.toml")
