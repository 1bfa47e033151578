# SPDX-License-Identifier: Apache-2.0
"""Tests of invitations: a person joins only by accepting, and answers do not show who has an account."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from mlhub.events.models import Event
from mlhub.tenants.models import Invitation, Membership, User

MINE = "/api/v1/invitations"


def address(organisation) -> str:
    return f"/api/v1/organisations/{organisation.id}/invitations"


@pytest.fixture
def dora(cast) -> User:
    return User.objects.create(username="dora")


def invited(cast, username="dora", role="member", by=None) -> str:
    answer = cast.client(by or cast.alice).post(address(cast.a), {"username": username, "role": role})
    assert answer.status_code == 201, answer.json()
    return answer.json()["id"]


def test_the_invited_sees_the_invitation_and_accepts_it(cast, dora):
    pk = invited(cast)
    client = cast.client(dora)
    (found,) = client.get(MINE).json()["results"]
    assert (found["id"], found["organisation"]["name"], found["role"]) == (pk, "A", "member")
    assert not Membership.objects.filter(user=dora).exists()  # not before they accept
    accepted = client.post(f"{MINE}/{pk}/accept")
    assert (accepted.status_code, accepted.json()["role"]) == (200, "member")
    assert [m["organisation"]["name"] for m in client.get("/api/v1/auth/me").json()["memberships"]] == ["A"]
    assert client.get(MINE).json()["results"] == []
    assert client.post(f"{MINE}/{pk}/accept").status_code == 404
    kinds = list(Event.objects.filter(organisation=cast.a).order_by("id").values_list("kind", "actor__username"))
    assert kinds == [("invitation.created", "alice"), ("invitation.accepted", "dora"), ("membership.created", "dora")]


def test_who_declines_stays_outside(cast, dora):
    pk = invited(cast)
    client = cast.client(dora)
    assert client.post(f"{MINE}/{pk}/decline").status_code == 204
    assert client.post(f"{MINE}/{pk}/accept").status_code == 404
    assert not Membership.objects.filter(user=dora).exists()
    assert cast.client(cast.alice).get(address(cast.a)).json()["results"] == []


def test_an_invitation_does_not_tell_whether_there_is_such_an_account(cast, dora):
    alice = cast.client(cast.alice)
    answers = [alice.post(address(cast.a), {"username": name, "role": "member"}) for name in ("dora", "nobody")]
    bodies = [answer.json() for answer in answers]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert [body.pop("username") for body in bodies] == ["dora", "nobody"]
    for body in bodies:
        for name in ("id", "created_at", "expires_at"):
            assert body.pop(name)
    assert bodies[0] == bodies[1]
    listed = alice.get(address(cast.a)).json()["results"]
    assert {row["username"] for row in listed} == {"dora", "nobody"}


def test_an_account_that_is_made_later_finds_its_invitation(cast):
    pk = invited(cast, username="emil")
    emil = User.objects.create(username="emil")
    assert cast.client(emil).post(f"{MINE}/{pk}/accept").status_code == 200


def test_nobody_accepts_an_invitation_of_another(cast, dora):
    pk = invited(cast)
    for user in (cast.charlie, cast.bob, cast.root):
        assert cast.client(user).get(MINE).json()["results"] == []
        assert cast.client(user).post(f"{MINE}/{pk}/accept").status_code == 404
        assert cast.client(user).post(f"{MINE}/{pk}/decline").status_code == 404
    assert Invitation.objects.waiting().filter(pk=pk).exists()


@pytest.mark.parametrize("who", ["bob", "victor"])
def test_members_and_viewers_neither_invite_nor_see_or_withdraw_invitations(cast, dora, who):
    pk = invited(cast)
    client = cast.client(getattr(cast, who))
    assert client.post(address(cast.a), {"username": "emil", "role": "viewer"}).status_code == 403
    assert client.get(address(cast.a)).status_code == 403
    assert client.delete(f"{MINE}/{pk}").status_code == 403
    assert Invitation.objects.waiting().filter(pk=pk).exists()


def test_an_admin_invites_no_owner(cast, dora):
    answer = cast.client(cast.alice).post(address(cast.a), {"username": "dora", "role": "owner"})
    assert (answer.status_code, answer.json()["code"]) == (403, "role_too_low")


def test_a_withdrawn_an_expired_and_a_replaced_invitation_cannot_be_accepted(cast, dora):
    client = cast.client(dora)
    withdrawn = invited(cast)
    assert cast.client(cast.alice).delete(f"{MINE}/{withdrawn}").status_code == 204
    replaced = invited(cast)
    expired = invited(cast, role="viewer")
    Invitation.objects.filter(pk=expired).update(expires_at=timezone.now() - timedelta(seconds=1))
    for pk in (withdrawn, replaced, expired):
        assert client.post(f"{MINE}/{pk}/accept").status_code == 404
    assert not Membership.objects.filter(user=dora).exists()


def test_an_invitation_of_one_who_may_not_invite_any_more_is_void(cast, dora):
    pk = invited(cast)
    Membership.objects.filter(user=cast.alice).update(role="member")
    refused = cast.client(dora).post(f"{MINE}/{pk}/accept")
    assert (refused.status_code, refused.json()["code"]) == (409, "sender_lost_role")
    assert not Membership.objects.filter(user=dora).exists()


def test_a_member_is_not_invited_again(cast):
    answer = cast.client(cast.alice).post(address(cast.a), {"username": "bob", "role": "admin"})
    assert (answer.status_code, answer.json()["code"]) == (409, "already_member")
