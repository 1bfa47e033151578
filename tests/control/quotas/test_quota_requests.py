# SPDX-License-Identifier: Apache-2.0
"""Requests for quota: members ask, who may change the quota answers once, and an approval applies at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from mlhub.events.models import Event
from mlhub.tenants.actions import quota_of, set_quota
from mlhub.tenants.models import QuotaBoost, QuotaRequest
from tests.cast import Cast, make_cast

pytestmark = pytest.mark.django_db
REASON = "two papers are due"


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def ask(cast: Cast, by: Any, *, of: str = "", status: int = 201, **body: Any) -> dict[str, Any]:
    """of: the address of the owner; by default project A."""
    address = f"/api/v1/{of or f'projects/{cast.project_a.id}'}/quota/requests"
    answer = cast.client(by).post(address, {"reason": REASON, **body}, format="json")
    assert answer.status_code == status, answer.json()
    found: dict[str, Any] = answer.json()
    return found


def answer(cast: Cast, by: Any, asked: dict[str, Any], verb: str, *, status: int = 200, **body: Any) -> dict[str, Any]:
    found = cast.client(by).post(f"/api/v1/quota-requests/{asked['id']}/{verb}", body, format="json")
    assert found.status_code == status, found.json()
    shown: dict[str, Any] = found.json()
    return shown


def in_hours(hours: float) -> str:
    return (timezone.now() + timedelta(hours=hours)).isoformat()


def test_an_approved_request_for_good_changes_the_quota(cast: Cast) -> None:
    set_quota(cast.a, guarantee=8, actor=cast.root)
    set_quota(cast.project_a, guarantee=1, max_gpus=2, actor=cast.alice)
    asked = ask(cast, cast.bob, extra_guarantee=2, extra_max_gpus=4)
    assert (asked["state"], asked["owner_name"], asked["requested_by"]) == ("waiting", cast.project_a.name, "bob")
    given = answer(cast, cast.alice, asked, "approve", note="until the summer")
    assert (given["state"], given["answered_by"], given["note"]) == ("approved", "alice", "until the summer")
    rules = quota_of(cast.project_a)
    assert (rules.guarantee, rules.max_gpus) == (3, 6)
    kinds = Event.objects.filter(kind__startswith="quota.request").order_by("id").values_list("kind", "actor__username")
    assert list(kinds) == [("quota.requested", "bob"), ("quota.request_approved", "alice")]


def test_an_approved_request_for_a_gpu_type_raises_the_limit_of_that_type_alone(cast: Cast) -> None:
    set_quota(cast.project_a, max_gpus=4, gpus_by_type={"A100": 1, "T4": 2}, actor=cast.alice)
    asked = ask(cast, cast.bob, extra_gpus_by_type={"A100": 2})
    assert (asked["extra_gpus_by_type"], asked["extra_max_gpus"]) == ({"A100": 2}, 0)
    set_quota(cast.project_a, gpus_by_type={"A100": 2, "T4": 2}, actor=cast.alice)  # meanwhile
    given = answer(cast, cast.alice, asked, "approve", extra_gpus_by_type={"A100": 1})
    assert given["extra_gpus_by_type"] == {"A100": 1}
    rules = quota_of(cast.project_a)
    assert (rules.max_gpus, rules.gpus_by_type) == (4, {"A100": 3, "T4": 2})


def test_a_limit_that_was_lifted_meanwhile_stays_lifted(cast: Cast) -> None:
    set_quota(cast.project_a, gpus_by_type={"A100": 1, "T4": 2}, actor=cast.alice)
    asked = ask(cast, cast.bob, extra_gpus_by_type={"A100": 2, "T4": 1})
    set_quota(cast.project_a, gpus_by_type={"T4": 2}, actor=cast.alice)
    answer(cast, cast.alice, asked, "approve")
    assert quota_of(cast.project_a).gpus_by_type == {"T4": 3}


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ({"H100": 1}, "Name types that it limits: A100, T4."),
        ({"A100": 0}, "Nothing would be added."),
        ({"A100": -1}, "Give at least 0."),
        ({"A100": 100_001}, "Give at most 100,000."),
        ({"A100": "many"}, "integer"),
        ({"": 1}, "by GPU type"),
        ("A100", "dictionary"),
    ],
)
def test_a_request_for_what_can_not_be_raised_names_the_field_and_the_remedy(cast: Cast, types: Any, said: str) -> None:
    set_quota(cast.project_a, gpus_by_type={"A100": 1, "T4": 2}, actor=cast.alice)
    refused = ask(cast, cast.bob, extra_gpus_by_type=types, status=422)
    assert said in str(refused)
    assert "extra_gpus_by_type" in str(refused)
    assert not cast.a.quota_requests.exists()


def test_an_approved_request_with_an_end_is_a_boost_of_the_amount_that_was_granted(cast: Cast) -> None:
    set_quota(cast.a, max_gpus=4, actor=cast.root)
    asked = ask(cast, cast.bob, of=f"organisations/{cast.a.id}", extra_max_gpus=6, ends_at=in_hours(5))
    answer(cast, cast.alice, asked, "approve", status=403)
    answer(cast, cast.root, asked, "approve", extra_max_gpus=3)
    boost = QuotaBoost.objects.get()
    assert (boost.organisation, boost.extra_max_gpus, boost.created_by) == (cast.a, 3, cast.root)
    assert boost.reason == REASON
    assert quota_of(cast.a).max_gpus == 4


def test_what_cannot_be_given_leaves_the_request_waiting(cast: Cast) -> None:
    asked = ask(cast, cast.bob, extra_guarantee=2)
    refused = answer(cast, cast.alice, asked, "approve", status=422)
    assert "share" in refused["detail"] or "guarantee" in refused["detail"]
    assert QuotaRequest.objects.get().answer == ""
    answer(cast, cast.alice, asked, "refuse", note="nothing is left")
    assert QuotaRequest.objects.get().note == "nothing is left"


def test_a_request_is_answered_once(cast: Cast) -> None:
    set_quota(cast.a, guarantee=8, actor=cast.root)
    asked = ask(cast, cast.bob, extra_guarantee=1)
    answer(cast, cast.bob, asked, "withdraw")
    late = [(cast.alice, "approve", {}), (cast.alice, "refuse", {"note": "no"}), (cast.bob, "withdraw", {})]
    codes = [answer(cast, by, asked, verb, status=409, **body)["code"] for by, verb, body in late]
    assert codes == ["request_answered"] * 3
    assert quota_of(cast.project_a).guarantee is None


def test_the_second_of_two_admins_gets_both_answers(cast: Cast) -> None:
    set_quota(cast.a, guarantee=8, actor=cast.root)
    asked = ask(cast, cast.bob, extra_guarantee=1)
    answer(cast, cast.alice, asked, "refuse", note="Promised to speech.")
    late = answer(cast, cast.root, asked, "approve", status=409, note="yes")
    assert late["detail"] == "This request was refused already by alice: Promised to speech."
    present = {name: late["present"][name] for name in ("state", "note", "answered_by", "extra_guarantee")}
    assert present == {
        "state": "refused",
        "note": "Promised to speech.",
        "answered_by": "alice",
        "extra_guarantee": 1,
    }
    assert late["yours"] == {"state": "approved", "note": "yes"}
    assert quota_of(cast.project_a).guarantee is None


def test_only_members_ask_and_only_who_asked_withdraws(cast: Cast) -> None:
    ask(cast, cast.charlie, extra_guarantee=1, status=404)
    ask(cast, cast.victor, extra_guarantee=1, status=403)
    asked = ask(cast, cast.bob, extra_guarantee=1)
    answer(cast, cast.alice, asked, "withdraw", status=403)
    answer(cast, cast.bob, asked, "approve", status=403)
    answer(cast, cast.bob, asked, "refuse", status=403, note="no")
    answer(cast, cast.charlie, asked, "approve", status=404)
    assert cast.client(cast.charlie).get("/api/v1/quota-requests").json()["results"] == []
    shown = cast.client(cast.victor).get("/api/v1/quota-requests?is_waiting=true").json()["results"]
    assert [one["id"] for one in shown] == [asked["id"]]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "extra_guarantee"),
        ({"extra_guarantee": 1, "reason": "  "}, "reason"),
        ({"extra_guarantee": 1, "ends_at": "2020-01-01T00:00:00Z"}, "ends_at"),
        ({"extra_guarantee": -1}, "extra_guarantee"),
        ({"extra_guarantee": 10**9}, "extra_guarantee"),
        ({"extra_max_gpus": 1}, "extra_max_gpus"),
        ({"extra_guarantee": 1, "for": "ever"}, "for"),
    ],
)
def test_an_impossible_request_names_the_field(cast: Cast, body: dict[str, Any], field: str) -> None:
    refused = ask(cast, cast.bob, status=422, **body)
    assert field in str(refused)
    assert not QuotaRequest.objects.exists()


def test_a_user_has_at_most_five_requests_waiting_in_an_organisation(cast: Cast) -> None:
    made = [ask(cast, cast.bob, extra_guarantee=1) for _ in range(5)]
    assert ask(cast, cast.bob, extra_guarantee=1, status=409)["code"] == "too_many_requests_waiting"
    answer(cast, cast.bob, made[0], "withdraw")
    ask(cast, cast.bob, extra_guarantee=1)
    ask(cast, cast.alice, extra_guarantee=1)


def test_admins_learn_of_a_request_by_mail_and_who_asked_of_the_answer(
    cast: Cast, settings: Any, django_capture_on_commit_callbacks: Any
) -> None:
    settings.HAS_MAIL_SERVER, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    for user in (cast.alice, cast.bob):
        user.email = f"{user.username}@example.org"
        user.save()
    with django_capture_on_commit_callbacks(execute=True):
        asked = ask(cast, cast.bob, extra_guarantee=1)
    with django_capture_on_commit_callbacks(execute=True):
        answer(cast, cast.alice, asked, "refuse", note="next month")
    assert [message.to for message in mail.outbox] == [["alice@example.org"], ["bob@example.org"]]
    assert "bob requests quota for the project vision of A." in mail.outbox[0].body
    assert REASON in mail.outbox[0].body
    assert "Your request for the project vision of A was refused by alice." in mail.outbox[1].body
    assert "next month" in mail.outbox[1].body
