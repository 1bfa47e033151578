# SPDX-License-Identifier: Apache-2.0
"""Limits of borrowing and lending of single GPU types through the API: what is refused, what waits and says why."""

from __future__ import annotations

from typing import Any

import pytest

from mlhub.events.models import Event
from mlhub.tenants.actions import quota_of, set_quota
from tests.cast import make_cast
from tests.control.quotas.test_node_limits import RAISED_BY, limit, nodes, reason_of  # noqa: F401 (fixtures)
from tests.control.worlds import World, state
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
TYPE, N_SLOTS = "cpu-slot", 4
RULES = ("borrow_limit_by_type", "lend_limit_by_type")


@pytest.fixture
def world() -> World:
    """With four slots of one type."""
    found = World(make_cast())
    found.round()
    return found


def patch(world: World, user: Any, owner: Any, **rules: Any) -> Any:
    path = f"/api/v1/{type(owner).__name__.lower()}s/{owner.pk}/quota"
    return world.cast.client(user).patch(path, rules, format="json")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("value", "field", "words"),
    [
        ({"A100": 1}, "", "Name types that it has: cpu-slot."),
        ({TYPE: -1}, f".{TYPE}", ""),
        ({TYPE: 1.5}, f".{TYPE}", ""),
        ({TYPE: None}, f".{TYPE}", ""),
        ({"": 3}, "", ""),
        (3, "", ""),
        ({f"t{i}": 1 for i in range(51)}, "", ""),
    ],
    ids=["unknown type", "negative", "no whole number", "null", "no name", "no object", "too many"],
)
def test_a_limit_that_makes_no_sense_names_its_field_and_the_remedy(
    world: World, rule: str, value: Any, field: str, words: str
) -> None:
    cast = world.cast
    for user, owner in ((cast.root, cast.a), (cast.alice, cast.project_a)):
        answer = patch(world, user, owner, **{rule: value})
        assert answer.status_code == 422, answer.content
        first = answer.json()["errors"][0]
        assert first["field"] == rule + field
        assert words in first.get("remedy", "")
        assert getattr(quota_of(owner), rule) == {}
    wish = {"quotas": [{"project": str(cast.project_a.pk), rule: {"A100": 1}}]}
    assert cast.client(cast.alice).post("/api/v1/what-if", wish, format="json").status_code == 422


def test_who_may_set_limits_are_those_who_may_set_the_quota_and_others_learn_nothing(world: World) -> None:
    cast, rules = world.cast, {"borrow_limit_by_type": {"A100": 1}}
    assert patch(world, cast.bob, cast.project_a, **rules).status_code == 403
    assert patch(world, cast.alice, cast.a, **rules).status_code == 403
    for owner in (cast.a, cast.project_a):
        assert patch(world, cast.charlie, owner, **rules).status_code == 404


@pytest.mark.parametrize("rule", RULES)
def test_limits_are_versions_in_the_audit_that_can_be_restored_and_no_one_saves_over_anothers(
    world: World, rule: str
) -> None:
    cast = world.cast
    first = patch(world, cast.alice, cast.project_a, **{rule: {TYPE: 2}})
    assert (first.json()[rule], first.json()["version"]) == ({TYPE: 2}, 2)
    stale = patch(world, cast.alice, cast.project_a, version=1, **{rule: {TYPE: 3}})
    assert (stale.status_code, stale.json()["present"], stale.json()["yours"]) == (
        409,
        {rule: {TYPE: 2}},
        {rule: {TYPE: 3}},
    )
    event = Event.objects.filter(kind="quota.changed").latest("id")
    assert (event.facts["before"], event.facts["after"]) == ({rule: {}}, {rule: {TYPE: 2}})
    assert patch(world, cast.alice, cast.project_a, **{rule: {}}).json()[rule] == {}
    path = f"/api/v1/projects/{cast.project_a.pk}/quota/restore"
    restored = cast.client(cast.alice).post(path, {"version": 2}, format="json").json()
    assert (restored[rule], restored["version"]) == ({TYPE: 2}, 4)


def test_a_lending_limit_above_the_guarantee_lends_all_of_it_as_one_of_any_type(world: World) -> None:
    cast = world.cast
    made = patch(world, cast.root, cast.a, guarantee_by_type={TYPE: 2}, lend_limit=9, lend_limit_by_type={TYPE: 9})
    assert made.status_code == 200
    assert (made.json()["lend_limit"], made.json()["lend_limit_by_type"]) == (9, {TYPE: 9})


