# SPDX-License-Identifier: Apache-2.0
"""An administrator sees MLHub as a user: reads as that user, changes nothing, for a while, in the audit."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from rest_framework.test import APIClient

from mlhub.events.access import current_user
from mlhub.events.actions import append
from mlhub.events.models import Event
from mlhub.jobs.models import Job
from mlhub.tenants.models import Membership, User
from mlhub.tenants.sign_in.impersonation import KEY
from tests.cast import Cast, make_cast
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
END = "/api/v1/auth/impersonation/end"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def begin(client: APIClient, user: User) -> Any:
    return client.post(f"/api/v1/users/{user.pk}/impersonation")


def seeing_as(cast: Cast, user: User) -> APIClient:
    cast.forget_sessions()
    client = cast.client(cast.root)
    assert begin(client, user).status_code == 201
    return client


def me(client: APIClient) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/api/v1/auth/me").json()
    return found


def audited() -> list[tuple[str, str, Any]]:
    rows = Event.objects.filter(kind__startswith="impersonation.").order_by("id")
    return [(row.kind, row.actor.username if row.actor else "", row.facts.get("reason")) for row in rows]


def test_an_administrator_sees_what_the_user_sees_and_both_ends_are_audited(cast: Cast) -> None:
    own, foreign = job(cast.project_a, cast.bob, name="own"), job(cast.project_b, cast.charlie, name="foreign")
    client = seeing_as(cast, cast.bob)
    found = me(client)
    assert (found["username"], found["is_staff"], found["impersonation"]["by"]) == ("bob", False, "root")
    assert found["memberships"] == me(cast.client(cast.bob))["memberships"]
    assert {row["name"] for row in client.get("/api/v1/jobs").json()["results"]} == {"own"}
    assert client.get(f"/api/v1/jobs/{own.id}").status_code == 200
    assert client.get(f"/api/v1/jobs/{foreign.id}").status_code == 404
    assert client.get("/api/v1/users").status_code == 403
    assert me(cast.client(cast.bob))["impersonation"] is None
    assert client.post(END).status_code == 204
    assert (me(client)["username"], me(client)["impersonation"]) == ("root", None)
    assert client.get("/api/v1/users").status_code == 200
    assert audited() == [("impersonation.started", "root", None), ("impersonation.ended", "root", "asked")]
    started = Event.objects.get(kind="impersonation.started")
    assert (started.facts["username"], started.subject_id) == ("bob", cast.bob.pk)
    assert client.post(END).status_code == 204  # again: nothing happens
    assert len(audited()) == 2


def paths(patterns: Any, before: str = "") -> list[str]:
    found = []
    for one in patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            found += paths(one.url_patterns, route)
        elif isinstance(one, URLPattern):
            found.append(route)
    return found


def test_every_address_refuses_every_write(cast: Cast) -> None:
    """All addresses there are, uploads, the MLflow protocol and Django's admin pages among them."""
    job(cast.project_a, cast.bob, name="own")
    client = seeing_as(cast, cast.bob)
    n_events, n_jobs = Event.objects.count(), Job.objects.count()
    routes = [route for route in paths(get_resolver().url_patterns) if not route.startswith("^")]
    addresses = {re.sub(r"<[^>]+>", "x", route).replace("\\Z", "") for route in routes}
    assert len(addresses) > 250
    accepted = []
    for address in sorted(addresses):
        path = "/" + re.sub(r"[\^$]", "", address)
        if path in (END, "/api/v1/auth/logout"):
            continue
        for method in ("post", "put", "patch", "delete"):
            answer = getattr(client, method)(path, {}, format="json")
            if answer.status_code != 403 or answer.json().get("code") != "impersonating":
                accepted.append((method, path, answer.status_code))
    assert accepted == []
    assert (Event.objects.count(), Job.objects.count()) == (n_events, n_jobs)
    refused = client.post("/api/v1/auth/password", {}).json()
    assert "bob" in refused["detail"]
    assert "End" in refused["remedy"]


@pytest.mark.parametrize(
    "path",
    ["/api/v1/tokens", "/api/v1/auth/sessions", "/api/v1/auth/passkeys", "/api/v1/auth/second-factor",
     "/api/v1/auth/identities", "/api/v1/projects/{project}/secrets"],
)  # fmt: skip
def test_what_is_the_users_alone_is_not_shown(cast: Cast, path: str) -> None:
    address = path.format(project=cast.project_a.pk)
    assert cast.client(cast.alice).get(address).status_code in (200, 405)
    client = seeing_as(cast, cast.alice)
    for shown in (address, address + "?limit=1", address.replace("/api/", "/api//"), address + "/"):
        answer = client.get(shown)
        assert answer.status_code in (403, 404), shown
        assert "results" not in answer.content.decode()


def test_administrators_programs_and_the_deactivated_are_not_seen_as(cast: Cast) -> None:
    other = User.objects.create(username="rita", is_staff=True)
    program = User.objects.create(username="robot", service_of=cast.a, password="!")
    User.objects.filter(pk=cast.victor.pk).update(is_active=False)
    client = cast.client(cast.root)
    codes = {user.username: begin(client, user) for user in (other, cast.root, program, cast.victor)}
    assert {name: answer.status_code for name, answer in codes.items()} == dict.fromkeys(codes, 403)
    assert codes["rita"].json()["code"] == "impersonates_administrator"
    assert codes["robot"].json()["code"] == "impersonates_no_person"
    assert client.post("/api/v1/users/00000000-0000-4000-8000-000000000000/impersonation").status_code == 404
    assert audited() == []


