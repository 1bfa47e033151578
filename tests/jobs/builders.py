# SPDX-License-Identifier: Apache-2.0
"""Ready-made datasets, models and jobs for tests, without uploads and trials."""

from __future__ import annotations

from typing import Any

from mlhub.datasets.models import Dataset, DatasetVersion
from mlhub.jobs.models import Attempt, Job
from mlhub.registry.builtin_models import ensure_builtins
from mlhub.registry.models import ModelVersion
from mlhub.tenants.models import Project, User

PROFILE = {
    "parameters_bytes": 400_000,
    "example_s": 0.001,
    "step_overhead_s": 0.002,
    "steps_total": 1000,
    "memory_bytes": 2**28,
    "servers_possible": True,
}
N_STEPS_LONG = 20_000  # training that lasts for many times its start, on several workers as well
LONG = {"profile": PROFILE | {"steps_total": N_STEPS_LONG}, "steps_total": N_STEPS_LONG}
SCHEMA = {
    "dtype": "float32",
    "task": "classification",
    "n_examples": 100,
    "n_classes": 3,
    "input_shape": [6],
    "classes": [0, 1, 2],
}


def ready_dataset(project: Project, user: User, *, name: str = "blobs") -> DatasetVersion:
    dataset, _ = Dataset.objects.get_or_create(project=project, name=name, defaults={"created_by": user})
    found = dataset.versions.first()
    if found is not None:
        return found
    return DatasetVersion.objects.create(
        dataset=dataset,
        number=1,
        state="ready",
        format="npz",
        files=[{"name": "blobs.npz", "sha256": "0" * 64, "size_bytes": 10}],
        manifest_sha256="1" * 64,
        size_bytes=10,
        schema=SCHEMA,
        created_by=user,
    )


def builtin(name: str = "mlp") -> ModelVersion:
    registered = ModelVersion.objects.filter(model__name=name, model__project=None, number=1)
    found = registered.first()
    if found is not None:
        return found
    ensure_builtins()
    return registered.get()


def job(project: Project, user: User, *, name: str = "job", is_tried: bool = True, **fields: Any) -> Job:
    """A job in the queue; is_tried: preflight has passed."""
    tried = {"preflight": "passed", "profile": PROFILE, "steps_total": PROFILE["steps_total"]} if is_tried else {}
    wanted = {"epochs": 2, "batch_size": 32} | tried | fields
    return Job.objects.create(
        project=project,
        name=name,
        created_by=user,
        dataset_version=ready_dataset(project, user),
        model_version=builtin(),
        **wanted,
    )


def live_attempt(job: Job) -> Attempt:
    found: Attempt = Attempt.objects.live().get(job=job)
    return found
