# SPDX-License-Identifier: Apache-2.0
"""The tree of an organisation's teams: made, moved, renamed and deleted; what it refuses, and to whom."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connections

from mlhub.core.errors import InvalidInputError
from mlhub.events.models import Event
from mlhub.tenants.actions import create_team, move, move_team, set_quota
from mlhub.tenants.models import Organisation, Project, Team
from mlhub.tenants.team_tree import MOST_LEVELS, TeamTree
from tests.cast import Cast, make_cast

Made = dict[str, Team]


def chain(cast: Cast, *names: str) -> Made:
    """Each below the one before it."""
    made: Made = {}
    for name in names:
        above = list(made.values())[-1] if made else None
        made[name] = Team.objects.create(organisation=cast.a, name=name, parent=above)
    return made


def patch(cast: Cast, by: Any, team: Team, *, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = cast.client(by).patch(f"/api/v1/teams/{team.pk}", body, format="json")
    assert answer.status_code == status, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_teams_are_made_below_teams_moved_and_renamed_and_the_audit_says_so(cast: Cast) -> None:
    alice = cast.client(cast.alice)
    body = {"organisation": str(cast.a.pk), "name": "research"}
    research = alice.post("/api/v1/teams", body, format="json").json()
    assert research["parent"] is None
    body = {**body, "name": "vision", "parent": research["id"]}
    vision = alice.post("/api/v1/teams", body, format="json").json()
    assert vision["parent"] == {"id": research["id"], "name": "research"}
    team = Team.objects.get(pk=vision["id"])
    assert patch(cast, cast.alice, team, parent=None, name="sight")["parent"] is None
    assert patch(cast, cast.alice, team, parent=research["id"])["parent"]["name"] == "research"
    moved = Event.objects.filter(kind="team.moved").order_by("id")
    assert [(one.facts["before"], one.facts["after"]) for one in moved] == [
        ({"parent": "research"}, {"parent": None}),
        ({"parent": None}, {"parent": "research"}),
    ]
    assert moved[0].actor == cast.alice
    assert Event.objects.get(kind="team.created", subject_id=team.pk).facts["parent"] == "research"


def test_a_team_is_moved_with_all_below_it_and_not_below_itself(cast: Cast) -> None:
    teams = chain(cast, "research", "vision", "video")
    for below, place in (("research", "itself"), ("vision", "vision, which is below it"), ("video", "video, which")):
        refused = patch(cast, cast.alice, teams["research"], parent=str(teams[below].pk), status=422)
        assert refused["detail"].startswith(f"research cannot be moved below {place}")
        assert refused["errors"][0]["field"] == "parent"
    other = create_team(cast.a, name="product", actor=cast.alice)
    patch(cast, cast.alice, teams["vision"], parent=str(other.pk))
    within = cast.client(cast.victor).get("/api/v1/teams", {"within": str(other.pk)}).json()["results"]
    assert {one["name"] for one in within} == {"product", "vision", "video"}
    assert [one.name for one in Team.objects.line_of(Team.objects.get(name="video"))] == ["video", "vision", "product"]


def test_teams_are_at_most_so_many_levels_deep(cast: Cast) -> None:
    names = [f"level {n}" for n in range(1, MOST_LEVELS + 1)]
    deep = chain(cast, *names)
    body = {"organisation": str(cast.a.pk), "name": "too deep", "parent": str(deep[names[-1]].pk)}
    refused = cast.client(cast.alice).post("/api/v1/teams", body, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "parent")
    assert refused.json()["detail"] == f"Teams would be {MOST_LEVELS + 1} levels deep, and may be {MOST_LEVELS}."
    pair = chain(cast, "upper", "lower")
    patch(cast, cast.alice, pair["upper"], parent=str(deep[names[-2]].pk), status=422)
    patch(cast, cast.alice, pair["upper"], parent=str(deep[names[-3]].pk))
    assert len(Team.objects.line_of(Team.objects.get(name="lower"))) == MOST_LEVELS


def test_a_team_with_teams_or_projects_is_not_deleted_and_says_what_to_do(cast: Cast) -> None:
    teams = chain(cast, "research", "vision")
    Project.objects.filter(pk=cast.project_a.pk).update(team=teams["vision"])
    alice = cast.client(cast.alice)
    for name, contents in (("research", {"team": 1}), ("vision", {"project": 1})):
        refused = alice.delete(f"/api/v1/teams/{teams[name].pk}")
        assert (refused.status_code, refused.json()["contents"]) == (409, contents)
        assert refused.json()["remedy"] == "Delete those first, or move them to another team."
    move(cast.project_a, team=None, actor=cast.alice)
    assert alice.delete(f"/api/v1/teams/{teams['vision'].pk}").status_code == 204
    assert alice.delete(f"/api/v1/teams/{teams['research'].pk}").status_code == 204


def test_a_name_is_one_team_s_in_the_whole_organisation(cast: Cast) -> None:
    teams = chain(cast, "research", "vision")
    body = {"organisation": str(cast.a.pk), "name": "vision"}
    assert cast.client(cast.alice).post("/api/v1/teams", body, format="json").json()["code"] == "name_taken"
    assert patch(cast, cast.alice, teams["research"], name="vision", status=409)["code"] == "name_taken"


def test_what_another_admin_moved_meanwhile_is_not_moved_unseen(cast: Cast) -> None:
    teams = {**chain(cast, "research", "vision"), **chain(cast, "product")}
    seen = {"parent": str(teams["research"].pk)}
    patch(cast, cast.root, teams["vision"], parent=str(teams["product"].pk), seen=seen)
    refused = patch(cast, cast.alice, teams["vision"], parent=None, name="sight", seen=seen, status=409)
    assert refused["present"] == {"parent": str(teams["product"].pk), "name": "vision"}
    assert Team.objects.get(pk=teams["vision"].pk).name == "vision"


def test_teams_are_searched_by_their_name_and_by_those_above_them(cast: Cast) -> None:
    chain(cast, "research", "vision", "video")
    chain(cast, "product", "search tools")
    Team.objects.create(organisation=cast.b, name="secret research")

    def found(by: Any, **query: str) -> list[str]:
        answer = cast.client(by).get("/api/v1/teams", {"organisation": str(cast.a.pk), **query})
        assert answer.status_code == 200, answer.content
        return sorted(team["name"] for team in answer.json()["results"])

    assert found(cast.bob, search="VISION") == ["video", "vision"]
    assert found(cast.bob, search="search") == ["research", "search tools", "video", "vision"]
    assert found(cast.bob, search="nothing like it") == []
    assert found(cast.charlie, search="research") == []
    first = cast.client(cast.bob).get("/api/v1/teams", {"search": "search", "limit": "3"}).json()
    assert len(first["results"]) == 3
    assert "search=search" in first["next"]


def test_strangers_and_members_change_nothing(cast: Cast) -> None:
    teams = chain(cast, "research", "vision")
    theirs = Team.objects.create(organisation=cast.b, name="theirs")
    charlie, path = cast.client(cast.charlie), f"/api/v1/teams/{teams['vision'].pk}"
    assert charlie.get(path).status_code == 404
    assert charlie.patch(path, {"parent": None}, format="json").status_code == 404
    assert charlie.delete(path).status_code == 404
    assert charlie.get("/api/v1/teams", {"within": str(teams["research"].pk)}).json()["results"] == []
    assert charlie.get("/api/v1/projects", {"within": str(teams["research"].pk)}).json()["results"] == []
    body = {"organisation": str(cast.b.pk), "name": "new", "parent": str(teams["research"].pk)}
    refused = charlie.post("/api/v1/teams", body, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (404, "parent")
    patch(cast, cast.charlie, theirs, parent=str(teams["research"].pk), status=404)
    for member in (cast.bob, cast.victor):
        patch(cast, member, teams["vision"], parent=None, status=403)
    # whoever sees both organisations joins them no more than others
    refused = cast.client(cast.root).post("/api/v1/teams", body, format="json")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "parent")
    refusal = patch(cast, cast.root, theirs, parent=str(teams["research"].pk), status=422)
    assert refusal["errors"][0]["field"] == "parent"
    assert Team.objects.filter(organisation=cast.b).count() == 1


def test_a_guarantee_goes_only_where_there_is_room_for_it(cast: Cast) -> None:
    teams = {**chain(cast, "research", "vision"), **chain(cast, "product")}
    set_quota(cast.a, guarantee=8, actor=cast.root)
    set_quota(teams["research"], guarantee=4, actor=cast.alice)
    with pytest.raises(InvalidInputError, match="research is guaranteed 4 GPUs, and 0 of them are shared out; 5"):
        set_quota(teams["vision"], guarantee=5, actor=cast.alice)
    set_quota(teams["vision"], guarantee=4, actor=cast.alice)
    with pytest.raises(InvalidInputError, match="Teams and projects of research are guaranteed 4 GPUs in sum"):
        set_quota(teams["research"], guarantee=3, actor=cast.alice)
    refused = patch(cast, cast.alice, teams["vision"], parent=str(teams["product"].pk), status=422)
    assert refused["errors"][0]["field"] == "parent"
    assert refused["remedy"] == "Lower the guarantee of vision before it moves, or have that of the new place raised."
    set_quota(teams["product"], guarantee=4, actor=cast.alice)
    patch(cast, cast.alice, teams["vision"], parent=str(teams["product"].pk))
    set_quota(teams["research"], guarantee=3, actor=cast.alice)
    set_quota(cast.project_a, guarantee=1, actor=cast.alice)
    with pytest.raises(
        InvalidInputError, match="product is guaranteed 4 GPUs, and 4 of them are shared out"
    ) as refusal:
        move(cast.project_a, team=teams["product"], actor=cast.alice)
    assert refusal.value.field == "team"
    move(cast.project_a, team=teams["research"], actor=cast.alice)


@pytest.mark.django_db(transaction=True)
def test_two_moves_at_once_make_no_cycle() -> None:
    cast = make_cast()
    left, right = (Team.objects.create(organisation=cast.a, name=name) for name in ("left", "right"))

    def below(pair: tuple[Team, Team]) -> str:
        team, parent = pair
        try:
            move_team(team, parent=parent, actor=cast.alice)
        except InvalidInputError as error:
            return str(error.field)
        finally:
            connections.close_all()
        return "moved"

    for _ in range(5):
        with ThreadPoolExecutor(2) as threads:
            answers = sorted(threads.map(below, [(left, right), (right, left)]))
        assert answers == ["moved", "parent"]
        assert Team.objects.filter(parent=None).count() == 1
        Team.objects.update(parent=None)
        for team in (left, right):
            team.refresh_from_db()


def test_what_is_above_and_below_is_the_same_in_sql_and_in_memory(cast: Cast, django_assert_num_queries: Any) -> None:
    draw = random.Random(7)
    rows: list[Team] = []
    for n in range(60):
        rows.append(Team(organisation=cast.a, name=f"t{n}", parent=draw.choice([None, *rows[:20]]) if n else None))
    rows = [one for one in rows if len(_line(one)) <= MOST_LEVELS]
    Team.objects.bulk_create(rows)
    tree = TeamTree(dict(Team.objects.values_list("id", "parent_id")))
    for team in draw.sample(rows, 12):
        assert set(Team.objects.below([team.pk]).values_list("id", flat=True)) == set(tree.below(team.pk))
        assert set(Team.objects.above([team.pk]).values_list("id", flat=True)) == set(tree.line(team.pk))
        assert tuple(one.pk for one in Team.objects.line_of(team)) == tree.line(team.pk)
    two = [rows[0].pk, rows[-1].pk]
    with django_assert_num_queries(1):
        found = set(Team.objects.below(two).values_list("id", flat=True))
    assert found == {*tree.below(two[0]), *tree.below(two[1])}
    with django_assert_num_queries(1):  # a query of ids is a part of the same query
        chosen = Team.objects.filter(name="t0").values("pk")
        assert Project.objects.filter(team__in=Team.objects.below(chosen)).count() == 0
    assert not Team.objects.below(Team.objects.none().values("pk")).exists()
    assert Team.objects.lines_of(two) == {pk: tree.line(pk) for pk in two}


def _line(team: Team) -> list[Team]:
    return [team, *(_line(team.parent) if team.parent else [])]


def test_rows_that_are_damaged_end_no_query(cast: Cast) -> None:
    """A cycle can be made by hand only."""
    teams = chain(cast, "research", "vision")
    Team.objects.filter(pk=teams["research"].pk).update(parent=teams["vision"])
    assert Team.objects.below([teams["vision"].pk]).count() == 2
    assert {one.name for one in Team.objects.line_of(Team.objects.get(name="vision"))} == {"research", "vision"}


def test_a_tree_is_walked_parents_first() -> None:
    a, b, c, d = sorted((uuid4() for _ in range(4)), key=str)
    parents: dict[UUID, UUID | None] = {d: a, a: None, b: None, c: d}
    tree = TeamTree(parents)
    assert tree.in_order() == (a, d, c, b)
    assert tree.line(c) == (c, d, a)
    assert tree.below(a) == (a, d, c)
    assert (tree.levels_below(a), tree.levels_below(b), tree.line(uuid4())) == (3, 1, ())


def test_an_organisation_with_a_tree_of_teams_is_not_deleted(cast: Cast) -> None:
    chain(cast, "research", "vision")
    cast.project_a.delete()
    assert cast.client(cast.root).delete(f"/api/v1/organisations/{cast.a.pk}").json()["contents"] == {"teams": 2}
    assert Organisation.objects.filter(pk=cast.a.pk).exists()