def test_a_limit_of_a_type_that_left_the_cluster_may_stay_and_change(world: World) -> None:
    cast = world.cast
    set_quota(cast.project_a, borrow_limit_by_type={"T4": 2}, actor=cast.alice)
    assert patch(world, cast.alice, cast.project_a, borrow_limit_by_type={"T4": 1, TYPE: 1}).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("where", RAISED_BY)
def test_a_job_waits_for_a_limit_at_every_node_says_whose_it_is_and_is_advised_the_one_that_lets_it_start(
    world: World,
    nodes: dict[str, Any],  # noqa: F811
    where: str,
) -> None:
    world.settle(policy="fifo")
    limit(world, nodes[where], borrow_limit_by_type={TYPE: 1})
    of_type = {"resources": {"memory_gib": 0.25, "gpu_types": [TYPE]}}
    first = world.job(min_workers=1, max_workers=1, steps_total=1_000_000, **of_type)
    world.rounds(2)
    second = world.job(min_workers=1, max_workers=1, **of_type)
    world.rounds(2)
    assert (state(first), state(second)) == ("running", "queued")
    name, by = RAISED_BY[where]
    why = reason_of(world, second)
    assert why["reason"] == "borrow_limit_of_type"
    assert why["sentence"].startswith(
        f"Borrowing limit reached: {name} uses 1 GPU of type {TYPE}, is guaranteed 0 and may borrow 1 of that type; 1 "
    )
    bob = world.cast.client(world.cast.bob)
    analysis = bob.get(f"/api/v1/jobs/{second.id}/why").json()["analysis"]
    blocker = next(one for one in analysis["blockers"] if one["kind"] == "borrow_limit_of_type")
    assert (blocker["have"], blocker["total"], blocker["tenant"], blocker["is_blocking"]) == (0, 1, name, True)
    larger = next(one for one in analysis["actions"] if one["kind"] == "larger_borrow_limit_of_type")
    assert (larger["by"], larger["changes"]) == ("administrator", {"borrow_limit_by_type": {TYPE: 2}})
    assert larger["sentence"] == f"Raise the borrowing limit of {name} to 2 GPUs of type {TYPE}; {by} can."
    tree = bob.get(f"/api/v1/organisations/{world.cast.a.id}/quota-tree").json()
    row = next(row for row in tree["owners"] if row["name"] == name)
    assert row["borrow_limit_by_type"] == {TYPE: 1}
    assert row["books_by_type"] == {TYPE: {"guaranteed": 0, "used": 1, "borrowed": 1, "lent": 0}}
    assert sum(bool(row["books_by_type"]) for row in tree["owners"]) == 1
    limit(world, nodes[where], **larger["changes"])
    world.rounds(2)
    assert (state(first), state(second)) == ("running", "running")


@pytest.mark.slow
def test_a_lowered_borrowing_limit_stops_a_job_with_a_checkpoint_and_the_preview_shows_it_first(world: World) -> None:
    running = world.job(min_workers=2, max_workers=2)
    world.rounds(3)
    rules = {"borrow_limit_by_type": {TYPE: 1}}
    wish = {"quotas": [{"project": str(world.cast.project_a.pk), **rules}]}
    preview = world.cast.client(world.cast.alice).post("/api/v1/what-if", wish, format="json").json()
    assert [(one["id"], one["after"]["decision"]) for one in preview["effects"]] == [(str(running.id), "preempt")]
    assert state(running) == "running"
    assert patch(world, world.cast.alice, world.cast.project_a, **rules).status_code == 200
    world.rounds(4)
    running.refresh_from_db()
    assert (running.state, running.reason) == ("queued", "larger_than_quota_of_type")


@pytest.mark.slow
def test_what_an_organisation_lends_no_more_comes_back_by_a_checkpoint(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee_by_type={TYPE: 2}, actor=cast.root)
    theirs = [job(cast.project_b, cast.charlie, min_workers=2, max_workers=2) for _ in range(2)]
    world.rounds(3)
    assert [state(one) for one in theirs] == ["running", "running"]
    rules = {"lend_limit_by_type": {TYPE: 0}}
    wish = {"quotas": [{"organisation": str(cast.a.pk), **rules}]}
    preview = cast.client(cast.root).post("/api/v1/what-if", wish, format="json").json()
    assert [one["after"]["decision"] for one in preview["effects"]] == ["preempt"]
    assert patch(world, cast.root, cast.a, **rules).status_code == 200
    world.rounds(4)
    assert sorted(state(one) for one in theirs) == ["queued", "running"]
    left = next(one for one in theirs if state(one) == "queued")
    assert left.reason == "not_lent_of_type"
    why = left.explanations[0]
    assert "lending limits keep 2 GPUs of that type idle" in why["sentence"]
    assert why["facts"]["tenant"] == "B"  # and no other organisation is named
    own = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    assert state(own) == "running"
