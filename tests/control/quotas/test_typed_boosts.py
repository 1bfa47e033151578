# SPDX-License-Identifier: Apache-2.0
"""Boosts of guarantees by GPU type, and requests for them: what fits, what is refused and why, and how they end."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from mlhub.control.quotas.quota_tree import tree_of
from mlhub.tenants.actions import quota_of, set_quota
from mlhub.tenants.models import QuotaBoost, QuotaRequest
from scheduler.api.snapshot import TenantSnapshot
from tests.cast import Cast, make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
TYPE, N_SLOTS, EXTRA = "cpu-slot", 4, "extra_guarantee_by_type"


@pytest.fixture
def world() -> World:
    """With four slots of one type, two on each node."""
    found = World(make_cast())
    found.round()
    return found


def post(cast: Cast, by: Any, owner: Any, what: str, *, hours: float | None = 2, **body: Any) -> Any:
    """what: boosts or requests."""
    if hours is not None:
        body["ends_at"] = (timezone.now() + timedelta(hours=hours)).isoformat()
    path = f"/api/v1/{type(owner).__name__.lower()}s/{owner.pk}/quota/{what}"
    return cast.client(by).post(path, body, format="json")


def boost(cast: Cast, by: Any, owner: Any, n: int, *, hours: float = 2, **body: Any) -> Any:
    return post(cast, by, owner, "boosts", hours=hours, extra_guarantee_by_type={TYPE: n}, **body)


def asking(by_type: dict[str, int]) -> dict[str, Any]:
    return {EXTRA: by_type, "reason": "a paper"}


def error_of(answer: Any) -> tuple[str, str, str]:
    assert answer.status_code == 422, answer.content
    first = answer.json()["errors"][0]
    return first["field"], first["message"], first.get("remedy", "")


def tenant_of(owner: Any, *, now: datetime | None = None) -> TenantSnapshot:
    organisation = getattr(owner, "organisation_id", owner.pk)
    tree = tree_of({organisation}, now=now or timezone.now(), whole=True)
    return next(one for one in tree.tenants if one.id == str(owner.pk))


def test_a_boost_adds_gpus_of_the_type_besides_those_of_any_type_until_its_end(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=2, guarantee_by_type={TYPE: 1}, actor=cast.root)
    made = boost(cast, cast.root, cast.a, 1)
    assert (made.status_code, made.json()[EXTRA]) == (201, {TYPE: 1})
    boost(cast, cast.root, cast.a, 1, hours=4, extra_guarantee=1)  # boosts add up
    found = tenant_of(cast.a)
    assert (found.guarantee, found.guarantee_by_type) == (5, ((TYPE, 3),))
    first_over = tenant_of(cast.a, now=timezone.now() + timedelta(hours=3))
    assert (first_over.guarantee, first_over.guarantee_by_type) == (4, ((TYPE, 2),))
    assert tenant_of(cast.a, now=timezone.now() + timedelta(hours=5)).guarantee_by_type == ((TYPE, 1),)
    assert quota_of(cast.a).guarantee_by_type == {TYPE: 1}


def test_a_guarantee_that_is_of_types_alone_stays_so(world: World) -> None:
    cast = world.cast
    boost(cast, cast.root, cast.a, 2)
    found = tenant_of(cast.a)
    assert (found.guarantee, found.guarantee_by_type) == (None, ((TYPE, 2),))
    row = cast.client(cast.bob).get(f"/api/v1/organisations/{cast.a.pk}/quota-tree").json()["owners"][0]
    assert (row["guarantee_by_type"], row["books_by_type"][TYPE]["guaranteed"], row["guaranteed"]) == ({}, 2, 2)
    assert row["boosts"][0][EXTRA] == {TYPE: 2}


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        ({EXTRA: {"A100": 1}}, EXTRA, "Name types that it has: cpu-slot."),
        ({EXTRA: {TYPE: 999}}, EXTRA, "Add at most 3 of type cpu-slot."),
        ({EXTRA: {TYPE: -1}}, f"{EXTRA}.{TYPE}", ""),
        ({EXTRA: 3}, EXTRA, ""),
        ({EXTRA: {TYPE: 0}}, "extra_guarantee", "extra_guarantee_by_type"),
        ({EXTRA: {TYPE: 2}}, EXTRA, "raise its gpus_by_type of cpu-slot for as long"),
        ({EXTRA: {TYPE: 1}, "extra_gpus_by_type": {TYPE: 1}, "extra_guarantee": 2}, "extra_guarantee", "max_gpus"),
    ],
)
def test_a_boost_that_cannot_be_kept_names_its_field_and_the_remedy(
    world: World, body: dict[str, Any], field: str, words: str
) -> None:
    cast = world.cast
    limits = {TYPE: 2} if body[EXTRA] != {TYPE: 999} else {}
    set_quota(cast.a, max_gpus=3, gpus_by_type=limits, guarantee_by_type={TYPE: 1}, actor=cast.root)
    if not limits:
        set_quota(cast.a, max_gpus=None, actor=cast.root)
    found, _, remedy = error_of(post(cast, cast.root, cast.a, "boosts", **body))
    assert found == field
    assert words in remedy
    assert not QuotaBoost.objects.exists()


def test_a_part_is_boosted_within_what_is_above_it_has_of_the_type_at_every_moment(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=3, guarantee_by_type={TYPE: 1}, actor=cast.root)
    field, message, _ = error_of(boost(cast, cast.alice, cast.project_a, 2))
    assert (field, message) == (
        EXTRA, f"With boosts, parts of A would be guaranteed 2 GPUs of type {TYPE} now, and it has 1.",
    )  # fmt: skip
    above = boost(cast, cast.root, cast.a, 1, hours=4).json()
    assert "when a boost ends" in error_of(boost(cast, cast.alice, cast.project_a, 2, hours=9))[1]
    assert boost(cast, cast.alice, cast.project_a, 2, hours=3).status_code == 201
    end = cast.client(cast.root).post(f"/api/v1/quota-boosts/{above['id']}/end")
    assert (end.status_code, end.json()["code"]) == (409, "boost_needed")
    path = f"/api/v1/organisations/{cast.a.pk}/quota"
    lowered = cast.client(cast.root).patch(path, {"guarantee_by_type": {}}, format="json")
    assert error_of(lowered)[0] == "guarantee_by_type"


def test_only_who_may_change_a_quota_boosts_it_and_others_learn_nothing_of_the_cluster(world: World) -> None:
    cast = world.cast
    for person, owner, status in (
        (cast.bob, cast.project_a, 403),
        (cast.charlie, cast.project_a, 404),
        (cast.alice, cast.a, 403),
    ):
        for gpu_type in (TYPE, "A100"):
            refused = post(cast, person, owner, "boosts", extra_guarantee_by_type={gpu_type: 999})
            assert refused.status_code == status
            assert "The cluster has" not in str(refused.json())


def test_boosts_count_when_another_organisation_is_guaranteed_gpus_of_the_type(world: World) -> None:
    cast = world.cast
    assert boost(cast, cast.root, cast.b, 3).status_code == 201
    path = f"/api/v1/organisations/{cast.a.pk}/quota"
    refused = cast.client(cast.root).patch(path, {"guarantee_by_type": {TYPE: 2}}, format="json")
    assert "other organisations are guaranteed 3; 2 are too many" in error_of(refused)[1]
    assert error_of(boost(cast, cast.root, cast.a, 2))[2] == f"Add at most 1 of type {TYPE}."
    QuotaBoost.objects.update(ends_at=timezone.now())
    assert boost(cast, cast.root, cast.a, 4).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_two_administrators_at_once_do_not_boost_two_organisations_to_the_same_gpus(world: World) -> None:
    cast = world.cast

    def ask(organisation: Any) -> int:
        try:
            return int(boost(cast, cast.root, organisation, N_SLOTS).status_code)
        finally:
            connections.close_all()

    for _ in range(3):
        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(ask, [cast.a, cast.b])) == [201, 422]
        QuotaBoost.objects.all().delete()


@pytest.mark.parametrize("hours", [None, 3.0])
def test_an_approval_gives_exactly_what_was_asked_for(world: World, hours: float | None) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=4, guarantee_by_type={TYPE: 3}, actor=cast.root)
    set_quota(cast.project_a, guarantee=1, actor=cast.alice)
    asked = post(cast, cast.bob, cast.project_a, "requests", hours=hours, **asking({TYPE: 2})).json()
    assert asked[EXTRA] == {TYPE: 2}
    approve = f"/api/v1/quota-requests/{asked['id']}/approve"
    assert cast.client(cast.alice).post(approve, {}, format="json").json()[EXTRA] == {TYPE: 2}
    found = tenant_of(cast.project_a)
    assert (found.guarantee, found.guarantee_by_type) == (3, ((TYPE, 2),))  # one of any type, as before
    assert (quota_of(cast.project_a).guarantee, QuotaBoost.objects.count()) == ((3, 0) if hours is None else (1, 1))
    again = cast.client(cast.alice).post(approve, {}, format="json")
    assert (again.status_code, again.json()["code"]) == (409, "request_answered")


def test_a_request_of_an_organisation_is_given_only_while_the_cluster_has_the_gpus(world: World) -> None:
    cast = world.cast
    refused = post(cast, cast.bob, cast.a, "requests", hours=None, **asking({"A100": 1}))
    assert error_of(refused) == (
        EXTRA, "The cluster has no GPUs of type A100, so none can be guaranteed.", f"Name types that it has: {TYPE}.",
    )  # fmt: skip
    assert not QuotaRequest.objects.exists()
    wanted = asking({TYPE: 3})
    assert post(cast, cast.charlie, cast.a, "requests", hours=None, **wanted).status_code == 404
    asked = post(cast, cast.bob, cast.a, "requests", hours=None, **wanted).json()
    set_quota(cast.b, guarantee_by_type={TYPE: 2}, actor=cast.root)
    approve = f"/api/v1/quota-requests/{asked['id']}/approve"
    assert cast.client(cast.alice).post(approve, {}, format="json").status_code == 403
    assert error_of(cast.client(cast.root).post(approve, {}, format="json"))[2] == f"Add at most 2 of type {TYPE}."
    assert QuotaRequest.objects.get().answer == ""
    given = cast.client(cast.root).post(approve, {EXTRA: {TYPE: 2}}, format="json")
    assert (given.json()["state"], given.json()[EXTRA]) == ("approved", {TYPE: 2})
    assert quota_of(cast.a).guarantee_by_type == {TYPE: 2}


@pytest.mark.django_db(transaction=True)
def test_two_administrators_at_once_approve_a_request_once(world: World) -> None:
    cast = world.cast
    asked = post(cast, cast.bob, cast.a, "requests", hours=None, **asking({TYPE: 3})).json()

    def approve(_: int) -> int:
        try:
            path = f"/api/v1/quota-requests/{asked['id']}/approve"
            return int(cast.client(cast.root).post(path, {}, format="json").status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(approve, range(2))) == [200, 409]
    assert quota_of(cast.a).guarantee_by_type == {TYPE: 3}


@pytest.mark.slow
def test_a_boost_takes_a_lent_gpu_back_as_its_preview_says_and_its_end_gives_it_back_by_grace(world: World) -> None:
    cast = world.cast
    theirs = job(cast.project_b, cast.charlie, min_workers=N_SLOTS, max_workers=N_SLOTS)
    world.rounds(3)
    own = world.job(min_workers=1, max_workers=1)
    world.rounds(2)
    assert (state(own), state(theirs)) == ("queued", "running")
    question = {"quotas": [{"organisation": str(cast.a.pk), EXTRA: {TYPE: 1}}]}
    preview = cast.client(cast.root).post("/api/v1/what-if", question, format="json")
    after = {one["id"]: one["after"]["decision"] for one in preview.json()["effects"]}
    assert after[str(theirs.id)] == "preempt"
    typo = {"quotas": [{"organisation": str(cast.a.pk), EXTRA: {"A100": 1}}]}
    assert error_of(cast.client(cast.root).post("/api/v1/what-if", typo, format="json"))[0] == EXTRA
    made = boost(cast, cast.root, cast.a, 1).json()
    world.rounds(4)
    assert (state(own), state(theirs)) == ("running", "queued")
    QuotaBoost.objects.filter(pk=made["id"]).update(ends_at=world.now + timedelta(seconds=1))
    world.rounds(2)
    assert state(own) == "running"  # what it holds counts as borrowed: no one is guaranteed it
    assert tenant_of(cast.a, now=world.now).guarantee_by_type == ()
