# SPDX-License-Identifier: Apache-2.0
"""The tokens with which programs speak as a user, or as a service account."""

from __future__ import annotations

from django.db import models
from django.utils import timezone

from mlhub.core.ids import new_id
from mlhub.tenants.querysets import TokenQuerySet


class ApiToken(models.Model):
    """A bearer token; only its SHA-256 is stored. scopes: "read", "submit", "write", "admin".

    organisation, project: the only ones that it reaches (None: all of its user's); a project implies its organisation.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.ForeignKey("tenants.User", on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=12)
    token_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    organisation = models.ForeignKey("tenants.Organisation", on_delete=models.CASCADE, null=True, related_name="+")
    project = models.ForeignKey("tenants.Project", on_delete=models.CASCADE, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = TokenQuerySet.as_manager()

    @property
    def is_usable(self) -> bool:
        """Neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())
