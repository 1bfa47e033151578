# SPDX-License-Identifier: Apache-2.0
"""Who has a notebook open: a ticket, then a cookie; both are stored as hashes only."""

from __future__ import annotations

from django.db import models

from mlhub.core.ids import new_id
from mlhub.jobs.models import Job
from mlhub.tenants.models import ApiToken, User
from mlhub.tenants.querysets import TenantOwnedQuerySet


class NotebookAccessQuerySet(TenantOwnedQuerySet):
    organisation_path = "job__project__organisation"


class NotebookAccess(models.Model):
    """One opening of a notebook by a person. session_key: of the browser's session; token: where there was none."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="notebook_accesses")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    session_key = models.CharField(max_length=40, blank=True)
    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, null=True, related_name="+")
    ticket_hash = models.CharField(max_length=64, unique=True)
    cookie_hash = models.CharField(max_length=64, unique=True, null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = NotebookAccessQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["created_at"])]
