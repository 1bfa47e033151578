# SPDX-License-Identifier: Apache-2.0
"""Guarantees that are more in sum than the cluster has: accepted, and shown to whom they concern."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mlhub.clusters.models import Node
from mlhub.tenants.actions import boost_quota, end_boost, quota_of, request_quota, set_quota
from tests.cast import make_cast
from tests.control.worlds import World

pytestmark = pytest.mark.django_db
TYPE = "cpu-slot"


@pytest.fixture
def world() -> World:
    """With four slots of one type, two on each node."""
    found = World(make_cast())
    found.round()
    return found


def read(world: World, user: Any, path: str) -> Any:
    answer = world.cast.client(user).get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def change(world: World, path: str, **rules: Any) -> Any:
    answer = world.cast.client(world.cast.root).patch(f"/api/v1/{path}", rules, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()


def of_tree(world: World, user: Any, organisation: Any) -> dict[str, Any]:
    owners = read(world, user, f"organisations/{organisation.pk}/quota-tree")["owners"]
    return {owner["name"]: owner["overcommitted"] for owner in owners}


def row(guaranteed: int | None, *, gpus: int = 4, gpu_type: str = "") -> dict[str, Any]:
    return {"gpu_type": gpu_type, "guaranteed": guaranteed, "gpus": gpus}


def test_a_guarantee_above_the_cluster_is_kept_and_the_answer_says_by_how_much(world: World) -> None:
    path = f"organisations/{world.cast.a.pk}/quota"
    assert change(world, path, guarantee=4)["overcommitted"] == []
    assert change(world, path, guarantee=9)["overcommitted"] == [row(9)]
    assert quota_of(world.cast.a).guarantee == 9
    assert read(world, world.cast.root, "cluster")["overcommitted"] == [row(9)]
    assert change(world, path, guarantee=None)["overcommitted"] == []
    assert read(world, world.cast.root, "cluster")["overcommitted"] == []


def test_two_organisations_whose_sum_is_too_much_both_see_that_and_no_number_of_the_other(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=3, actor=cast.root)
    change(world, f"organisations/{cast.b.pk}/quota", guarantee=2)
    for user, organisation in ((cast.bob, cast.a), (cast.charlie, cast.b)):
        assert of_tree(world, user, organisation)[organisation.name] == [row(None)]
        assert read(world, user, f"organisations/{organisation.pk}/quota")["overcommitted"] == [row(None)]
        assert read(world, user, "cluster")["overcommitted"] == []
    assert of_tree(world, cast.root, cast.a) == {"A": [row(5)], "vision": []}
    set_quota(cast.a, guarantee=2, actor=cast.root)
    assert of_tree(world, cast.charlie, cast.b)["B"] == []


def test_who_is_guaranteed_nothing_is_not_warned_of_what_others_are(world: World) -> None:
    change(world, f"organisations/{world.cast.a.pk}/quota", guarantee=9)
    assert of_tree(world, world.cast.charlie, world.cast.b)["B"] == []


def test_a_guarantee_of_a_type_shows_when_nodes_of_the_type_are_gone_but_not_while_they_are_away(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee_by_type={TYPE: 4}, actor=cast.root)
    Node.objects.update(is_ready=False)
    assert read(world, cast.root, "cluster")["overcommitted"] == []
    Node.objects.order_by("name")[0].delete()
    short = [row(4, gpus=2), row(4, gpus=2, gpu_type=TYPE)]
    assert read(world, cast.root, "cluster")["overcommitted"] == short
    assert of_tree(world, cast.root, cast.a)["A"] == short
    Node.objects.all().delete()
    gone = [row(4, gpus=0), row(4, gpus=0, gpu_type=TYPE)]
    assert read(world, cast.root, "cluster")["overcommitted"] == gone


def test_boosts_count_for_as_long_as_they_last(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=3, actor=cast.root)
    ends_at = timezone.now() + timedelta(hours=1)
    boost = boost_quota(cast.a, extra_guarantee=2, ends_at=ends_at, actor=cast.root)
    assert of_tree(world, cast.root, cast.a)["A"] == [row(5)]
    end_boost(boost, actor=cast.root)
    assert of_tree(world, cast.root, cast.a)["A"] == []


def test_guarantees_of_any_type_and_of_types_are_one_sum(world: World) -> None:
    """One organisation's are of the type alone, the other's of any: four are there, and five are guaranteed."""
    cast = world.cast
    set_quota(cast.a, guarantee_by_type={TYPE: 3}, actor=cast.root)
    set_quota(cast.b, guarantee=2, actor=cast.root)
    assert read(world, cast.root, "cluster")["overcommitted"] == [row(5)]


def test_a_restored_version_is_answered_with_the_warning(world: World) -> None:
    cast = world.cast
    for guarantee in (9, 1):
        change(world, f"organisations/{cast.a.pk}/quota", guarantee=guarantee)
    path = f"/api/v1/organisations/{cast.a.pk}/quota/restore"
    answer = cast.client(cast.root).post(path, {"version": quota_of(cast.a).version - 1}, format="json")
    assert answer.status_code == 200, answer.content
    assert answer.json()["overcommitted"] == [row(9)]


def test_parts_are_refused_more_than_is_above_them_so_they_overcommit_nothing(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=9, actor=cast.root)
    client = cast.client(cast.root)
    refused = client.patch(f"/api/v1/projects/{cast.project_a.pk}/quota", {"guarantee": 10}, format="json")
    assert refused.status_code == 422
    taken = client.patch(f"/api/v1/projects/{cast.project_a.pk}/quota", {"guarantee": 9}, format="json")
    assert (taken.status_code, taken.json()["overcommitted"]) == (200, [])
    assert of_tree(world, cast.root, cast.a) == {"A": [row(9)], "vision": []}


def what_if(world: World, user: Any, **question: Any) -> Any:
    answer = world.cast.client(user).post("/api/v1/what-if", question, format="json")
    assert answer.status_code == 200, answer.content
    return answer.json()["overcommitted"]


def test_a_question_about_guarantees_says_what_the_cluster_could_not_honour(world: World) -> None:
    cast = world.cast
    organisation = str(cast.a.pk)
    set_quota(cast.b, guarantee=2, actor=cast.root)
    asked = {"organisation": organisation, "guarantee": 3}
    assert what_if(world, cast.root, quotas=[asked]) == [row(5)]
    assert what_if(world, cast.root, quotas=[asked], add_nodes={"gpus": 1}) == []
    assert what_if(world, cast.root, quotas=[asked | {"guarantee": 2}]) == []
    assert what_if(world, cast.root, quotas=[{"organisation": organisation, "max_gpus": 1}]) == []
    set_quota(cast.a, guarantee=2, actor=cast.root)
    assert what_if(world, cast.root, quotas=[{"organisation": organisation, "extra_guarantee": 2}]) == [row(6)]
    of_type = {"organisation": organisation, "extra_guarantee_by_type": {TYPE: 5}}
    assert what_if(world, cast.root, quotas=[of_type]) == [row(9), row(5, gpu_type=TYPE)]
    assert what_if(world, cast.root, remove_nodes=[Node.objects.order_by("name")[0].name]) == [row(4, gpus=2)]
    assert quota_of(cast.a).guarantee == 2
    assert what_if(world, cast.root, quotas=[{"project": str(cast.project_a.pk), "guarantee": 9}]) == []


def test_questions_do_not_find_out_what_other_organisations_are_guaranteed(world: World) -> None:
    """Nor by one number after the other: the answer changes where one's own guarantee is more than the cluster has."""
    cast = world.cast
    for others in (None, 1, 4, 9):
        set_quota(cast.b, guarantee=others, actor=cast.root)
        for guarantee in range(1, 7):
            found = what_if(world, cast.alice, quotas=[{"organisation": str(cast.a.pk), "guarantee": guarantee}])
            assert found == ([] if guarantee <= 4 else [row(None)]), (others, guarantee)


