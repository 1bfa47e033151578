# SPDX-License-Identifier: Apache-2.0
"""Datasets and their immutable versions."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.datasets.querysets import DatasetQuerySet, DatasetVersionQuerySet
from mlhub.tenants.models import Project, User
from mlhub.wire.formats import FORMATS


class VersionState(models.TextChoices):
    """Of a version: being fetched from its source, being inspected, usable, or refused with the reason in `error`.

    NEEDS_COLUMNS: a sound table of which nothing can be learned by the present choice of columns; `error` says why, and
    another choice sends the same file to inspection again.
    """

    FETCHING = "fetching"
    INSPECTING = "inspecting"
    NEEDS_COLUMNS = "needs_columns"
    READY = "ready"
    REFUSED = "refused"


def format_choices() -> list[tuple[str, str]]:
    """A function, so that a new format needs no migration."""
    return [(name, form.title) for name, form in FORMATS.items()]


class Dataset(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="datasets", db_index=False)
    name = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = DatasetQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="dataset_name_in_project")]

    def __str__(self) -> str:
        return self.name


class DatasetVersion(models.Model):
    """What a job trains on. Never changes once READY; files: [{name, sha256, size_bytes}], none while FETCHING.

    source: of a version by reference, what was asked for and what was found (references.py); null for an upload.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=VersionState, default=VersionState.INSPECTING)
    format = models.CharField(max_length=16, choices=format_choices)
    options = models.JSONField(default=dict)  # e.g. {"target": "species", "ignore": ["id"]}
    files = models.JSONField(default=list)
    source = models.JSONField(null=True, blank=True)
    manifest_sha256 = models.CharField(max_length=64)  # "" while FETCHING
    size_bytes = models.PositiveBigIntegerField()
    schema = models.JSONField(default=dict)  # counts, classes, shapes: what the readers found
    preview = models.JSONField(default=dict)
    statistics = models.JSONField(default=dict, db_default={})  # distributions, for people
    error = models.JSONField(null=True, blank=True)  # {field, message, remedy}
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    n_inspections = models.PositiveSmallIntegerField(default=0)  # that were begun
    created_at = models.DateTimeField(auto_now_add=True)
    inspected_at = models.DateTimeField(null=True, blank=True)

    objects = DatasetVersionQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dataset", "number"], name="dataset_version_number")]
