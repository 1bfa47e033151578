# SPDX-License-Identifier: Apache-2.0
"""The cast of every test: alice, bob and victor (admin, member, viewer of A), charlie (owner of B), root (staff)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
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
    _cookies: dict[Any, str] = field(default_factory=dict)  # of sessions

    def client(self, user: User | None) -> APIClient:
        """A browser signed in as that person; None = signed out.

        It goes on with the session that this person has, for signing in costs more than most requests do.
        """
        client = APIClient()
        if user is not None:
            who = user.pk, user.password, user.is_active
            if who not in self._cookies:
                client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
                self._cookies[who] = client.cookies[settings.SESSION_COOKIE_NAME].value
            client.cookies[settings.SESSION_COOKIE_NAME] = self._cookies[who]
        return client

    def forget_sessions(self) -> None:
        """The next browsers sign in anew."""
        self._cookies.clear()


def make_cast(**quota: Any) -> Cast:
    """Two organisations with a project each, and their people. quota: limits of organisation A."""
    a, b = Organisation.objects.bulk_create([Organisation(name="A"), Organisation(name="B")])
    Quota.objects.bulk_create([Quota(organisation=a, **quota), Quota(organisation=b)])
    members: dict[str, tuple[Organisation, Role]] = {
        "alice": (a, Role.ADMIN), "bob": (a, Role.MEMBER), "victor": (a, Role.VIEWER), "charlie": (b, Role.OWNER)
    }  # fmt: skip
    people = {name: User(username=name, email=f"{name}@example.org") for name in (*members, "root")}
    people["root"].is_staff = people["root"].is_superuser = True
    for user in people.values():
        user.set_unusable_password()
    User.objects.bulk_create(people.values())
    Membership.objects.bulk_create(
        [Membership(user=people[name], organisation=into, role=role) for name, (into, role) in members.items()]
    )
    projects = [Project(organisation=a, name="vision"), Project(organisation=b, name="language")]
    project_a, project_b = Project.objects.bulk_create(projects)
    return Cast(a=a, b=b, project_a=project_a, project_b=project_b, **people)