def test_a_boost_and_an_approved_request_are_answered_with_the_warning(world: World) -> None:
    cast = world.cast
    set_quota(cast.a, guarantee=3, actor=cast.root)
    ends_at = (timezone.now() + timedelta(hours=1)).isoformat()
    client = cast.client(cast.root)
    path = f"/api/v1/organisations/{cast.a.pk}/quota/boosts"
    for extra, found in ((1, []), (2, [row(6)])):
        made = client.post(path, {"extra_guarantee": extra, "ends_at": ends_at}, format="json")
        assert (made.status_code, made.json()["overcommitted"]) == (201, found), made.content
    assert "overcommitted" not in read(world, cast.bob, f"organisations/{cast.a.pk}/quota/boosts")[0]
    asked = request_quota(cast.a, extra_guarantee=1, reason="two papers are due", actor=cast.bob)
    answered = client.post(f"/api/v1/quota-requests/{asked.pk}/approve", {}, format="json")
    assert (answered.status_code, answered.json()["overcommitted"]) == (200, [row(7)]), answered.content
    of_part = request_quota(cast.project_a, extra_guarantee=1, reason="two papers are due", actor=cast.bob)
    answered = cast.client(cast.alice).post(f"/api/v1/quota-requests/{of_part.pk}/approve", {}, format="json")
    assert (answered.status_code, answered.json()["overcommitted"]) == (200, []), answered.content
