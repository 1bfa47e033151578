# SPDX-License-Identifier: Apache-2.0
"""Guarantees of single GPU types through the API: what is refused and why, the tree's books, and who gives back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from mlhub.tenants.actions import create_team, quota_of, set_quota
from mlhub.tenants.models import Project, Team
from tests.cast import Cast, make_cast
from tests.control.worlds import World, state
from tests.jobs.builders import job

pytestmark = pytest.mark.django_db
TYPE, N_SLOTS = "cpu-slot", 4


@pytest.fixture
def world() -> World:
    """With four slots of one type, two on each node."""
    found = World(make_cast())
    found.round()
    return found


def patch(cast: Cast, user: Any, owner: Any, **rules: Any) -> Any:
    path = f"/api/v1/{type(owner).__name__.lower()}s/{owner.pk}/quota"
    return cast.client(user).patch(path, rules, format="json")


def error_of(answer: Any) -> tuple[str, str, str]:
    assert answer.status_code == 422, answer.content
    first = answer.json()["errors"][0]
    return first["field"], first["message"], first.get("remedy", "")


@pytest.mark.parametrize(
    ("rules", "field", "words"),
    [
        ({"guarantee_by_type": {"A100": 1}}, "guarantee_by_type", "Name types that it has: cpu-slot."),
        ({"guarantee_by_type": {TYPE: 999}}, "guarantee_by_type", "Guarantee at most"),
        ({"guarantee_by_type": {TYPE: -1}}, "guarantee_by_type.cpu-slot", ""),
        ({"guarantee_by_type": 3}, "guarantee_by_type", ""),
        ({"guarantee": 1, "guarantee_by_type": {TYPE: 2}}, "guarantee_by_type", "at most 1 of single types"),
        ({"max_gpus": 1, "guarantee_by_type": {TYPE: 2}}, "guarantee_by_type", "at most 1 of single types"),
        ({"gpus_by_type": {TYPE: 1}, "guarantee_by_type": {TYPE: 2}}, "guarantee_by_type", "raise gpus_by_type"),
    ],
)
def test_a_guarantee_that_cannot_be_kept_names_its_field_and_the_remedy(
    world: World, rules: dict[str, Any], field: str, words: str
) -> None:
    found, _, remedy = error_of(patch(world.cast, world.cast.root, world.cast.a, **rules))
    assert found == field
    assert words in remedy
    assert quota_of(world.cast.a).guarantee_by_type == {}


def test_organisations_are_guaranteed_no_more_of_a_type_than_the_cluster_has(world: World) -> None:
    assert patch(world.cast, world.cast.root, world.cast.b, guarantee_by_type={TYPE: 1}).status_code == 200
    _, message, remedy = error_of(patch(world.cast, world.cast.root, world.cast.a, guarantee_by_type={TYPE: N_SLOTS}))
    assert f"of which other organisations are guaranteed 1; {N_SLOTS} are too many" in message
    assert f"at most {N_SLOTS - 1} of type {TYPE}" in remedy
    made = patch(world.cast, world.cast.root, world.cast.a, guarantee_by_type={TYPE: N_SLOTS - 1})
    assert made.json()["guarantee_by_type"] == {TYPE: N_SLOTS - 1}


def test_an_older_version_returns_only_while_the_cluster_has_its_gpus(world: World) -> None:
    cast = world.cast
    for rules in ({"guarantee_by_type": {TYPE: 3}}, {"guarantee_by_type": {}}):
        assert patch(cast, cast.root, cast.a, **rules).status_code == 200
    assert patch(cast, cast.root, cast.b, guarantee_by_type={TYPE: 2}).status_code == 200
    path, body = f"/api/v1/organisations/{cast.a.pk}/quota/restore", {"version": quota_of(cast.a).version - 1}
    _, message, _ = error_of(cast.client(cast.root).post(path, body, format="json"))
    assert "of which other organisations are guaranteed 2; 3 are too many" in message
    assert quota_of(cast.a).guarantee_by_type == {}
    assert cast.client(cast.alice).post(path, body, format="json").status_code == 403  # and learns nothing of others


@pytest.mark.django_db(transaction=True)
def test_two_organisations_at_once_are_not_guaranteed_the_same_gpus(world: World) -> None:
    cast = world.cast
    browser = {organisation: cast.client(cast.root) for organisation in (cast.a, cast.b)}

    def ask(organisation: Any) -> int:
        path = f"/api/v1/organisations/{organisation.pk}/quota"
        try:
            body = {"guarantee_by_type": {TYPE: N_SLOTS}}
            return int(browser[organisation].patch(path, body, format="json").status_code)
        finally:
            connections.close_all()

    for _ in range(5):
        with ThreadPoolExecutor(2) as threads:
            assert sorted(threads.map(ask, [cast.a, cast.b])) == [200, 422]
        for organisation in (cast.a, cast.b):
            set_quota(organisation, guarantee_by_type={}, actor=cast.root)


def test_parts_are_guaranteed_of_a_type_what_is_above_has_and_admins_share_it_out(world: World) -> None:
    cast = world.cast
    team = create_team(cast.a, name="research", actor=cast.alice)
    Project.objects.filter(pk=cast.project_a.pk).update(team=team)
    assert "A is guaranteed 0 GPUs of type" in error_of(patch(cast, cast.alice, team, guarantee_by_type={TYPE: 1}))[1]
    set_quota(cast.a, guarantee_by_type={TYPE: 2}, actor=cast.root)
    assert patch(cast, cast.bob, team, guarantee_by_type={TYPE: 1}).status_code == 403
    assert patch(cast, cast.charlie, team, guarantee_by_type={TYPE: 1}).status_code == 404
    assert patch(cast, cast.alice, cast.a, guarantee_by_type={TYPE: 1}).status_code == 403
    assert patch(cast, cast.alice, team, guarantee_by_type={TYPE: 2}).status_code == 200
    project = Project.objects.get(pk=cast.project_a.pk)
    assert patch(cast, cast.alice, project, guarantee_by_type={TYPE: 2}).status_code == 200
    field, message, _ = error_of(patch(cast, cast.alice, team, guarantee_by_type={TYPE: 1}))
    assert field == "guarantee_by_type"
    assert message == f"Teams and projects of research are guaranteed 2 GPUs of type {TYPE} in sum, more than 1."


def test_gpus_guaranteed_by_type_are_not_guaranteed_once_more_as_gpus_of_any_type(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=3, guarantee_by_type={TYPE: 2}, actor=cast.root)
    field, message, _ = error_of(patch(cast, cast.alice, cast.project_a, guarantee=2))
    assert field == "guarantee"
    assert message.startswith("A is guaranteed 1 GPU of any type besides those of single types, and 0 of them")
    made = patch(cast, cast.alice, cast.project_a, guarantee=3, guarantee_by_type={TYPE: 2})
    assert made.status_code == 200
    assert made.json()["guaranteed"] == 3
    field, message, remedy = error_of(patch(cast, cast.root, cast.a, guarantee_by_type={TYPE: 3}))
    assert field == "guarantee_by_type"
    assert "guaranteed 1 GPU of any type in sum; besides those of single types 0 would be left" in message
    assert "4 in all" in remedy


def test_a_team_moves_only_to_where_its_guarantee_of_a_type_has_room(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee_by_type={TYPE: 2}, actor=cast.root)
    moved, place = (create_team(cast.a, name=name, actor=cast.alice) for name in ("moved", "place"))
    set_quota(moved, guarantee_by_type={TYPE: 1}, actor=cast.alice)
    answer = cast.client(cast.alice).patch(f"/api/v1/teams/{moved.pk}", {"parent": str(place.pk)}, format="json")
    field, message, remedy = error_of(answer)
    assert (field, message.split(",")[0]) == ("parent", f"place is guaranteed 0 GPUs of type {TYPE}")
    assert remedy == "Lower the guarantee of moved before it moves, or have that of the new place raised."
    assert Team.objects.get(pk=moved.pk).parent is None


@pytest.mark.slow
def test_an_organisation_takes_back_what_another_borrows_of_its_type_and_the_tree_shows_it(world: World) -> None:
    cast = world.cast
    theirs = job(cast.project_b, cast.charlie, min_workers=N_SLOTS, max_workers=N_SLOTS)
    world.rounds(3)
    assert state(theirs) == "running"
    preview = cast.client(cast.root).post(
        "/api/v1/what-if",
        {"quotas": [{"organisation": str(cast.a.pk), "guarantee_by_type": {TYPE: 1}}]},
        format="json",
    )
    assert preview.status_code == 200
    assert patch(cast, cast.root, cast.a, guarantee_by_type={TYPE: 1}).status_code == 200
    tree = cast.client(cast.alice).get(f"/api/v1/organisations/{cast.a.pk}/quota-tree").json()["owners"][0]
    assert tree["books_by_type"] == {TYPE: {"guaranteed": 1, "used": 0, "borrowed": 0, "lent": 1}}
    assert (tree["guaranteed"], tree["lent"]) == (1, 1)
    own = world.job(min_workers=1, max_workers=1)
    world.rounds(4)
    assert (state(own), state(theirs)) == ("running", "queued")
    tree = cast.client(cast.alice).get(f"/api/v1/organisations/{cast.a.pk}/quota-tree").json()["owners"][0]
    assert tree["books_by_type"] == {TYPE: {"guaranteed": 1, "used": 1, "borrowed": 0, "lent": 0}}