@pytest.mark.parametrize("who", ["alice", "bob", "charlie"])
def test_only_administrators_of_the_platform_begin(cast: Cast, who: str) -> None:
    assert begin(cast.client(getattr(cast, who)), cast.victor).status_code == 403
    assert begin(cast.client(None), cast.victor).status_code == 401


def test_a_token_neither_begins_nor_is_changed_by_it(cast: Cast) -> None:
    body = {"name": "laptop", "scopes": ["read", "write", "admin"]}
    token = cast.client(cast.root).post("/api/v1/tokens", body).json()["token"]
    program = APIClient(headers={"Authorization": f"Bearer {token}"})
    assert begin(program, cast.bob).json()["code"] == "session_needed"
    client = seeing_as(cast, cast.bob)
    assert me(program)["username"] == "root"
    both = APIClient(headers={"Authorization": f"Bearer {token}"})
    both.cookies = client.cookies
    assert both.post("/api/v1/organisations", {"name": "C"}).json()["code"] == "impersonating"


def test_it_is_not_begun_within_another_one(cast: Cast) -> None:
    assert begin(seeing_as(cast, cast.bob), cast.charlie).json()["code"] == "impersonating"


def expire(client: APIClient) -> None:
    session = client.session
    session[KEY] = session[KEY] | {"ends_at": (timezone.now() - timedelta(seconds=1)).isoformat()}
    session.save()


def test_it_ends_by_time_and_the_first_write_after_it_is_not_taken_for_the_administrators(cast: Cast) -> None:
    client = seeing_as(cast, cast.bob)
    ends_at = datetime.fromisoformat(me(client)["impersonation"]["ends_at"])
    assert timedelta(minutes=29) < ends_at - timezone.now() <= timedelta(minutes=settings.IMPERSONATION_MINUTES)
    expire(client)
    refused = client.post("/api/v1/organisations", {"name": "C"})
    assert (refused.status_code, refused.json()["code"]) == (403, "impersonation_ended")
    assert me(client)["username"] == "root"
    assert audited()[-1] == ("impersonation.ended", "root", "expired")
    assert client.post("/api/v1/organisations", {"name": "C"}).status_code == 201


def test_it_ends_with_the_sign_out_which_is_the_administrators(cast: Cast) -> None:
    client = seeing_as(cast, cast.bob)
    assert client.post("/api/v1/auth/logout").status_code == 204
    assert client.get("/api/v1/auth/me").status_code == 401
    assert audited()[-1] == ("impersonation.ended", "root", "signed_out")
    assert Event.objects.get(kind="session.ended").actor == cast.root
    assert me(cast.client(cast.bob))["username"] == "bob"


def test_it_ends_when_the_administrator_is_one_no_more(cast: Cast) -> None:
    client = seeing_as(cast, cast.bob)
    User.objects.filter(pk=cast.root.pk).update(is_staff=False, is_superuser=False)
    assert me(client)["username"] == "root"
    assert audited()[-1] == ("impersonation.ended", "root", "rights")
    User.objects.filter(pk=cast.root.pk).update(is_active=False)
    assert client.get("/api/v1/auth/me").status_code == 401


@pytest.mark.parametrize("changes", [{"is_staff": True}, {"is_active": False}])
def test_it_ends_when_the_user_becomes_an_administrator_or_is_deactivated(cast: Cast, changes: dict[str, bool]) -> None:
    client = seeing_as(cast, cast.bob)
    User.objects.filter(pk=cast.bob.pk).update(**changes)
    assert me(client)["username"] == "root"
    assert audited()[-1] == ("impersonation.ended", "root", "rights")


def test_rights_of_the_user_are_read_with_every_request(cast: Cast) -> None:
    own = job(cast.project_a, cast.bob, name="own")
    client = seeing_as(cast, cast.bob)
    assert client.get(f"/api/v1/jobs/{own.id}").status_code == 200
    Membership.objects.filter(user=cast.bob).delete()
    assert client.get(f"/api/v1/jobs/{own.id}").status_code == 404


def test_streams_and_downloads_go_on_as_the_user_and_end_with_it(cast: Cast) -> None:
    client = seeing_as(cast, cast.bob)
    request = HttpRequest()
    request.session = client.session
    found = current_user(request)
    assert found is not None
    assert (found.username, found.is_staff) == ("bob", False)
    expire(client)
    request.session = client.session
    after = current_user(request)
    assert after is not None
    assert after.username == "root"  # another one than it began with: the stream ends


def test_what_a_read_leaves_in_the_audit_is_under_the_administrators_name(cast: Cast) -> None:
    client = seeing_as(cast, cast.bob)
    request = HttpRequest()
    request.session = client.session
    bob = current_user(request)
    append("usage.exported", organisation=cast.a, subject_kind="organisation", subject_id=cast.a.pk, actor=bob)
    row = Event.objects.get(kind="usage.exported")
    assert (row.actor, row.facts["seen_as"]) == (cast.root, "bob")
