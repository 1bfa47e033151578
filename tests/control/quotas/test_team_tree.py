# SPDX-License-Identifier: Apache-2.0
"""Rules of a team that is above a job's team: they bind in rounds, at submission, in budgets, and name whose they are.

A project of the team leaf, which is below mid, which is below top.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mlhub.backends.fake import FakeBackend
from mlhub.control.quotas.budgets import budgets_now
from mlhub.control.quotas.quota_tree import quota_tree
from mlhub.control.rounds.snapshots import take_snapshot
from mlhub.jobs.models import Attempt, Job
from mlhub.tenants.actions import boost_quota, create_project, create_team, delete, move, move_team, set_quota
from mlhub.tenants.models import Project, Team
from mlhub.usage import ledger
from mlhub.usage.models import UsageEntry
from tests.cast import make_cast
from tests.control.worlds import World, node, state
from tests.jobs.builders import builtin, job, live_attempt, ready_dataset

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    """Midnight has just passed; four GPUs."""
    return World(make_cast())


@pytest.fixture
def teams(world: World) -> dict[str, Team]:
    made: dict[str, Team] = {}
    for name in ("top", "mid", "leaf"):
        above = list(made.values())[-1] if made else None
        made[name] = create_team(world.cast.a, name=name, parent=above, actor=world.cast.alice)
    move(world.cast.project_a, team=made["leaf"], actor=world.cast.alice)
    return made


def why(of: Job) -> str:
    of.refresh_from_db()
    return str(of.explanations[0]["sentence"])


RULES: dict[str, tuple[dict[str, Any], str]] = {
    "max_gpus": ({"max_gpus": 2}, "quota_gpus"),
    "max_running_jobs": ({"max_running_jobs": 1}, "quota_running_jobs"),
    "borrow_limit": ({"borrow_limit": 0}, "borrow_limit"),
}


@pytest.mark.slow
@pytest.mark.parametrize("owner", ["top", "mid", "leaf"])
@pytest.mark.parametrize("rule", RULES)
def test_a_limit_of_any_team_above_holds_in_a_round_and_says_whose_it_is(
    world: World, teams: dict[str, Team], rule: str, owner: str
) -> None:
    changes, reason = RULES[rule]
    if rule == "borrow_limit":
        set_quota(world.cast.a, guarantee=2, actor=world.cast.root)
        for above in teams.values():
            set_quota(above, guarantee=2, actor=world.cast.root)
    set_quota(teams[owner], **changes, actor=world.cast.alice)
    first, second = (world.job(name=name, min_workers=2, max_workers=2) for name in ("one", "two"))
    world.rounds(3)
    assert sorted((state(first), state(second))) == ["queued", "running"]
    waiting = first if state(first) == "queued" else second
    assert waiting.reason == reason
    assert owner in why(waiting)
    set_quota(teams[owner], actor=world.cast.alice, **dict.fromkeys(changes))
    world.rounds(3)
    assert state(waiting) == "running"


@pytest.mark.slow
def test_projects_of_two_teams_share_what_is_above_both(world: World, teams: dict[str, Team]) -> None:
    other = create_team(world.cast.a, name="other", parent=teams["top"], actor=world.cast.alice)
    theirs = create_project(world.cast.a, name="theirs", team=other, actor=world.cast.alice)
    set_quota(teams["top"], max_gpus=3, actor=world.cast.alice)
    mine = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    next_one = job(theirs, world.cast.bob, min_workers=2, max_workers=2)
    world.rounds(2)
    assert (state(mine), state(next_one)) == ("running", "queued")
    assert "top" in why(next_one)
    move_team(other, parent=None, actor=world.cast.alice)
    world.rounds(3)
    assert state(next_one) == "running"


@pytest.mark.slow
def test_a_guarantee_of_a_team_above_takes_lent_gpus_back(world: World, teams: dict[str, Team]) -> None:
    """V5 with two levels between: neither leaf nor its project is guaranteed anything."""
    for owner in (world.cast.a, teams["top"]):
        set_quota(owner, guarantee=4, actor=world.cast.root)
    borrower = job(world.cast.project_b, world.cast.charlie, min_workers=4, max_workers=4)
    world.rounds(2)
    assert state(borrower) == "running"
    mine = world.job(min_workers=2, max_workers=2)
    world.rounds(4)
    assert (state(mine), state(borrower)) == ("running", "queued")


def test_a_lend_limit_of_a_team_above_keeps_gpus_from_others(world: World, teams: dict[str, Team]) -> None:
    """V3: top lends one of its four, so others have one."""
    set_quota(world.cast.a, guarantee=4, actor=world.cast.root)
    for team in teams.values():
        set_quota(team, guarantee=4, actor=world.cast.alice)
    set_quota(teams["top"], lend_limit=1, actor=world.cast.alice)
    large = job(world.cast.project_b, world.cast.charlie, min_workers=2, max_workers=2)
    small = job(world.cast.project_b, world.cast.charlie, min_workers=1, max_workers=1)
    world.rounds(3)
    assert (state(large), state(small)) == ("queued", "running")


@pytest.mark.slow
def test_teams_below_a_team_that_shares_fairly_have_their_parts_by_weight() -> None:
    """V6 at the second level: of 8 GPUs 6 and 2, among teams that have no quota but a weight."""
    cast = make_cast()
    world = World(cast, FakeBackend([node("n0", n_slots=8)]))
    top = create_team(cast.a, name="top", actor=cast.alice)
    for owner in (cast.a, top):
        set_quota(owner, shares_fairly=True, actor=cast.root)
    found: dict[str, list[Job]] = {}
    for name, weight in (("vision", 0.75), ("speech", 0.25)):
        team = create_team(cast.a, name=name, parent=top, actor=cast.alice)
        set_quota(team, weight=weight, actor=cast.alice)
        below = create_team(cast.a, name=f"{name} 2", parent=team, actor=cast.alice)
        project = create_project(cast.a, name=f"p of {name}", team=below, actor=cast.alice)
        found[name] = [job(project, cast.bob, name=f"{name}{i}", max_workers=1) for i in range(8)]
    world.rounds(3)
    assert {name: sum(state(one) == "running" for one in jobs) for name, jobs in found.items()} == {
        "vision": 6,
        "speech": 2,
    }


def budget(gpu_hours: float, **more: Any) -> list[dict[str, Any]]:
    return [{"gpu_hours": gpu_hours, "period": "day", "on_exhausted": "stop_new", "gpu_type": "", **more}]


def used(owner: Team, world: World) -> float:
    return budgets_now(owner, budget(100), now=world.now)[0].used_gpu_hours


def test_a_budget_counts_all_below_it_live_and_from_the_ledger(world: World, teams: dict[str, Team]) -> None:
    set_quota(teams["top"], budgets=budget(4), actor=world.cast.alice)
    first = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    Attempt.objects.filter(pk=live_attempt(first).pk).update(created_at=world.now, training_at=world.now)
    second = world.job(name="second", max_workers=1)
    world.round(after_s=2 * 3600 + 1)
    assert (state(first), state(second)) == ("running", "queued")
    assert why(second).startswith("Budget exhausted: top has used 4 of its 4 GPU-hours")
    assert [used(team, world) for team in teams.values()] == pytest.approx([4.0] * 3, abs=0.01)
    world.backend.finish(str(live_attempt(first).id))
    world.round()
    entry = UsageEntry.objects.get()
    assert (entry.team, entry.teams_above) == ("leaf", [teams["mid"].pk, teams["top"].pk])
    assert [used(team, world) for team in teams.values()] == pytest.approx([4.0] * 3, abs=0.01)


def test_hours_stay_where_they_were_used_when_teams_move_or_go(world: World, teams: dict[str, Team]) -> None:
    """Else a budget could be emptied by moving its teams."""
    first = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    Attempt.objects.filter(pk=live_attempt(first).pk).update(created_at=world.now, training_at=world.now)
    world.round(after_s=3600)
    world.backend.finish(str(live_attempt(first).id))
    world.round()
    before = used(teams["top"], world)
    move(world.cast.project_a, team=None, actor=world.cast.alice)
    move_team(teams["mid"], parent=None, actor=world.cast.alice)
    delete(teams["leaf"], actor=world.cast.alice)
    assert used(teams["top"], world) == pytest.approx(before) == pytest.approx(2.0, abs=0.01)


def test_use_is_reported_by_own_team_and_for_a_team_with_all_below_it(world: World, teams: dict[str, Team]) -> None:
    running = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    now = datetime.now(UTC)
    Attempt.objects.filter(pk=live_attempt(running).pk).update(
        created_at=now - timedelta(hours=1), training_at=now - timedelta(hours=1)
    )
    (entry,) = ledger.running_entries(now=now)
    assert entry.teams_above == [teams["mid"].pk, teams["top"].pk]
    bob = world.cast.client(world.cast.bob)
    rows = bob.get("/api/v1/usage", {"by": "team"}).json()["rows"]
    assert [row["name"] for row in rows] == ["leaf"]
    for name in teams:
        total = bob.get("/api/v1/usage", {"by": "project", "team": str(teams[name].pk)}).json()["total"]
        assert total["gpu_hours"] == pytest.approx(2.0, abs=0.1)
    other = create_team(world.cast.a, name="other", actor=world.cast.alice)
    assert bob.get("/api/v1/usage", {"team": str(other.pk)}).json()["total"]["gpu_hours"] == 0
    curve = bob.get(f"/api/v1/teams/{teams['top'].pk}/quota/burn-down")
    assert curve.json() == []
    theirs = world.cast.client(world.cast.charlie).get("/api/v1/usage", {"team": str(teams["top"].pk)})
    assert theirs.json()["rows"] == []


def submit(world: World, **body: Any) -> Any:
    dataset = ready_dataset(world.cast.project_a, world.cast.bob)
    asked = {"dataset_version": str(dataset.id), "model": str(builtin().model_id), "epochs": 1, "batch_size": 8}
    return world.cast.client(world.cast.bob).post("/api/v1/jobs", {**asked, **body}, format="json")


def test_submissions_are_held_to_the_rules_of_teams_above(world: World, teams: dict[str, Team]) -> None:
    set_quota(teams["top"], max_gpus=2, max_priority=20, actor=world.cast.alice)
    world.round()  # so that the cluster is known
    refused = submit(world, min_workers=3).json()
    assert refused["detail"] == "min_workers is 3, and top may use 2 GPUs."
    assert submit(world, priority=21).json()["detail"].startswith("The priority 21 is above 20, the highest that")
    soon = datetime.now(UTC) + timedelta(hours=1)
    boost_quota(teams["top"], extra_max_gpus=1, ends_at=soon, actor=world.cast.alice)
    assert submit(world, min_workers=3, priority=20).status_code == 201


@pytest.mark.slow
def test_a_limit_of_users_of_a_team_above_counts_all_their_jobs_below_it(world: World, teams: dict[str, Team]) -> None:
    path = f"/api/v1/teams/{teams['top'].pk}/quota/users"
    alice = world.cast.client(world.cast.alice)
    assert alice.patch(path, {"max_gpus": 2, "max_waiting_jobs": 1}, format="json").status_code == 200
    first = world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    second = world.job(name="second", max_workers=1)
    world.rounds(2)
    assert (state(first), state(second)) == ("running", "queued")
    assert "that one person may use in top" in why(second)
    refused = submit(world).json()
    assert (refused["limit"], refused["owner"]) == ("user_max_waiting_jobs", "top")
    (mine,) = world.cast.client(world.cast.bob).get("/api/v1/user-quotas/mine").json()
    assert (mine["used"]["gpus"], mine["used"]["running_jobs"], mine["used"]["waiting_jobs"]) == (2, 1, 1)
    alice.patch(f"/api/v1/teams/{teams['leaf'].pk}/quota/users", {"max_waiting_jobs": 1}, format="json")
    assert submit(world).json()["owner"] == "leaf"  # the nearest of those that are full


def test_the_tree_lists_each_owner_before_what_is_below_it(world: World, teams: dict[str, Team]) -> None:
    create_project(world.cast.a, name="of top", team=teams["top"], actor=world.cast.alice)
    create_project(world.cast.a, name="of none", actor=world.cast.alice)
    create_team(world.cast.a, name="another", actor=world.cast.alice)
    set_quota(world.cast.a, guarantee=4, actor=world.cast.root)
    set_quota(teams["top"], guarantee=3, actor=world.cast.alice)
    world.job(min_workers=2, max_workers=2)
    world.rounds(2)
    rows = quota_tree(world.cast.a)
    names = {row["id"]: row["name"] for row in rows}
    assert [(row["name"], names.get(row["above"])) for row in rows] == [
        ("A", None),
        ("another", "A"),
        ("top", "A"),
        ("of top", "top"),
        ("mid", "top"),
        ("leaf", "mid"),
        ("vision", "leaf"),
        ("of none", "A"),
    ]
    shown = {row["name"]: (row["guaranteed"], row["used"], row["running_jobs"]) for row in rows}
    assert [shown[name] for name in ("A", "top", "mid", "vision")] == [(4, 2, 1), (3, 2, 1), (0, 2, 1), (0, 2, 1)]
    assert shown["another"] == (0, 0, 0)


def test_the_preview_of_a_rule_of_a_team_above_says_which_jobs_would_wait(world: World, teams: dict[str, Team]) -> None:
    running = world.job(min_workers=2, max_workers=2)
    world.rounds(3)
    body = {"quotas": [{"team": str(teams["top"].pk), "max_gpus": 1}]}
    found = world.cast.client(world.cast.alice).post("/api/v1/what-if", body, format="json").json()
    (effect,) = found["effects"]
    assert (effect["id"], effect["before"]["decision"], effect["after"]["decision"]) == (
        str(running.pk),
        "keep",
        "preempt",
    )


def test_teams_whose_rows_are_damaged_cost_no_round(world: World, teams: dict[str, Team]) -> None:
    """A cycle, which only a change by hand makes: jobs below it wait, all others go on."""
    Team.objects.filter(pk=teams["top"].pk).update(parent=teams["leaf"])
    job(world.cast.project_a, world.cast.bob)
    other = job(Project.objects.create(organisation=world.cast.a, name="other"), world.cast.bob, max_workers=1)
    world.rounds(3)
    assert state(other) == "running"
    assert len(take_snapshot(world.backend.inventory(), now=world.now, round_number=1).jobs) == 1
