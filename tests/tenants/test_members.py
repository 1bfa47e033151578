# SPDX-License-Identifier: Apache-2.0
"""Members and roles: an organisation that has an owner keeps one, and no one rises above those who promote them."""

from __future__ import annotations

import pytest

from mlhub.events.models import Event
from mlhub.events.origins import ORIGIN
from mlhub.tenants.models import Membership, User
from mlhub.tenants.roles import Role


def address(organisation) -> str:
    return f"/api/v1/organisations/{organisation.id}/members"


def membership(user) -> Membership:
    return Membership.objects.get(user=user)


@pytest.fixture
def dora(db) -> User:
    return User.objects.create(username="dora")


def test_a_platform_administrator_adds_a_member_once(cast, dora):
    root = cast.client(cast.root)
    added = root.post(address(cast.a), {"username": "dora", "role": "member"})
    assert added.status_code == 201
    assert added.json()["user"] == {"id": str(dora.id), "username": "dora"}
    assert "dora" in [m["user"]["username"] for m in root.get(address(cast.a)).json()["results"]]
    again = root.post(address(cast.a), {"username": "dora", "role": "viewer"})
    assert (again.status_code, again.json()["code"]) == (409, "already_member")
    event = Event.objects.get(kind="membership.created")
    assert (event.organisation, event.actor) == (cast.a, cast.root)
    facts = {name: value for name, value in event.facts.items() if name not in ORIGIN}
    assert facts == {"username": "dora", "user_id": str(dora.id), "role": "member"}


@pytest.mark.parametrize("username", ["dora", "nobody"])
def test_admins_and_owners_add_no_one_unasked_and_do_not_learn_who_exists(cast, dora, username):
    for client, organisation in ((cast.client(cast.alice), cast.a), (cast.client(cast.charlie), cast.b)):
        refused = client.post(address(organisation), {"username": username, "role": "member"})
        assert (refused.status_code, refused.json()["code"]) == (403, "invitation_needed")
    assert not Membership.objects.filter(user=dora).exists()


def test_an_unknown_name_and_an_unknown_role_name_their_field(cast):
    root = cast.client(cast.root)
    for body, field in (
        ({"username": "nobody", "role": "member"}, "username"),
        ({"username": "bob", "role": "king"}, "role"),
    ):
        answer = root.post(address(cast.a), body)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


@pytest.mark.parametrize("who", ["bob", "victor"])
def test_members_and_viewers_change_no_memberships(cast, dora, who):
    client = cast.client(getattr(cast, who))
    assert client.post(address(cast.a), {"username": "dora", "role": "member"}).status_code == 403
    other = f"/api/v1/memberships/{membership(cast.alice).id}"
    assert client.patch(other, {"role": "viewer"}).status_code == 403
    assert client.delete(other).status_code == 403
    assert membership(cast.alice).role == "admin"


def test_an_admin_makes_no_owner_and_unmakes_none(cast, dora):
    Membership.objects.create(user=dora, organisation=cast.a, role=Role.OWNER)
    alice = cast.client(cast.alice)
    assert alice.patch(f"/api/v1/memberships/{membership(cast.bob).id}", {"role": "owner"}).status_code == 403
    assert alice.patch(f"/api/v1/memberships/{membership(dora).id}", {"role": "member"}).status_code == 403
    assert alice.delete(f"/api/v1/memberships/{membership(dora).id}").status_code == 403
    assert alice.patch(f"/api/v1/memberships/{membership(cast.bob).id}", {"role": "admin"}).json()["role"] == "admin"


def test_the_last_owner_stays_until_there_is_another(cast, dora):
    charlie = cast.client(cast.charlie)
    own = f"/api/v1/memberships/{membership(cast.charlie).id}"
    for answer in (charlie.patch(own, {"role": "member"}), charlie.delete(own)):
        assert (answer.status_code, answer.json()["code"]) == (409, "last_owner")
    Membership.objects.create(user=dora, organisation=cast.b, role=Role.OWNER)
    assert charlie.delete(own).status_code == 204
    assert charlie.get("/api/v1/projects").json()["results"] == []


def test_anybody_may_leave(cast):
    victor = cast.client(cast.victor)
    assert victor.delete(f"/api/v1/memberships/{membership(cast.victor).id}").status_code == 204
    assert victor.get("/api/v1/organisations").json()["results"] == []
