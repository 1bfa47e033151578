# SPDX-License-Identifier: Apache-2.0
"""Charlie, of another organisation, and victor, who may only read, at every address of this room."""

from __future__ import annotations

import re

import pytest
from rest_framework.test import APIClient

from mlhub.tenants.actions import bind_role, invite
from mlhub.tenants.actions.administration.service_accounts import create_service_account
from mlhub.tenants.api.urls import urlpatterns
from mlhub.tenants.models import (
    ApiToken,
    Invitation,
    Membership,
    Organisation,
    Passkey,
    Project,
    RoleBinding,
    Team,
    User,
)
from mlhub.tenants.roles import Role

ROWS = {
    "organisations/<named:id>": [("get", None), ("patch", {"name": "x", "is_archived": True}), ("delete", None)],
    "organisations/<named:id>/members": [("get", None), ("post", {"username": "charlie", "role": "owner"})],
    "organisations/<named:id>/invitations": [("get", None), ("post", {"username": "charlie", "role": "owner"})],
    "invitations/<uuid:id>": [("delete", None)],
    "invitations/<uuid:id>/accept": [("post", None)],
    "invitations/<uuid:id>/decline": [("post", None)],
    "organisations/<named:id>/service-accounts": [("get", None), ("post", {"name": "eve", "role": "member"})],
    "service-accounts/<uuid:id>": [("patch", {"is_active": False}), ("delete", None)],
    "service-accounts/<uuid:id>/deletion": [("get", None)],
    "service-accounts/<uuid:id>/tokens": [("get", None), ("post", {"name": "t", "scopes": ["read"]})],
    "service-accounts/<uuid:id>/tokens/<uuid:token_id>": [("delete", None)],
    "role-bindings/<uuid:id>": [("patch", {"role": "admin"}), ("delete", None)],
    "organisations/<named:id>/permissions": [("get", None)],
    "teams/<named:id>/permissions": [("get", None)],
    "teams/<named:id>/roles": [("get", None), ("post", {"username": "charlie", "role": "admin"})],
    "projects/<named:id>/permissions": [("get", None)],
    "projects/<named:id>/roles": [("get", None), ("post", {"username": "charlie", "role": "admin"})],
    "memberships/<uuid:id>": [("patch", {"role": "viewer"}), ("delete", None)],
    "projects/<named:id>": [("get", None), ("patch", {"name": "x", "is_archived": True}), ("delete", None)],
    "teams/<named:id>": [("get", None), ("patch", {"name": "x"}), ("delete", None)],
    "tokens/<uuid:id>": [("delete", None)],
    "auth/sessions/<uuid:id>": [("delete", None)],
    "auth/identities/<uuid:id>": [("delete", None)],
    "auth/passkeys/<uuid:id>": [("patch", {"name": "x"})],
    "auth/passkeys/<uuid:id>/remove": [("post", {"password": "x"})],
}
LISTS = {"organisations", "teams", "projects", "tokens", "invitations"}
PERSONAL = {
    "auth/csrf", "auth/login", "auth/logout", "auth/me", "auth/password", "auth/password-link", "auth/sessions",
    "auth/second-factor", "auth/second-factor/confirm", "auth/second-factor/remove",
    "auth/second-factor/recovery-codes", "auth/setup", "auth/invitation",
    "auth/invitation/accept", "auth/methods", "auth/identities", "auth/single-sign-on", "auth/single-sign-on/code",
    "auth/passkeys", "auth/passkeys/options", "auth/passkey-challenge", "auth/passkey-login", "auth/forgotten-password",
    "auth/impersonation/end",
}  # fmt: skip
FOR_ADMINISTRATORS = {
    "users": [("get", None), ("post", {"username": "eve"})],
    "users/<uuid:id>": [("get", None), ("patch", {"is_staff": True}), ("delete", None)],
    "users/<uuid:id>/deletion": [("get", None)],
    "users/<uuid:id>/password-link": [("post", None)],
    "users/<uuid:id>/impersonation": [("post", None)],
    "users/<uuid:id>/second-factor": [("delete", None)],
    "users/<uuid:id>/sessions": [("delete", None)],
}


