# SPDX-License-Identifier: Apache-2.0
"""Two people who edit a project, an organisation or a webhook at once: the second gets both versions."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.tenants.models import Organisation, Project
from mlhub.webhooks.models import Webhook
from tests.cast import Cast, make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def patch(cast: Cast, by: Any, path: str, body: dict[str, Any], *, status: int = 200) -> dict[str, Any]:
    answer = cast.client(by).patch(f"/api/v1/{path}", body, format="json")
    assert answer.status_code == status, answer.json()
    found: dict[str, Any] = answer.json()
    return found


def test_a_project_that_another_admin_renamed_meanwhile_keeps_that_name(cast: Cast) -> None:
    path, was = f"projects/{cast.project_a.id}", cast.project_a.name
    patch(cast, cast.root, path, {"name": "theirs", "seen": {"name": was}})
    refused = patch(cast, cast.alice, path, {"name": "mine", "seen": {"name": was}}, status=409)
    assert refused["code"] == "changed_meanwhile"
    assert (refused["present"], refused["yours"]) == ({"name": "theirs"}, {"name": "mine"})
    assert Project.objects.get(pk=cast.project_a.pk).name == "theirs"
    patch(cast, cast.alice, path, {"name": "mine", "seen": refused["present"]})
    assert Project.objects.get(pk=cast.project_a.pk).name == "mine"


def test_a_project_s_team_and_its_archive_are_compared_too_and_nothing_is_half_done(cast: Cast) -> None:
    client, path = cast.client(cast.alice), f"projects/{cast.project_a.id}"
    team = client.post("/api/v1/teams", {"organisation": str(cast.a.id), "name": "new"}, format="json").json()
    patch(cast, cast.root, path, {"team": team["id"], "seen": {"team": None}})
    body = {"name": "other", "team": None, "seen": {"name": cast.project_a.name, "team": None}}
    refused = patch(cast, cast.alice, path, body, status=409)
    assert refused["present"] == {"name": cast.project_a.name, "team": team["id"]}
    assert Project.objects.get(pk=cast.project_a.pk).name == cast.project_a.name
    patch(cast, cast.root, path, {"is_archived": True})
    assert patch(cast, cast.alice, path, {"is_archived": True, "seen": {"is_archived": False}}, status=409)


def test_an_edit_that_says_nothing_of_what_it_saw_is_made_as_before(cast: Cast) -> None:
    assert patch(cast, cast.alice, f"projects/{cast.project_a.id}", {"name": "plain"})["name"] == "plain"


def test_a_field_that_was_changed_meanwhile_and_is_not_named_is_no_conflict(cast: Cast) -> None:
    path, was = f"projects/{cast.project_a.id}", cast.project_a.name
    patch(cast, cast.root, path, {"is_archived": True})
    assert patch(cast, cast.alice, path, {"name": "mine", "seen": {"name": was}})["name"] == "mine"


def test_an_organisation_is_compared(cast: Cast) -> None:
    path = f"organisations/{cast.a.id}"
    patch(cast, cast.root, path, {"name": "Theirs", "seen": {"name": "A"}})
    refused = patch(cast, cast.root, path, {"name": "Mine", "seen": {"name": "A"}}, status=409)
    assert (refused["present"], refused["yours"]) == ({"name": "Theirs"}, {"name": "Mine"})
    assert Organisation.objects.get(pk=cast.a.pk).name == "Theirs"


def test_a_webhook_is_compared_whatever_the_order_of_its_topics(cast: Cast, settings: Any) -> None:
    settings.WEBHOOK_ALLOW = ["127.0.0.1"]
    made = Webhook.objects.create(
        organisation=cast.a, url="https://example.org/x", topics=["job.failed", "job.succeeded"], encrypted_secret=b"x"
    )
    path = f"webhooks/{made.id}"
    seen = {"topics": ["job.succeeded", "job.failed"], "is_active": True}
    patch(cast, cast.alice, path, {"topics": ["job.failed"], "seen": seen})
    refused = patch(cast, cast.root, path, {"topics": ["job.succeeded"], "seen": seen}, status=409)
    assert (refused["present"], refused["yours"]) == ({"topics": ["job.failed"]}, {"topics": ["job.succeeded"]})
    assert Webhook.objects.get().topics == ["job.failed"]


def test_strangers_and_members_learn_nothing_by_it(cast: Cast) -> None:
    path, body = f"projects/{cast.project_a.id}", {"name": "x", "seen": {"name": cast.project_a.name}}
    patch(cast, cast.charlie, path, body, status=404)
    patch(cast, cast.bob, path, body, status=403)
    assert patch(cast, cast.alice, path, {"name": "x", "seen": {"nmae": "y"}}, status=422)["errors"]
