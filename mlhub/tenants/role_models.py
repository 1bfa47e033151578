# SPDX-License-Identifier: Apache-2.0
"""Roles in teams and projects, besides those in organisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models

from mlhub.core.ids import new_id
from mlhub.tenants.querysets import RoleBindingQuerySet
from mlhub.tenants.roles import BINDABLE

if TYPE_CHECKING:
    from mlhub.tenants.models import Project, Team


ROLES = [(role.value, role.value) for role in BINDABLE]


class RoleBinding(models.Model):
    """A further role of a member, in a team of the organisation or in a project: the greatest of all counts there.

    It goes with the membership.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    membership = models.ForeignKey(
        "tenants.Membership", on_delete=models.CASCADE, related_name="role_bindings", db_index=False
    )
    team = models.ForeignKey("Team", on_delete=models.CASCADE, null=True, blank=True, related_name="role_bindings")
    project = models.ForeignKey(
        "Project", on_delete=models.CASCADE, null=True, blank=True, related_name="role_bindings"
    )
    role = models.CharField(max_length=10, choices=ROLES)
    created_by = models.ForeignKey("tenants.User", on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = RoleBindingQuerySet.as_manager()

    class Meta:
        verbose_name = "role"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(team=None, project__isnull=False) | models.Q(team__isnull=False, project=None),
                name="role_binding_of_one_place",
            ),
            models.UniqueConstraint(
                fields=["membership", "team", "project"], nulls_distinct=False, name="one_role_binding_in_a_place"
            ),
        ]

    @property
    def place(self) -> Team | Project:
        return self.project or self.team  # type: ignore[return-value]  # by role_binding_of_one_place