@pytest.fixture
def things(cast):
    """By the first words of an address: a row of organisation A, or of alice."""
    return {
        "organisations": cast.a,
        "memberships": Membership.objects.get(user=cast.alice),
        "invitations": invite(cast.a, username="dora", role=Role.MEMBER, actor=cast.alice),
        "projects": cast.project_a,
        "role-bindings": bind_role(cast.project_a, username="bob", role=Role.VIEWER, actor=cast.alice),
        "teams": Team.objects.create(organisation=cast.a, name="core"),
        "tokens": ApiToken.objects.create(user=cast.alice, name="t", prefix="mlh_x", token_hash="0" * 64),
        "service-accounts": create_service_account(cast.a, name="ci", role=Role.MEMBER, actor=cast.alice),
        "auth": session_of(cast.alice),
        "auth/passkeys": Passkey.objects.create(user=cast.alice, name="laptop", credential_id="x", credential=b"x"),
    }


KEPT = (ApiToken, Invitation, Membership, Organisation, Passkey, Project, RoleBinding, Team)


def session_of(user):
    client = APIClient()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return user.sessions.get(session_key=client.session.session_key)


def everything():
    return [list(model.objects.order_by("pk").values()) for model in KEPT]


def test_every_address_is_in_one_of_these_lists():
    assert {str(p.pattern) for p in urlpatterns} == ROWS.keys() | LISTS | PERSONAL | FOR_ADMINISTRATORS.keys()


@pytest.mark.parametrize(
    ("route", "verb", "body"), [(r, v, b) for r, calls in FOR_ADMINISTRATORS.items() for v, b in calls]
)
def test_accounts_are_for_administrators_of_the_platform(cast, route, verb, body):
    address = "/api/v1/" + route.replace("<uuid:id>", str(cast.bob.id))
    before = list(User.objects.order_by("pk").values())
    for user, status in ((cast.charlie, 403), (cast.alice, 403), (None, 401)):
        client = cast.client(user)
        assert getattr(client, verb)(address, body).status_code == status
    after = list(User.objects.order_by("pk").values())
    assert [{**row, "last_login": None} for row in after] == [{**row, "last_login": None} for row in before]


@pytest.mark.parametrize(("route", "verb", "body"), [(r, v, b) for r, calls in ROWS.items() for v, b in calls])
def test_a_row_of_another_organisation_is_not_there_and_stays_as_it_is(cast, things, route, verb, body):
    of_alice = str(things[max((words for words in things if route.startswith(words)), key=len)].id)
    address = "/api/v1/" + re.sub(r"<\w+:\w+>", of_alice, route)
    before = everything()
    assert getattr(cast.client(cast.charlie), verb)(address, body).status_code == 404
    assert getattr(APIClient(), verb)(address, body).status_code == 401
    assert everything() == before


@pytest.mark.parametrize("route", sorted(LISTS))
def test_a_list_leaves_out_the_rows_of_another_organisation(cast, things, route):
    listed = cast.client(cast.charlie).get(f"/api/v1/{route}").json()["results"]
    assert str(things[route].id) not in {row["id"] for row in listed}
    assert APIClient().get(f"/api/v1/{route}").status_code == 401


@pytest.mark.parametrize("route", ["teams", "projects"])
def test_nothing_is_made_in_another_organisation_nor_by_a_viewer(cast, things, route):
    body = {"organisation": str(cast.a.id), "name": "new"}
    before = everything()
    assert cast.client(cast.charlie).post(f"/api/v1/{route}", body).status_code == 404
    assert cast.client(cast.victor).post(f"/api/v1/{route}", body).status_code == 403
    assert everything() == before


def test_a_team_of_another_organisation_cannot_be_named(cast, things):
    body = {"organisation": str(cast.b.id), "name": "new", "team": str(things["teams"].id)}
    assert cast.client(cast.charlie).post("/api/v1/projects", body).status_code == 404
