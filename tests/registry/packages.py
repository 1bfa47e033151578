# SPDX-License-Identifier: Apache-2.0
"""Model code as people upload it, and models that are there already."""

from __future__ import annotations

import io
from typing import Any
from uuid import uuid4

from mlhub.datasets.models import Dataset, DatasetVersion
from mlhub.registry.actions import register_trained
from mlhub.registry.models import Model, ModelVersion
from mlhub.storage.models import Blob
from mlhub.storage.stores import blob_store
from mlhub.tenants.models import Project, User
from tests.datasets.files import form, zipped

CODE = b'"""One layer."""\nimport torch\ndef build_model(h): return torch.nn.Linear(1, 1)\n'
PACKAGE = zipped({"model.py": CODE})
WEIGHTS = bytes(range(256)) * 4


def upload(client, project: Project, name="m", filename="m.zip", content=PACKAGE, **fields: Any):
    body = form(filename, content, name=name, project=project.id, **fields)
    return client.post("/api/v1/models", body, format="multipart")


def a_dataset(project: Project, user: User) -> DatasetVersion:
    dataset = Dataset.objects.create(project=project, name=f"d-{uuid4()}", created_by=user)
    return DatasetVersion.objects.create(
        dataset=dataset, number=1, state="ready", format="csv", manifest_sha256="0" * 64, size_bytes=1, created_by=user
    )


def trained(code: ModelVersion, dataset: DatasetVersion, user: User, **given: Any) -> ModelVersion:
    """The result of a job, as control registers it."""
    stored = blob_store().write(io.BytesIO(WEIGHTS), limit_bytes=10**6)
    blob, _ = Blob.objects.get_or_create(sha256=stored.sha256, defaults={"size_bytes": stored.size_bytes})
    details = {"metadata": {"classes": ["cat", "dog"], "steps": 7}, "metrics": {"accuracy": 0.75}, **given}
    return register_trained(
        details.pop("job_id", uuid4()),
        code_version=code,
        dataset_version=dataset,
        weights_blob=blob,
        created_by=user,
        **details,
    )


def code_of(model: Model) -> ModelVersion:
    version: ModelVersion = model.versions.get(source="upload")
    return version
