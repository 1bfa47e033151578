# SPDX-License-Identifier: Apache-2.0
"""The cast of every test: alice, bob and victor (admin, member, viewer of A), charlie (owner of B), root (staff)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rest_framework.test import APIClient

from mlhub.tenants.models import Membership, Organisation, Project, Quota, User
from mlhub.tenants.roles import Role


@dataclass
class Cast:
    a: Organisation
    b: Organisation
    project_a: Project
    project_b: Project
    alice: User
    bob: User
    victor: User
    charlie: User
    root: User

    def client(self, user: User | None) -> APIClient:
        """A browser signed in as that person; None = signed out."""
        client = APIClient()
        if user is not None:
            client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client


def make_cast(**quota: Any) -> Cast:
    """Two organisations with a project each, and their people. quota: limits of organisation A."""
    a, b = Organisation.objects.create(name="A"), Organisation.objects.create(name="B")
    Quota.objects.create(organisation=a, **quota)
    Quota.objects.create(organisation=b)

    def person(name: str, organisation: Organisation | None, role: Role | None, **fields: Any) -> User:
        user = User(username=name, email=f"{name}@example.org", **fields)
        user.set_unusable_password()
        user.save()
        if organisation is not None and role is not None:
            Membership.objects.create(user=user, organisation=organisation, role=role)
        return user

    return Cast(
        a=a,
        b=b,
        project_a=Project.objects.create(organisation=a, name="vision"),
        project_b=Project.objects.create(organisation=b, name="language"),
        alice=person("alice", a, Role.ADMIN),
        bob=person("bob", a, Role.MEMBER),
        victor=person("victor", a, Role.VIEWER),
        charlie=person("charlie", b, Role.OWNER),
        root=person("root", None, None, is_staff=True, is_superuser=True),
    )
