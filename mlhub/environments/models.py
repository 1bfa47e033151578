# SPDX-License-Identifier: Apache-2.0
"""PythonEnvironment: the packages that code requires, as one archive that pods unpack."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.environments.querysets import EnvironmentQuerySet
from mlhub.storage.models import Blob
from mlhub.tenants.models import Organisation, Project, User
from mlhub.tenants.querysets import ProjectOwnedQuerySet


class EnvironmentState(models.TextChoices):
    BUILDING = "building"
    READY = "ready"
    FAILED = "failed"


class PythonEnvironment(models.Model):
    """Built once for an organisation by what it is made of; versions of code that require the same share it.

    key: the SHA-256 of requirements, the platform's own packages, Python and platform (base.py). layer: a zip of what
    is installed on top of the platform's packages; none when these suffice.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.CASCADE, related_name="environments", db_index=False
    )
    key = models.CharField(max_length=64)
    state = models.CharField(max_length=10, choices=EnvironmentState, default=EnvironmentState.BUILDING)
    origin = models.CharField(max_length=300)  # the file that declares the requirements
    requirements = models.JSONField(default=list)  # one a line, as declared
    packages = models.JSONField(default=list)  # of the layer: {name, version}
    python = models.CharField(max_length=20)
    platform = models.CharField(max_length=100)
    layer = models.ForeignKey(Blob, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    size_bytes = models.PositiveBigIntegerField(default=0)  # of the layer, as stored
    log = models.TextField(blank=True)
    error = models.JSONField(null=True, blank=True)  # {code, field, message, remedy}
    n_builds = models.PositiveSmallIntegerField(default=0)  # that were begun since it was requested
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = EnvironmentQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["organisation", "key"], name="one_environment_per_key")]


class ProjectSecret(models.Model):
    """A value that pods of a project get as an environment variable; the API never shows it.

    encrypted: by a key that follows from the platform's (secrets.py).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="secrets", db_index=False)
    name = models.CharField(max_length=100)
    encrypted = models.BinaryField()
    set_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ProjectOwnedQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="secret_name_in_project")]
