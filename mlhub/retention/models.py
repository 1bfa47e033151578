# SPDX-License-Identifier: Apache-2.0
"""Deletions of whole organisations and projects, which outlive them."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from mlhub.core.ids import new_id
from mlhub.retention.querysets import OrganisationDeletionQuerySet, ProjectDeletionQuerySet
from mlhub.tenants.models import User


class TenantDeletion(models.Model):
    """A deletion that was asked for, and how far it is. It outlives what is deleted, so it has no foreign key to that.

    name: of what is deleted. n_total: things that there were at the beginning. counts: what was there, by kind. step:
    what is being removed. problem: why it does not go on, in words. shared_blobs: that others hold too, which stay;
    later_blobs: that an upload stored lately, which the next collections remove.
    """

    MARK: ClassVar[str]  # the kind of the holdings by which the deletion itself keeps blobs until it removes them

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    organisation_id = models.UUIDField()
    name = models.CharField(max_length=100)
    requested_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    counts = models.JSONField(default=dict)
    n_total = models.PositiveBigIntegerField()
    n_removed = models.PositiveBigIntegerField(default=0)
    step = models.CharField(max_length=30, blank=True)
    problem = models.TextField(blank=True)
    bytes_removed = models.PositiveBigIntegerField(default=0)
    shared_blobs = models.PositiveBigIntegerField(default=0)
    later_blobs = models.PositiveBigIntegerField(default=0)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    def rows_of(self, project: str = "project") -> Q:
        """The rows that go, of a table from which so many relations lead to the project."""
        raise NotImplementedError

    def projects(self) -> Q:
        """The projects that go."""
        raise NotImplementedError

    def holdings(self) -> Q:
        """The holdings that go."""
        raise NotImplementedError


class OrganisationDeletion(TenantDeletion):
    """The deletion of an organisation."""

    MARK = "organisation_deletion"

    objects = OrganisationDeletionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["organisation_id"], condition=models.Q(ended_at=None), name="one_deletion_of_organisation"
            )
        ]

    def rows_of(self, project: str = "project") -> Q:
        return Q(**{f"{project}__organisation": self.organisation_id})

    def projects(self) -> Q:
        return Q(organisation=self.organisation_id)

    def holdings(self) -> Q:
        return Q(organisation=self.organisation_id)


class ProjectDeletion(TenantDeletion):
    """The deletion of one project, by an admin of it. organisation_id: the one that it is in."""

    MARK = "project_deletion"

    project_id = models.UUIDField()

    objects = ProjectDeletionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project_id"], condition=models.Q(ended_at=None), name="one_deletion_of_project"
            )
        ]

    def rows_of(self, project: str = "project") -> Q:
        return Q(**{project: self.project_id})

    def projects(self) -> Q:
        return Q(pk=self.project_id)

    def holdings(self) -> Q:
        return Q(project=self.project_id)
