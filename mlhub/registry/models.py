# SPDX-License-Identifier: Apache-2.0
"""Models: packages of code, and the weights that training makes of them."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.datasets.models import DatasetVersion, VersionState
from mlhub.environments.models import PythonEnvironment
from mlhub.registry.querysets import ModelAliasQuerySet, ModelFileQuerySet, ModelQuerySet, ModelVersionQuerySet
from mlhub.storage.models import Blob
from mlhub.tenants.models import Project, User


class Kind(models.TextChoices):
    """How the code is written: the contract of the runtime, a script for torchrun, or one that MLHub ships; or the
    folder of a model that MLflow's client logged, which its client loads and MLHub does not run."""

    PACKAGE = "package"
    SCRIPT = "script"
    BUILTIN = "builtin"
    MLFLOW = "mlflow"


class Model(models.Model):
    """A line of versions. Built-in models have no project and are visible to all users."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, blank=True, related_name="models", db_index=False
    )
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    labels = models.JSONField(default=dict, db_default={})  # {key: value} that MLflow's clients write: its tags
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ModelQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="model_name_in_project", nulls_distinct=False)
        ]

    def __str__(self) -> str:
        return self.name


def name_of_trained(name: str) -> str:
    """Of the model that holds what a project has trained of a built-in model, or of one of others."""
    return f"{name} (trained)"[:100]


class ModelVersion(models.Model):
    """Code (source=upload), trained weights (source=training, with the code version they came from and the job), or
    the files of a model that MLflow's client registered (source=logged).

    package: the zip of the code, none for built-ins. weights: safetensors, only of trained versions. metadata of
    registered ones: {"mlflow": {source, run_id, model_id}}, where they come from.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    model = models.ForeignKey(Model, on_delete=models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    source = models.CharField(
        max_length=10, choices=[("upload", "upload"), ("training", "training"), ("logged", "logged")]
    )
    kind = models.CharField(max_length=10, choices=Kind)
    entry = models.CharField(max_length=200)  # module of a package, path of a script, name of a built-in
    state = models.CharField(max_length=16, choices=VersionState, default=VersionState.INSPECTING)
    package = models.ForeignKey(Blob, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    weights = models.ForeignKey(Blob, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    environment = models.ForeignKey(
        PythonEnvironment, on_delete=models.PROTECT, null=True, blank=True, related_name="versions"
    )  # of code that requires packages; none otherwise
    # of code that brings a container image of its workers; empty: the platform's
    image = models.CharField(max_length=512, blank=True, default="", db_default="")
    size_bytes = models.PositiveBigIntegerField(default=0)
    contract = models.JSONField(default=dict)  # what validation found: functions, files
    metadata = models.JSONField(default=dict)  # of trained versions: hyperparameters, classes, steps ...
    metrics = models.JSONField(default=dict)  # of trained versions: final metrics on held-out examples
    n_inspections = models.PositiveSmallIntegerField(default=0)  # that were begun
    error = models.JSONField(null=True, blank=True)
    tags = models.JSONField(default=list, db_default=[])  # what people write on it; annotations.py
    labels = models.JSONField(default=dict, db_default={})  # as of a model
    notes = models.TextField(blank=True, default="", db_default="")  # Markdown
    code_version = models.ForeignKey("self", on_delete=models.PROTECT, null=True, blank=True, related_name="trained")
    dataset_version = models.ForeignKey(
        DatasetVersion, on_delete=models.SET_NULL, null=True, blank=True, related_name="trained"
    )
    # of the dataset version, when that is deleted: {dataset, number, format, schema}; trained_on.py
    trained_on = models.JSONField(default=dict, db_default={})
    job_id = models.UUIDField(null=True, blank=True, unique=True)  # not a foreign key: jobs know the registry
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ModelVersionQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "number"], name="model_version_number")]


class ModelFile(models.Model):
    """A file of a version whose source is "logged"; its bytes are held for the version."""

    id = models.BigAutoField(primary_key=True)
    version = models.ForeignKey(ModelVersion, on_delete=models.CASCADE, related_name="files", db_index=False)
    path = models.CharField(max_length=500)
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")

    objects = ModelFileQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "path"], name="file_of_version")]


class ModelAlias(models.Model):
    """A name of one version of a model, such as best or production; it can be moved to another version."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    model = models.ForeignKey(Model, on_delete=models.CASCADE, related_name="aliases", db_index=False)
    name = models.CharField(max_length=50)
    version = models.ForeignKey(ModelVersion, on_delete=models.CASCADE, related_name="aliases")
    set_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    set_at = models.DateTimeField(auto_now=True)

    objects = ModelAliasQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["model", "name"], name="alias_name_in_model")]
